import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import Schema

/// A durable PostgreSQL, the embedded broker and workers, for one run.
final class BenchStack {
  let cluster: PrivateCluster
  let broker: EmbeddedBroker
  let connection: Connection
  let lanes: Int
  let directory: URL
  private var workers: [String: ChildProcess] = [:]
  static let partitions = 4

  init(lanes: Int) throws {
    self.lanes = lanes
    directory = URL(filePath: "/tmp/magpie-bench-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    cluster = try PrivateCluster.start(
      directory: directory.appending(path: "postgres").path, durable: true)
    connection = try Connection(cluster.url(), applicationName: "magpie-bench")
    try Migrations.apply(connection)
    broker = try EmbeddedBroker()
    for topic in Topic.allCases {
      try broker.createTopic(topic.name(), partitions: BenchStack.partitions)
    }
  }

  /// Starts a worker and waits until it owns its partitions of `topic`.
  func start(_ name: String, owning topic: Topic) throws {
    let executable = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: name).path
    workers[name] = try ChildProcess(
      executable, ["--http-port", "0", "--lanes", "\(lanes)"],
      environment: [
        "MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap, "MAGPIE_DATABASE_URL": cluster.url(),
      ], output: .file(directory.appending(path: "\(name).log").path))
    try wait("\(name) to be assigned its partitions") {
      try connection.query(
        "SELECT count(*) FROM consumer_offsets WHERE topic = $1", [.text(topic.name())]
      ).only.int(0) == BenchStack.partitions
    }
  }

  /// Produces events and measures until all of them are committed by `worker`.
  func apply(_ events: [Event], topic: Topic, by worker: String) throws -> Application {
    let records = try events.map { event in
      let wire = try EventCodec.encode(event, as: .protobuf)
      return OutgoingRecord(
        topic: topic.name(), key: wire.key, value: wire.value,
        headers: wire.headers.map { Header(name: $0.name, value: $0.value) })
    }
    let producer = try Producer(configuration: broker.configuration)
    defer { producer.close() }
    let before = try appliedRecords(topic)
    try settle()
    let counters = try counters(worker)
    let started = ContinuousClock.now
    try producer.send(records)
    let produced = seconds(since: started)
    try wait("\(topic.rawValue) to be applied") {
      try appliedRecords(topic) >= before + records.count
    }
    return Application(
      seconds: seconds(since: started), producing: produced, before: counters,
      after: try self.counters(worker))
  }

  /// Every measurement begins after a checkpoint and with current statistics, so that none pays
  /// for what the one before it wrote.
  func settle() throws {
    try connection.query("CHECKPOINT")
    try connection.query("ANALYZE")
  }

  func stop() {
    for worker in workers.values { worker.terminate(within: 30) }
    connection.close()
    cluster.stop()
    broker.close()
    try? FileManager.default.removeItem(at: directory)
  }

  private func counters(_ worker: String) throws -> Application.Counters {
    // A snapshot takes no transaction number itself, so only those of writers are counted.
    let row = try connection.query(
      """
      SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
        (pg_current_wal_insert_lsn() - '0/0')::bigint
      """
    ).only
    return Application.Counters(
      transactions: try row.int(0), logBytes: try row.int(1),
      processor: workers[worker].flatMap {
        ProcessorTime(
          worker: $0.processID, postmaster: cluster.processID,
          except: connection.backendProcessID)
      })
  }

  private func appliedRecords(_ topic: Topic) throws -> Int {
    try connection.query(
      "SELECT coalesce(max(sum), 0)::bigint FROM (SELECT sum(next_offset) FROM consumer_offsets "
        + "WHERE topic = $1 GROUP BY consumer_group) AS groups", [.text(topic.name())]
    ).only.int(0)
  }

  private func wait(_ what: String, until condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(300)
    while try !condition() {
      guard ContinuousClock.now < deadline, workers.values.allSatisfy(\.isRunning) else {
        throw BenchError(
          description: "gave up waiting for \(what); see the logs in \(directory.path)")
      }
      Thread.sleep(forTimeInterval: 0.005)
    }
  }
}

struct BenchError: Error, CustomStringConvertible {
  var description: String
}

func seconds(since start: ContinuousClock.Instant) -> Double {
  (ContinuousClock.now - start) / .seconds(1)
}
