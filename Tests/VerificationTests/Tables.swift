import Alarms
import Events
import Feeds
import Kafka
import Notifications
import Postgres
import RecordLog
import Reminders
import Schedules
import TestSupport
import Verification
import Workload

@testable import Handling
@testable import Lanes
@testable import Service

/// A database whose tables are built from a log by the real handlers, as by workers: offsets change
/// in the batch's transaction, and outgoing records are in the log before it commits.
struct Tables {
  let url: String
  let log: MemoryLog
  /// Connected as the owner of everything.
  let admin: Connection

  init(_ log: MemoryLog) throws {
    self.log = log
    url = try TestDatabase.fresh()
    admin = try Connection(url, applicationName: "test")
  }

  /// The four workers, each with its own connection.
  func workers(pushLimit: Int = 10_000, changes: MemoryLog? = nil) throws -> [TestWorker] {
    try [
      feedHandler(pushLimit: pushLimit), notificationHandler(), alarmHandler(defaultLocale: "en"),
      reminderHandler(zones: ZoneDirectory(), secret: []),
    ].map { try TestWorker($0, url: url, log: log, changes: changes) }
  }

  /// Applies all records, including those that handlers publish, and erases whom they erase.
  func applyAll(pushLimit: Int = 10_000, batch: Int = 500) throws {
    let workers = try workers(pushLimit: pushLimit)
    // Sweeps wait for transactions of other tests.
    try block(until: "nobody is being erased") {
      while try workers.reduce(false, { try $1.step(batch: batch) || $0 }) {}
      return try !isErasing
    }
  }

  /// Whether sweeps have something to do.
  var isErasing: Bool {
    get throws {
      try admin.query(
        """
        SELECT EXISTS (SELECT FROM erasures WHERE user_id IS NOT NULL)
          OR EXISTS (SELECT FROM fanout_erasures) OR EXISTS (SELECT FROM notification_erasures)
          OR EXISTS (SELECT FROM alarm_erasures) OR EXISTS (SELECT FROM reminder_erasures)
        """
      ).only.bool(0)
    }
  }

  func verify(
    slices: Int? = nil, samples: Int = 100_000, log other: (any RecordLog)? = nil,
    patience: Duration = .milliseconds(500)
  ) throws -> ComparisonReport {
    let reader = try Connection(url, applicationName: "verify")
    return try DeepVerification(
      reader, later: { try Connection(url, applicationName: "later") }, log: other ?? log,
      prefix: log.prefix, slices: slices, patience: patience
    ).run(report: ComparisonReport(samplesMax: samples, peopleMax: 100_000))
  }

  /// Compares all tables with other tables.
  func compare(expected other: Tables, samples: Int = 100_000) throws -> ComparisonReport {
    let (right, found) = (other.admin, admin)
    for connection in [right, found] {
      try connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    }
    defer { for connection in [right, found] { _ = try? connection.query("ROLLBACK") } }
    var comparer = Comparer(report: ComparisonReport(samplesMax: samples, peopleMax: 100_000))
    try comparer.compare(CanonicalTable.all, expected: right, found: found)
    return try comparer.finish()
  }
}

/// One lane of a worker, without a broker.
final class TestWorker: @unchecked Sendable {  // Used by one thread at a time.
  private let handler: Handler
  private let connection: Connection
  private let log: MemoryLog
  /// The log that notification changes are written to and read from.
  private let changes: MemoryLog
  private var next: [TopicPartition: Int64] = [:]
  private var group: String { log.prefix + handler.name }
  /// Called after each commit.
  var committed: () throws -> Void = {}

  init(_ handler: Handler, url: String, log: MemoryLog, changes: MemoryLog? = nil) throws {
    (self.handler, self.log, self.changes) = (handler, log, changes ?? log)
    connection = try Connection(url, applicationName: handler.name)
    for row in try connection.query(
      "SELECT topic, partition, next_offset FROM consumer_offsets WHERE consumer_group = $1",
      [.text(group)])
    {
      next[TopicPartition(topic: try row.text(0), partition: Int32(try row.int(1)))] =
        try row.int8(2)
    }
  }

  /// Applies one batch of each partition and a part of the backlog; returns whether there was any.
  ///
  /// - Parameters:
  ///   - ends: by consumer group, the offsets to stop at; nil for the end of the log.
  ///   - includingBacklog: whether to work on the backlog, too.
  func step(
    batch: Int, to ends: [String: [TopicPartition: Int64]]? = nil, includingBacklog: Bool = true
  ) throws -> Bool {
    var found = false
    for topic in handler.topics {
      let isLooped = topic.isInternal
      let log = isLooped ? changes : log
      for (place, span) in try log.spans(of: [topic.name(prefix: log.prefix)]) {
        let start = next[place] ?? 0
        let limit = isLooped ? nil : ends.map { $0[group]?[place] ?? 0 }
        let end = min(limit ?? span.upperBound, span.upperBound, start + Int64(batch))
        guard start < end else { continue }
        var records: [Record] = []
        try log.read([place: start..<end], maxRecords: batch) { records += $0.records }
        try apply(records, topic, place, end)
        next[place] = end
        found = true
      }
    }
    guard includingBacklog, let backlog = handler.backlog else { return found }
    let hasWorked = try connection.transaction {
      let outcome = try backlog().run(on: connection)
      try changes.append(outcome.events)
      return outcome.hasMore || !outcome.events.isEmpty
        || outcome.counts.values.contains { $0 > 0 }
    }
    if hasWorked { try committed() }
    return hasWorked || found
  }

  private func apply(_ records: [Record], _ topic: Topic, _ place: TopicPartition, _ end: Int64)
    throws
  {
    let batch = Batch(topic: topic, items: records.map { decode($0, topic: topic, now: .now) })
    try connection.transaction {
      let opening =
        [
          Statement(
            """
            INSERT INTO consumer_offsets AS c
              (consumer_group, topic, partition, next_offset, owner_epoch)
            VALUES ($1, $2, $3, $4, 1)
            ON CONFLICT ON CONSTRAINT consumer_offsets_pkey
              DO UPDATE SET next_offset = EXCLUDED.next_offset
            """, [.text(group), .text(place.topic), .int4(place.partition), .int8(end)])
        ] + deadLetterStatements(batch, consumerGroup: group)
      _ = try connection.pipeline(opening)
      let outcome = try handler.applyUnerased(batch.events, topic: topic, on: connection)
        .run(on: connection)
      try changes.append(outcome.events)
    }
    try committed()
  }
}

extension ComparisonReport {
  /// The differences, one per line: table, kind, person, key.
  var lines: Set<String> {
    Set(
      tables.flatMap(\.samples).map {
        "\($0.table) \($0.kind) \($0.person) \($0.key.joined(separator: " / "))"
      })
  }
}
