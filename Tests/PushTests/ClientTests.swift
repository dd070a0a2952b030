import Devices
import Foundation
import LocalProviders
import Synchronization
import TestSupport
import Testing

@testable import Providers
@testable import Sending

/// Connections to servers that strangers chose, over real sockets.
@Suite("Clients", .serialized)
struct ClientTests {
  private static let name = "a.evil.test"

  /// Runs `body` with clients of a server that listens on every address of this machine, with names that only
  /// `lookup` knows.
  private static func run(
    resolvedFor: Duration = Clients.resolvedFor, lookup: @escaping Resolver.Lookup,
    _ body: @escaping @Sendable (LocalStage, Clients) async throws -> Void
  ) async throws {
    try await LocalStage.run(host: "0.0.0.0", names: ["localhost", name]) { stage in
      let apps = try PushApps(file: stage.config, keys: TokenKeys(text: sampleKeys))
      let clients = Clients(apps, resolvedFor: resolvedFor, lookup: lookup)
      let result = await Result { try await body(stage, clients) }
      await clients.shutdown()
      try result.get()
    }
  }

  private static func request(_ url: String, _ clients: Clients) async throws -> ProviderRequest {
    let endpoint = try #require(HTTPSEndpoint(url))
    return ProviderRequest(
      url: endpoint.url, headers: [:], body: [],
      address: try await clients.address(of: endpoint.host))
  }

