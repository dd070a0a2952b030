public import Kafka
public import Postgres
public import RecordLog

/// Compares rebuilt tables with the live ones. Exact while workers write, because the rebuilt
/// tables are advanced to exactly the stored offsets of a snapshot of the live tables.
public struct SchemaDiff {
  private let live: Connection
  private let later: () throws -> Connection
  private let log: any RecordLog
  private let prefix: String
  private let groups: Set<CanonicalTable.Group>
  private let patience: Duration

  /// - Parameters:
  ///   - live: a connection to the live tables, used exclusively, not in a transaction.
  ///   - later: opens another connection to the same tables.
  ///   - prefix: the prefix of topic and consumer group names.
  ///   - groups: the groups of tables that were rebuilt.
  ///   - patience: how long an alarm may be ahead of its notification's transaction.
  public init(
    _ live: Connection, later: @escaping () throws -> Connection, log: any RecordLog,
    prefix: String, groups: Set<CanonicalTable.Group>, patience: Duration = .seconds(10)
  ) {
    (self.live, self.later, self.log) = (live, later, log)
    (self.prefix, self.groups, self.patience) = (prefix, groups, patience)
  }

  /// - Parameters:
  ///   - progress: called periodically with the current table and the number of rows read.
  ///   - advance: applies records to the rebuilt tables up to exactly these offsets, by consumer
  ///     group, and returns a connection, not in a transaction, whose `search_path` selects them.
  public func run(
    report: ComparisonReport = ComparisonReport(),
    progress: @escaping (String, Int) -> Void = { _, _ in },
    advance: ([String: [TopicPartition: Int64]]) throws -> Connection
  ) throws -> ComparisonReport {
    // The transaction is idle while the rebuilt tables catch up.
    try live.script("SET idle_in_transaction_session_timeout = 0; SET jit = off")
    try live.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    defer { _ = try? live.query("ROLLBACK") }
    let snapshot = try Snapshot(live, prefix: prefix)
    let shadow = try advance(snapshot.next)
    try shadow.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    defer { _ = try? shadow.query("ROLLBACK") }
    let alarms = AlarmsInFlight(
      snapshot: live, unapplied: try snapshot.unapplied(in: log, prefix: prefix),
      patience: patience, later: later)
    var comparer = Comparer(
      report: report, alarms: alarms, subscriptions: try PendingSubscriptions([live, shadow]),
      erasures: try PendingErasures([live, shadow], log, prefix: prefix), progress: progress)
    try comparer.compare(tables, expected: shadow, found: live)
    return try comparer.finish()
  }

  /// When only alarms are rebuilt, both sides are at the same offsets but see deletions of
  /// different moments, so hidden alarms are compared too.
  private var tables: [CanonicalTable] {
    CanonicalTable.all.filter { groups.contains($0.group) }.map { table in
      table.name == "alarms" && !groups.contains(.notifications)
        ? CanonicalTable.alarmsIncludingHidden : table
    }
  }
}
