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
  private let first: GatewayProcess
  private let others = Mutex<[GatewayProcess]>([])
  private let arguments: [String]
  /// And tools.
  private let workers = Mutex<[(name: String, child: ChildProcess)]>([])

  static let workers = ["fanout-worker", "notification-worker", "alarm-worker", "reminder-worker"]

  var gateway: ChildProcess { first.child }
  var port: UInt16 { first.port }
  /// Of /livez, /readyz and /metrics.
  var healthPort: UInt16 { first.healthPort }
  var log: String { first.log }

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
    self.arguments =
      [
        "--http-port", "0", "--api-port", "0", "--token-issuer", Tokens.issuer,
        "--token-audience", Tokens.audience, "--wait-seconds", "\(waitSeconds)",
        "--api-connections", "3",
      ] + (source ?? ["--jwks-file", keys]) + arguments
    first = try await GatewayProcess(
      self.arguments, environment: Self.gatewayEnvironment(self.databaseURL, prefix),
      logFile: directory.appending(path: "gateway.log").path)
  }

  /// Starts one more gateway, which may read another server, or have another environment.
  func startGateway(
    reading databaseURL: String? = nil, environment: [String: String?] = [:]
  ) async throws -> GatewayProcess {
    let gateway = try await GatewayProcess(
      arguments,
      environment: Self.gatewayEnvironment(databaseURL ?? self.databaseURL, prefix)
        .merging(environment) { $1 },
      logFile: directory.appending(path: "gateway-\(UUID().uuidString.prefix(8)).log").path)
    others.withLock { $0.append(gateway) }
    return gateway
  }

  private static func gatewayEnvironment(
    _ databaseURL: String, _ prefix: String
  ) throws -> [String: String?] {
    try environment(databaseURL, prefix).merging(unlimited) { $1 }
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
      workers.withLock { $0.append((name, child)) }
    }
  }

  /// Kills a worker, and starts it again.
  func killWorker(_ name: String) throws {
    endWorker(name)
    try startWorkers([name])
  }

  /// Kills a worker.
  func endWorker(_ name: String) {
    for worker in workers.withLock({ $0 }) where worker.name == name {
      worker.child.terminate(SIGKILL)
    }
    workers.withLock { $0.removeAll { $0.name == name } }
  }

  /// Starts `magpie`, which ends with the stack at the latest.
  func startTool(_ arguments: [String]) throws -> (child: ChildProcess, output: String) {
    let output = directory.appending(path: "magpie-\(UUID().uuidString.prefix(8)).log").path
    let child = try ChildProcess(
      builtExecutable("magpie"), arguments, environment: Self.environment(databaseURL, prefix),
      output: .file(output))
    workers.withLock { $0.append(("magpie", child)) }
    return (child, output)
  }

  func connection() throws -> Connection { try Connection(databaseURL, applicationName: "test") }

  func stop() {
    let children =
      workers.withLock { $0.map { $0.child } } + others.withLock { $0.map(\.child) } + [gateway]
    for child in children where child.isRunning { child.signal(SIGTERM) }
    for child in children { child.terminate(within: 30) }
    try? FileManager.default.removeItem(at: directory)
  }

  /// Sends a request of a person, or of whom `authorization` names.
  func send(
    _ method: String, _ path: String, as person: String? = nil, authorization: String? = nil,
    headers: [String: String] = [:], body: String? = nil
  ) async throws -> Answer {
    let answer = try await first.answer(
      method, path, as: person, authorization: authorization, headers: headers, body: body)
    guard let answer else {
      throw StackError("the gateway did not answer \(method) \(path)\n\(log)")
    }
    return answer
  }

  /// Publishes a post; `after` is its position, for `Magpie-After`.
  func publishPost(as person: String) async throws -> (id: String, after: String) {
    let post = try await send("POST", "/v1/posts", as: person, body: #"{"title":"one"}"#)
    guard let id = try post.json["id"] as? String, let after = post.headers["magpie-position"]
    else { throw StackError("the post was refused: \(post)") }
    return (id, after)
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
