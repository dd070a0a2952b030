public import Comparison
public import Kafka
public import Postgres
public import RecordLog

/// Tables that were made anew held against those in use: exact while workers write, because the new
/// ones are brought to exactly the offsets at which a snapshot of the others stands.
public struct SchemaDiff {
  private let live: Connection
  private let later: () throws -> Connection
  private let log: any RecordLog
  private let prefix: String
  private let rooms: Set<CanonicalTable.Room>
  private let patience: Duration

  /// - Parameters:
  ///   - live: its own connection to the tables in use, not in a transaction.
  ///   - later: another connection to the same tables.
  ///   - prefix: what the names of topics and consumer groups begin with.
  ///   - rooms: those that were made anew.
  ///   - patience: how long an alarm may be ahead of its notification's transaction.
  public init(
    _ live: Connection, later: @escaping () throws -> Connection, log: any RecordLog,
    prefix: String, rooms: Set<CanonicalTable.Room>, patience: Duration = .seconds(10)
  ) {
    (self.live, self.later, self.log) = (live, later, log)
    (self.prefix, self.rooms, self.patience) = (prefix, rooms, patience)
  }

  /// - Parameters:
  ///   - progress: called now and then with the table at work and the rows read so far.
  ///   - advance: applies records to the new tables up to exactly these offsets, by consumer group,
  ///     and returns a connection, not in a transaction, whose `search_path` leads to them.
  public func run(
    report: ComparisonReport = ComparisonReport(),
    progress: @escaping (String, Int) -> Void = { _, _ in },
    advance: ([String: [TopicPartition: Int64]]) throws -> Connection
  ) throws -> ComparisonReport {
    // While the new tables are brought up, nothing is read here.
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
    var comparer = Comparer(report: report, alarms: alarms, progress: progress)
    try comparer.compare(tables, expected: shadow, found: live)
    return try comparer.finish()
  }

  /// Alarms that were made anew alone stand at the same offsets as those in use, but see deletions
  /// of another moment: so those that are hidden are compared too.
  private var tables: [CanonicalTable] {
    CanonicalTable.all.filter { rooms.contains($0.room) }.map { table in
      table.name == "alarms" && !rooms.contains(.notifications)
        ? CanonicalTable.alarmsAlsoHidden : table
    }
  }
}
