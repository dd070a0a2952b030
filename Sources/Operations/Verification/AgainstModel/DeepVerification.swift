public import AlarmText
import Events
import Kafka
public import Postgres
public import RecordLog

/// Compares every table of a database with what the model computes from the log. Exact while
/// workers write, because the tables and their stored offsets are read in one snapshot.
///
/// Processes people in slices, so that memory is bounded by the slice and not by the log; reads the
/// log once per slice.
public struct DeepVerification {
  /// The number of records whose models fit into half a gigabyte.
  public static let recordsInSlice: Int64 = 100_000

  /// The progress of a verification.
  public struct Progress: Sendable {
    public var slice: Int
    public var slices: Int
    public var records: Int
    /// Nil while reading the log.
    public var table: String?
  }

  private let connection: Connection
  private let later: () throws -> Connection
  private let log: any RecordLog
  private let prefix: String
  private let engine: AlarmTextEngine
  private let slices: Int?
  private let patience: Duration

  /// - Parameters:
  ///   - connection: used exclusively, not in a transaction. If anybody was erased, its role must be allowed to
  ///     read the key of the hashes, as the workers' roles are.
  ///   - later: opens another connection to the same tables.
  ///   - prefix: the prefix of topic and consumer group names.
  ///   - engine: the alarm texts that the alarm-worker uses.
  ///   - slices: nil chooses the number by the number of records.
  ///   - patience: how long an alarm may be ahead of its notification's transaction.
  public init(
    _ connection: Connection, later: @escaping () throws -> Connection, log: any RecordLog,
    prefix: String, engine: AlarmTextEngine = .builtIn, slices: Int? = nil,
    patience: Duration = .seconds(10)
  ) {
    (self.connection, self.later, self.log) = (connection, later, log)
    (self.prefix, self.engine) = (prefix, engine)
    (self.slices, self.patience) = (slices, patience)
  }

  /// - Throws: `DeepVerificationError` when the log does not match the tables; errors from reading
  ///   the log and the database.
  public func run(
    report: ComparisonReport = ComparisonReport(), progress: @escaping (Progress) -> Void = { _ in }
  ) throws -> ComparisonReport {
    // The transaction is idle while the log is read, which may take long.
    try connection.script("SET idle_in_transaction_session_timeout = 0; SET jit = off")
    try connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    defer { _ = try? connection.query("ROLLBACK") }
    let snapshot = try Snapshot(connection, prefix: prefix)
    let subscriptions = try PendingSubscriptions([connection])
    let topics = Set(Worker.allCases.flatMap(\.topics))
    let (requests, absent) = try snapshot.erasures(in: log, prefix: prefix)
    var erased = try ErasedPeople(requests, connection)
    let stored = try storedErasures()
    let requested = erased.rows
    let unexplained = stored.filter { requested[$0] != $1 }
    // Their requests are erased from an archive.
    let lost = unexplained.count <= absent ? unexplained : [:]
    if !lost.isEmpty {
      erased = try ErasedPeople(
        requests
          + snapshot.erasures(at: lost, of: topics, in: log, prefix: prefix, on: connection),
        connection)
    }
    let erasures = try PendingErasures([connection], log, prefix: prefix)
    let records = try snapshot.spans(of: topics, prefix: prefix, in: log).values
      .reduce(0) { $0 + $1.upperBound - $1.lowerBound }
    let count = slices ?? Int(records / Self.recordsInSlice) + 1
    var state = Progress(slice: 0, slices: count, records: 0)
    var report = report
    for index in 0..<count {
      let slice = Slice(index, of: count)
      state.slice = index
      state.table = nil
      let models = try SliceModels(
        slice, snapshot, log, prefix: prefix, erased: erased, kinds: engine.registry
      ) {
        state.records += $0
        progress(state)
      }
      let alarms = AlarmsInFlight(
        snapshot: connection,
        unapplied: try snapshot.unapplied(in: log, prefix: prefix, slice: slice),
        patience: patience, later: later)
      var comparer = Comparer(
        report: report, alarms: alarms, subscriptions: subscriptions, erasures: erasures)
      for table in CanonicalTable.all {
        state.table = table.name
        progress(state)
        guard
          let expected = try models.feedRows(table.name) ?? models.notificationRows(table.name)
            ?? models.alarmRows(table.name, engine: engine)
            ?? models.reminderRows(table.name, kinds: engine.registry)
        else { continue }
        try comparer.compare(
          table, expected: expected, found: table.rows(on: connection, slice: slice))
      }
      report = try comparer.finish()
      // Every slice reads the same records.
      if index == 0 { for record in models.unexplained { report.add(difference(record)) } }
    }
    try missedOccurrences(connection) { report.add($0) }
    compareErasures(stored, expected: erased.rows.merging(lost) { $1 }, &report)
    return report
  }

  /// When people were erased, by who they are to those who wrote to them. These rows stay for good.
  private func storedErasures() throws -> [String: EventTime] {
    let rows = try connection.query("SELECT encode(person_hash, 'hex'), erased_at FROM erasures")
    return try rows.reduce(into: [:]) { found, row in
      found[FormerPerson.id(hash: try row.text(0))] =
        EventTime(microseconds: try row.timestamptz(1))
    }
  }

  private func compareErasures(
    _ found: [String: EventTime], expected: [String: EventTime], _ report: inout ComparisonReport
  ) {
    guard !expected.isEmpty || !found.isEmpty else { return }
    report.count("erasures", expected: expected.count, found: found.count)
    for id in Set(expected.keys).union(found.keys).sorted() where expected[id] != found[id] {
      report.add(
        Difference(
          table: "erasures",
          kind: expected[id] == nil ? .extra : found[id] == nil ? .missing : .different,
          person: id, key: [],
          columns: [("erased_at", expected[id]?.rfc3339, found[id]?.rfc3339)]))
    }
  }

  private func difference(
    _ found: (record: Record, group: String, reason: String)
  ) -> Difference {
    Difference(
      table: "dead_letters", kind: .missing, person: "",
      key: ["\(found.record.topicPartition)", "\(found.record.offset)"],
      columns: [("consumer_group", found.group, nil), ("reason", found.reason, nil)])
  }
}
