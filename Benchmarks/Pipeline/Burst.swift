import Events
import Foundation
import Kafka
import Postgres

/// The measurements of applying a batch of events that were sent all together.
struct Burst {
  /// From before the first record is produced until the last one is committed.
  var seconds: Double
  /// The part of `seconds` until the broker had acknowledged all records; the worker runs
  /// meanwhile.
  var producing: Double
  /// The server's commit time of each transaction, with the work in it.
  var commits: [Commit]
  /// From before the first record is produced until the first commit.
  var secondsToFirstCommit: Double
  /// Bytes of WAL written.
  var logBytes: Double
  /// Processor seconds, if the system reports them.
  var processor: ProcessorTime?
  /// The memory of the largest worker process afterwards, in MiB.
  var memory: ResidentMemory?

  struct Commit {
    var microseconds: Int64
    var work: Double
  }

  var work: Double { commits.reduce(0) { $0 + $1.work } }

  /// Work per second, including startup.
  var rate: Double { work / seconds }

  /// Work per second from the first commit to the last, excluding the first transaction's work.
  var steadyRate: Double? {
    guard let first = commits.first, let last = commits.last,
      last.microseconds > first.microseconds
    else { return nil }
    return (work - first.work) / Double(last.microseconds - first.microseconds) * 1_000_000
  }
}

extension BenchStack {
  /// Produces events and measures until `worker` has committed all of them.
  ///
  /// - Parameter commits: SQL that selects the transaction ids that wrote them and the work of
  ///   each, in any number of rows; transactions before the burst are ignored.
  func burst(
    _ events: [Event], topic: Topic, by worker: String, commits: String, settled: Bool = true
  ) throws -> Burst {
    let records = try events.map { try outgoing($0, topic: broker.name(topic)) }
    let before = try appliedRecords(topic, by: worker)
    if settled { try settle() }
    let (log, first, processor) = (try logPosition(), try nextTransaction(), processorTime(worker))
    let began = EventTime.now.microseconds
    let started = ContinuousClock.now
    try producer.send(records)
    let produced = seconds(since: started)
    try wait("\(topic.rawValue) to be applied") {
      try appliedRecords(topic, by: worker) >= before + records.count
    }
    let took = seconds(since: started)
    let after = processorTime(worker)
    let timeline = try self.commits(commits, since: first)
    return Burst(
      seconds: took, producing: produced, commits: timeline,
      secondsToFirstCommit: Double((timeline.first?.microseconds ?? began) - began) / 1_000_000,
      logBytes: try logPosition() - log,
      processor: processor.flatMap { before in after.map { $0 - before } },
      memory: (workers[worker] ?? []).compactMap { ResidentMemory($0.processID) }
        .max { $0.most < $1.most })
  }

  /// The number of a topic's records that a worker has applied, over all partitions.
  func appliedRecords(_ topic: Topic, by worker: String) throws -> Int {
    try connection.query(
      """
      SELECT coalesce(sum(next_offset), 0)::bigint FROM consumer_offsets
      WHERE topic = $1 AND consumer_group = $2
      """, [.text(broker.name(topic)), .text(group(worker))]
    ).only.int(0)
  }

  /// A worker's consumer group.
  func group(_ worker: String) -> String { broker.prefix + worker.replacing("-worker", with: "") }

  private func commits(_ sql: String, since first: Int64) throws -> [Burst.Commit] {
    guard try connection.query("SHOW track_commit_timestamp").only.text(0) == "on" else {
      return []
    }
    return try connection.query(
      """
      SELECT (extract(epoch FROM pg_xact_commit_timestamp(xid)) * 1000000)::bigint, sum(work)::float8
      FROM (\(sql)) AS written (xid, work)
      WHERE xid::text::bigint >= $1
      GROUP BY xid ORDER BY 1
      """, [.int8(first)]
    ).map { Burst.Commit(microseconds: try $0.int8(0), work: try $0.double(1)) }
  }

  private func nextTransaction() throws -> Int64 {
    // Taking a snapshot consumes no transaction id.
    try connection.query("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
      .only.int8(0)
  }

  private func logPosition() throws -> Double {
    Double(try connection.query("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").only.int(0))
  }

  func processorTime(_ worker: String) -> ProcessorTime? {
    ProcessorTime(
      workers: (workers[worker] ?? []).map(\.processID), postmaster: cluster.processID,
      except: [connection.backendProcessID])
  }
}

func outgoing(_ event: Event, topic: String) throws -> OutgoingRecord {
  return try OutgoingRecord(topic: topic, wire: EventCodec.encode(event, as: .protobuf))
}
