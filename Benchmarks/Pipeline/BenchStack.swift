import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import Schema

/// The durable PostgreSQL, broker and workers of one run.
final class BenchStack {
  let cluster: PrivateCluster
  let broker: BenchBroker
  let connection: Connection
  /// Connected and warmed up, like a long-running publisher.
  let producer: Producer
  /// The database's, for other files too: it is removed at the end, even if this process is killed.
  let directory: URL
  private(set) var workers: [String: [ChildProcess]] = [:]
  /// The embedded broker keeps 5 MiB of each partition.
  static let partitions = 12
  /// librdkafka properties for the workers.
  private let kafkaProperties: [String: String]
  private let serverLog: String?

  init(_ bench: Bench, kafkaProperties: [String: String] = [:]) throws {
    self.kafkaProperties = kafkaProperties.merging(bench.kafka) { $1 }
    serverLog = bench.serverLog
    let cluster = try PrivateCluster.temporary(
      in: "/tmp", durable: true,
      // For the commit time of each transaction.
      settings: ["track_commit_timestamp": "on"].merging(bench.settings) { $1 })
    self.cluster = cluster
    directory = URL(filePath: cluster.directory)
    do {
      // Loading 300 million feed entries takes longer than the default timeout.
      connection = try Connection(
        cluster.url() + "&options=-c%20statement_timeout%3D4h", applicationName: "magpie-bench")
      try Migrations.apply(connection)
      broker = try BenchBroker()
      for topic in Topic.allCases {
        try broker.createTopic(broker.name(topic), partitions: Self.partitions)
      }
      let warmup = broker.prefix + "warm"
      try broker.createTopic(warmup, partitions: 1)
      producer = try Producer(configuration: broker.configuration)
      try producer.send([OutgoingRecord(topic: warmup, key: nil, value: [])])
    } catch {
      cluster.stop()
      throw error
    }
  }

  /// Starts a worker and waits until all its lanes have joined and have claimed its partitions of
  /// `topic`.
  func start(
    _ name: String, owning topic: Topic, lanes: Int = 1, processes: Int = 1,
    arguments: [String] = []
  ) throws {
    let children = try (1...processes).map { number in
      try ChildProcess(
        executable(name), ["--http-port", "0", "--lanes", "\(lanes)"] + arguments,
        environment: environment, output: .file(logPath(name, number)))
    }
    workers[name] = children
    try wait("\(name) to claim its partitions") {
      let owned = try connection.query(
        "SELECT count(*) FROM consumer_offsets WHERE topic = $1 AND consumer_group = $2",
        [.text(broker.name(topic)), .text(group(name))]
      ).only.int(0)
      return owned == Self.partitions && (1...processes).allSatisfy { joined(name, $0) == lanes }
    }
  }

  /// Stops a worker, which leaves its group.
  func stop(_ name: String) {
    for (index, child) in (workers.removeValue(forKey: name) ?? []).enumerated() {
      child.terminate(within: 30)
      try? FileManager.default.removeItem(atPath: logPath(name, index + 1))
    }
  }

  func stop() {
    for name in workers.keys { stop(name) }
    producer.close()
    connection.close()
    if let serverLog { keepLog(in: serverLog) }
    cluster.stop()
    broker.close()
  }

  /// The path of an executable built next to this one.
  func executable(_ name: String) -> String {
    URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: name).path
  }

  var environment: [String: String?] {
    [
      "MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap, "MAGPIE_TOPIC_PREFIX": broker.prefix,
      "MAGPIE_DATABASE_URL": cluster.url(),
      "MAGPIE_KAFKA_PROPERTIES":
        kafkaProperties.map { "\($0)=\($1)" }.sorted().joined(separator: ","),
    ]
  }

  /// Writes a checkpoint and updates statistics, so that no measurement pays for the previous one's
  /// writes.
  func settle() throws {
    try connection.query("CHECKPOINT")
    try connection.query("ANALYZE")
  }

  /// Runs `magpie verify`. Throws if an invariant is violated.
  func verify(_ arguments: [String] = []) throws {
    let output = directory.appending(path: "verify.txt").path
    try? FileManager.default.removeItem(atPath: output)
    let child = try ChildProcess(
      executable("magpie"), ["verify"] + arguments, environment: environment,
      output: .file(output))
    guard child.wait(seconds: 1800) == .exited(0) else {
      child.terminate(within: 5)
      let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
      throw BenchError(description: "invariant violated: \(text)")
    }
  }

  func count(_ table: String) throws -> Int {
    try connection.query("SELECT count(*) FROM \(table)").only.int(0)
  }

  /// Waits until the condition holds, which it asks every few milliseconds.
  func wait(
    _ what: String, seconds limit: Double = 300, everySeconds interval: Double = 0.005,
    until condition: () throws -> Bool
  ) throws {
    let deadline = ContinuousClock.now + .seconds(limit)
    while try !condition() {
      guard ContinuousClock.now < deadline, workers.values.joined().allSatisfy(\.isRunning) else {
        throw BenchError(description: "timed out waiting for \(what): \(logTails())")
      }
      Thread.sleep(forTimeInterval: interval)
    }
  }

  private func keepLog(in path: String) {
    let log = try? Data(contentsOf: URL(filePath: cluster.directory + "/postgres.log"))
    let all = (FileManager.default.contents(atPath: path) ?? Data()) + (log ?? Data())
    try? all.write(to: URL(filePath: path))
  }

  private func logPath(_ name: String, _ number: Int) -> String {
    directory.appending(path: "\(name)-\(number).log").path
  }

  /// The number of a process's lanes that logged an assignment, even an empty one.
  private func joined(_ name: String, _ number: Int) -> Int {
    let text = (try? String(contentsOfFile: logPath(name, number), encoding: .utf8)) ?? ""
    let lines = text.split(separator: "\n").filter { $0.contains(": assigned") }
    return Set(lines.compactMap { $0.split(separator: " ").first { $0.hasPrefix("lane=") } }).count
  }

  private func logTails() -> String {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    return files.filter { $0.hasSuffix(".log") }.map { file in
      let text = try? String(contentsOf: directory.appending(path: file), encoding: .utf8)
      return "\n\(file): …\(String((text ?? "").suffix(2000)))"
    }.joined()
  }
}

struct BenchError: Error, CustomStringConvertible {
  var description: String
}

func seconds(since start: ContinuousClock.Instant) -> Double {
  (ContinuousClock.now - start) / .seconds(1)
}
