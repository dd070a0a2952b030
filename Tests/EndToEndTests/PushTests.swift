import EmbeddedStack
import Events
import Foundation
import Kafka
import LocalProviders
import TestSupport
import Testing

/// A like on one end and a push on the other, through the worker processes.
@Suite(.serialized) struct PushTests {
  private static let token = "0123456789abcdef"

  @Test("a like is pushed to its post's owner, and reading it takes the push away")
  func like() async throws {
    try await withProvider { server, stack in
      for worker in Stack.workers { try stack.start(worker) }
      try start(stack)
      try publish(stack, registration())
      try await eventually("the device is stored") { try devices(stack) == 1 }
      try publish(
        stack, .profileChanged(.with { ($0.user, $0.nickname, $0.locale) = ("bo", "Bo", "en") }),
        .like("bo", "p1", of: "ann"))
      try await eventually("the like is pushed\n\(stack.logTails)") {
        server.screen(Self.token).notifications.count == 1
      }
      let screen = server.screen(Self.token)
      #expect(screen.badge == 1 && screen.rings == 1)
      try publish(stack, .alarmReadAll(.with { $0.user = "ann" }))
      try await eventually("the push is taken away") {
        server.screen(Self.token).notifications.isEmpty
      }
      #expect(server.screen(Self.token).badge == 0 && server.screen(Self.token).rings == 1)
      let connection = try stack.connection()
      defer { connection.close() }
      let id = try connection.query("SELECT notification_id::text FROM push_claims").only.text(0)
      // The provider knows before the worker has recorded its answer.
      try await eventually("the removal is recorded") {
        try stack.magpie("push", "explain", id).output.contains("phone (apns): removal accepted")
      }
      let explained = try stack.magpie("push", "explain", id)
      let listed = try stack.magpie("devices", "ann")
      #expect(listed.output.contains("phone  apns com.example.app"), "\(listed.output)")
      let said = explained.output + listed.output + stack.log(of: "push-worker")
      #expect(!said.contains(Self.token))
    }
  }

  @Test("a device that is refused becomes a dead letter without its token")
  func refused() async throws {
    try await withProvider { _, stack in
      try start(stack)
      let secret = "not hexadecimal but secret"
      try publish(
        stack,
        .deviceRegistered(
          .with {
            ($0.user, $0.installation, $0.provider) = ("ann", "phone", "apns")
            ($0.token, $0.app) = (secret, ProviderServer.app)
          }))
      let connection = try stack.connection()
      defer { connection.close() }
      try await eventually("there is a dead letter\n\(stack.logTails)") {
        try connection.query("SELECT count(*) FROM dead_letters").only.int(0) == 1
      }
      let letter = try connection.query("SELECT value IS NULL, d::text FROM dead_letters d").only
      #expect(try letter.bool(0))
      let shown = try stack.magpie("dead-letters", "list", "--json").output
      let said = try letter.text(1) + shown + stack.log(of: "push-worker")
      #expect(said.contains("token is not one of the provider apns"))
      #expect(!said.contains(secret))
    }
  }

  @Test("every like is pushed while push-worker is killed again and again, and none shows twice")
  func killed() async throws {
    try await withProvider { server, stack in
      for worker in Stack.workers { try stack.start(worker) }
      var victim = try start(stack)
      try publish(stack, registration())
      try await eventually("the device is stored") { try devices(stack) == 1 }
      for number in 0..<3 {
        // Each answer is lost while the worker is killed.
        let before = server.requests.count
        try publish(stack, .like("bo", "p\(number)", of: "ann"))
        try await eventually("a request is made\n\(stack.logTails)") {
          server.requests.count > before
        }
        victim.terminate(SIGKILL)
        victim = try start(stack)
      }
      try await eventually("all are shown, and nothing is under way\n\(stack.logTails)") {
        let connection = try stack.connection()
        defer { connection.close() }
        return try server.screen(Self.token).notifications.count == 3
          && connection.query("SELECT FROM push_claims WHERE state = 'claimed'").isEmpty
      }
      // What was made twice has the same id and the same bytes.
      let requests = server.requests
      for id in Set(requests.compactMap { $0.headers["apns-id"] }) {
        #expect(Set(requests.filter { $0.headers["apns-id"] == id }.map(\.body)).count == 1)
      }
    }
  }

  private func devices(_ stack: Stack) throws -> Int {
    let connection = try stack.connection()
    defer { connection.close() }
    return try connection.query("SELECT count(*) FROM push_devices").only.int(0)
  }

  private func registration() -> Payload {
    .deviceRegistered(
      .with {
        ($0.user, $0.installation, $0.provider) = ("ann", "phone", "apns")
        ($0.token, $0.app) = (Self.token, ProviderServer.app)
      })
  }

  @discardableResult
  private func start(_ stack: Stack) throws -> ChildProcess {
    try stack.start(
      "push-worker",
      arguments: [
        "--push-config", stack.directory.appending(path: "push.json").path,
        "--token-keys-file", stack.directory.appending(path: "token.keys").path,
      ])
  }

  /// Runs `body` with a server of APNs, whose credentials are in the stack's directory.
  private func withProvider(
    _ body: @escaping @Sendable (ProviderServer, Stack) async throws -> Void
  ) async throws {
    let server = try ProviderServer()
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (ports, port) = AsyncStream<Int>.makeStream()
      group.addTask { try await server.run { port.yield($0) } }
      var iterator = ports.makeAsyncIterator()
      let number = try #require(await iterator.next())
      try server.writeCredentials(to: stack.directory, host: "localhost", port: number)
      let secrets = (0..<2).map { number in
        Data(repeating: UInt8(number), count: 32).base64EncodedString()
      }
      try "fingerprint \(secrets[0])\nseal test \(secrets[1])\n".write(
        to: stack.directory.appending(path: "token.keys"), atomically: true, encoding: .utf8)
      group.addTask { try await body(server, stack) }
      // The server ends only if it fails.
      try await group.next()
      group.cancelAll()
    }
  }

  private func publish(_ stack: Stack, _ payloads: Payload...) throws {
    let producer = try Producer(configuration: TestBroker.shared.configuration)
    defer { producer.close() }
    try producer.send(
      payloads.map { payload in
        let event = Event(id: UUID().uuidString, source: "test", time: .now, payload: payload)
        return try OutgoingRecord(
          topic: event.topic.name(prefix: stack.prefix), wire: EventCodec.encode(event))
      })
  }
}
