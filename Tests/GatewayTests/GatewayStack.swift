import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import RecordLog
import Synchronization
import TestSupport

@testable import Gateway

/// A gateway process with a PostgreSQL database and topics of its own, and workers if asked for.
final class GatewayStack: Sendable {
  let databaseURL: String
  let prefix = TestBroker.topicPrefix()
  let directory: URL
  let gateway: ChildProcess
  let port: UInt16
  /// Of /livez, /readyz and /metrics.
  let healthPort: UInt16
  private let workers = Mutex<[ChildProcess]>([])

  static let workers = ["fanout-worker", "notification-worker", "alarm-worker", "reminder-worker"]

  /// - Parameters:
  ///   - keys: arguments that say where the keys of tokens are, by default in a file.
  ///   - arguments: further ones, after those that every gateway here has.
  init(
    waitSeconds: Int = 5, databaseURL: String? = nil, keys source: [String]? = nil,
    arguments: [String] = []
  ) async throws {
    self.databaseURL = try databaseURL ?? TestDatabase.fresh()
    directory = URL(filePath: "/tmp/magpie-gateway-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try TestBroker.shared.createTopics(prefix: prefix, partitions: 3)
    let keys = directory.appending(path: "keys.json").path
    try Tokens.ours.get().keySet().write(toFile: keys, atomically: true, encoding: .utf8)
    let log = directory.appending(path: "gateway.log").path
    let gateway = try ChildProcess(
      builtExecutable("magpie-gateway"),
      [
        "--http-port", "0", "--api-port", "0", "--token-issuer", Tokens.issuer,
        "--token-audience", Tokens.audience, "--wait-seconds", "\(waitSeconds)",
        "--api-connections", "3",
      ] + (source ?? ["--jwks-file", keys]) + arguments,
      environment: Self.environment(self.databaseURL, prefix).merging(Self.unlimited) { $1 },
      output: .file(log))
    self.gateway = gateway
    var text = ""
    func port(_ message: String) -> UInt16? {
      text.split(separator: "\n").first { $0.contains(message) }
        .flatMap { $0.firstMatch(of: /127\.0\.0\.1:(\d+)/) }.flatMap { UInt16($0.1) }
    }
    try await eventually("the gateway serves, or has ended") {
      text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
      return port("serving the API") != nil && port("/readyz") != nil || !gateway.isRunning
    }
    guard let api = port("serving the API"), let health = port("/readyz") else {
      throw StackError(text)
    }
    (self.port, healthPort) = (api, health)
  }

  /// Tests ask more often than people; those of limits set them by arguments.
  private static let unlimited: [String: String?] = [
    "MAGPIE_REQUESTS_PER_SECOND_PER_ADDRESS": "0", "MAGPIE_REQUESTS_PER_SECOND_PER_PERSON": "0",
    "MAGPIE_STREAMS_PER_PERSON": "0",
  ]

  private static func environment(
    _ databaseURL: String, _ prefix: String
  ) throws -> [String: String?] {
    [
      "MAGPIE_KAFKA_BOOTSTRAP": try TestBroker.shared.bootstrap,
      "MAGPIE_DATABASE_URL": databaseURL, "MAGPIE_TOPIC_PREFIX": prefix,
    ]
  }

  func startWorkers(_ names: [String] = GatewayStack.workers) throws {
    for name in names {
      let child = try ChildProcess(
        builtExecutable(name), ["--http-port", "0"],
        environment: Self.environment(databaseURL, prefix),
        output: .file(directory.appending(path: "\(name).log").path))
      workers.withLock { $0.append(child) }
    }
  }

  func connection() throws -> Connection { try Connection(databaseURL, applicationName: "test") }

  var log: String {
    (try? String(contentsOf: directory.appending(path: "gateway.log"), encoding: .utf8)) ?? ""
  }

  func stop() {
    let children = workers.withLock { $0 } + [gateway]
    for child in children where child.isRunning { child.signal(SIGTERM) }
    for child in children { child.terminate(within: 30) }
    try? FileManager.default.removeItem(at: directory)
  }

  /// Sends a request of a person, or of whom `authorization` names.
  func send(
    _ method: String, _ path: String, as person: String? = nil, authorization: String? = nil,
    headers: [String: String] = [:], body: String? = nil
  ) async throws -> Answer {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
    let bearer = try person.map { "Bearer " + (try Tokens.ours.get().token($0)) }
    if let authorization = bearer ?? authorization { head += "Authorization: \(authorization)\r\n" }
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    if let body {
      if headers["Content-Type"] == nil { head += "Content-Type: application/json\r\n" }
      head += "Content-Length: \(body.utf8.count)\r\n"
    }
    let bytes = Array((head + "\r\n" + (body ?? "")).utf8)
    guard let answer = try await exchange(bytes, port: port) else {
      throw StackError("the gateway did not answer \(method) \(path)\n\(log)")
    }
    return answer
  }

  /// The event at a position.
  func event(at text: String) throws -> Event {
    guard let position = Position(text) else { throw StackError("\(text) is not a position") }
    let partition = TopicPartition(
      topic: position.topic.name(prefix: prefix), partition: position.partition)
    var events: [Event] = []
    try KafkaLog(configuration: TestBroker.shared.configuration).read(
      [partition: position.offset..<position.offset + 1], maxRecords: 1
    ) { batch in
      events += try batch.records.map {
        try EventCodec.decode($0.wire, topic: position.topic, now: .now)
      }
    }
    guard events.count == 1 else { throw StackError("\(text) holds \(events.count) events") }
    return events[0]
  }
}