  /// Gives these answers one after the other, and the last one for ever.
  private static func lookup(_ answers: [[String]]) -> Resolver.Lookup {
    let left = Mutex(answers)
    return { _ in
      let texts = left.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? [] }
      return texts.compactMap { IPAddress($0) }
    }
  }

  private static func addresses(_ texts: String...) -> [IPAddress] {
    texts.compactMap { IPAddress($0) }
  }

  @Test("an answer that never ends is given up in time, and leaves nothing behind")
  func endless() async throws {
    try await Self.run { _ in
      Self.addresses("127.0.0.1")
    } _: { stage, clients in
      stage.server.answer { _ in .endless }
      let url = "https://\(Self.name):\(stage.port)/hook/a"
      await #expect(throws: Clients.TimeOver.self) {
        try await clients.response(to: Self.request(url, clients), seconds: 1)
      }
      stage.server.answer { _ in PushReply(204) }
      let response = try await clients.response(to: Self.request(url, clients), seconds: 60)
      #expect(response.status == 204)
    }
  }

  @Test(
    "a status that is none ends the connection and not the process, and informational ones nothing",
    arguments: ["000", "099", "101", "103"])
  func statuses(status: String) async throws {
    try await Self.run { _ in
      Self.addresses("127.0.0.1")
    } _: { stage, clients in
      let text = "HTTP/1.1 \(status) X\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
      try await withRawAnswer(text, stage) { port in
        let request = try await Self.request("https://\(Self.name):\(port)/hook/a", clients)
        guard status != "103" else {
          let response = try await clients.response(to: request, seconds: 60)
          return #expect(response.status == 204)
        }
        await #expect(throws: StatusGuard.UnusableStatus.self) {
          try await clients.response(to: request, seconds: 60)
        }
      }
    }
  }

  @Test("a host in upper case is requested at the checked address only, and resolved once")
  func pinned() async throws {
    let lookups = Counter()
    try await Self.run { host in
      // No other name server knows it, and no other address is served.
      _ = lookups.next()
      return host == Self.name ? Self.addresses("127.0.0.1") : []
    } _: { stage, clients in
      stage.server.answer { _ in PushReply(204) }
      for host in ["A.EVIL.test", "a.evil.TEST"] {
        let request = try await Self.request("https://\(host):\(stage.port)/hook/a", clients)
        #expect(try await clients.response(to: request, seconds: 60).status == 204)
      }
      #expect(stage.server.requests.count == 2 && lookups.count == 1)
      // Whatever else is written into a request, it is not sent anywhere else.
      var other = try await Self.request("https://\(Self.name):\(stage.port)/hook/a", clients)
      for host in ["LOCALHOST", "%6cocalhost", "localhost."] {
        other.url = "https://\(host):\(stage.port)/hook/a"
        await #expect(throws: Clients.Unchecked.self) {
          try await clients.response(to: other, seconds: 60)
        }
      }
      #expect(stage.server.requests.count == 2)
    }
  }

  @Test("names whose addresses rotate keep their connection, and one that moves breaks no request")
  func rotation() async throws {
    let lookup = Self.lookup([
      ["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"], ["127.0.0.2"],
    ])
    try await Self.run(resolvedFor: .zero, lookup: lookup) { stage, clients in
      let (gate, open) = AsyncStream<Never>.makeStream()
      stage.server.answer { request in
        if request.address == "slow" { for await _ in gate {} }
        return PushReply(204)
      }
      let origin = "https://\(Self.name):\(stage.port)"
      let slow = try await Self.request("\(origin)/hook/slow", clients)
      #expect(slow.address?.description == "127.0.0.1")
      let again = try await Self.request("\(origin)/hook/b", clients)
      #expect(again.address == slow.address, "the name has the address still")
      async let running = clients.response(to: slow, seconds: 60)
      try await eventually("the request runs") { stage.server.requests.count == 1 }
      let moved = try await Self.request("\(origin)/hook/c", clients)
      #expect(moved.address?.description == "127.0.0.2")
      #expect(try await clients.response(to: moved, seconds: 60).status == 204)
      #expect(await clients.pinnedCount == 2, "the first one has a request")
      open.finish()
      #expect(try await running.status == 204)
      #expect(await clients.pinnedCount == 1)
      #expect(try await clients.response(to: moved, seconds: 60).status == 204)
    }
  }

  @Test(
    "an address without responses gives way to another, and one whose name no longer resolves stays"
  )
  func failing() async throws {
    let lookup = Self.lookup([["127.0.0.1", "127.0.0.2"], ["127.0.0.1", "127.0.0.2"], []])
    try await Self.run(resolvedFor: .seconds(3600), lookup: lookup) { stage, clients in
      let (gate, open) = AsyncStream<Never>.makeStream()
      stage.server.answer { request in
        for await _ in gate {}
        return PushReply(204)
      }
      let url = "https://\(Self.name):\(stage.port)/hook/a"
      let first = try await Self.request(url, clients)
      #expect(first.address?.description == "127.0.0.1")
      for address in ["127.0.0.2", "127.0.0.2"] {
        let request = try await Self.request(url, clients)
        await #expect(throws: (any Error).self) {
          try await clients.response(to: request, seconds: 0.1)
        }
        #expect(try await clients.address(of: Self.name).description == address)
      }
      open.finish()
    }
  }

  @Test("an address is resolved again after its time, and kept for it anew")
  func renewal() async throws {
    let lookups = Counter()
    try await Self.run(resolvedFor: .seconds(1)) { _ in
      _ = lookups.next()
      return Self.addresses("127.0.0.1")
    } _: { _, clients in
      for _ in 0..<2 {
        let before = lookups.count
        try await eventually("it is resolved") {
          _ = try await clients.address(of: Self.name)
          return lookups.count > before
        }
        for _ in 0..<3 { _ = try await clients.address(of: Self.name) }
        #expect(lookups.count == before + 1)
      }
    }
  }

  @Test("name servers that do not answer delay nobody else")
  func tarpit() async throws {
    let release = DispatchSemaphore(value: 0)
    defer { for _ in 0..<8 { release.signal() } }
    let resolver = Resolver(limit: .seconds(5)) { host in
      if host.hasSuffix(".tarpit.test") { release.wait() }
      return Self.addresses("127.0.0.1")
    }
    defer { resolver.shutdown() }
    await withTaskGroup(of: Int.self) { group in
      for number in 0..<8 {
        group.addTask { await resolver.addresses(of: "\(number).tarpit.test").count }
      }
      for await count in group { #expect(count == 0) }
    }
    // Nobody waits again for a thread that is stuck.
    #expect(await resolver.addresses(of: "1.tarpit.test").isEmpty)
    #expect(await resolver.addresses(of: "good.test") == Self.addresses("127.0.0.1"))
  }

  @Test("a name without an address and one with a private one are told apart")
  func noAddress() async throws {
    try await Self.run { host in
      switch host {
      case "private.test": Self.addresses("10.0.0.1")
      case "both.test": Self.addresses("1.1.1.1", "169.254.169.254")
      default: []
      }
    } _: { _, clients in
      for (host, error) in [
        ("none.test", .unresolved), ("private.test", .notPublic), ("both.test", .notPublic),
        ("192.168.0.1", .notPublic),
      ] as [(String, Clients.NoAddress)] {
        await #expect(throws: error) { try await clients.address(of: host) }
      }
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
