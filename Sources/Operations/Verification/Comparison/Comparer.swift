public import Postgres

/// Compares tables one after the other and collects the differences.
public struct Comparer {
  public private(set) var report: ComparisonReport
  private let alarms: AlarmsInFlight?
  private let subscriptions: PendingSubscriptions?
  private let erasures: PendingErasures?
  /// Called periodically with the current table and the number of rows read.
  private let progress: (String, Int) -> Void
  private var read = 0

  /// - Parameter alarms: nil if no alarm can be in flight.
  public init(
    report: ComparisonReport = ComparisonReport(), alarms: AlarmsInFlight? = nil,
    progress: @escaping (String, Int) -> Void = { _, _ in }
  ) {
    self.init(
      report: report, alarms: alarms, subscriptions: nil, erasures: nil, progress: progress)
  }

  /// - Parameters:
  ///   - subscriptions: nil if no alarms of subscribers can be pending.
  ///   - erasures: nil if no erasure can be under way.
  init(
    report: ComparisonReport, alarms: AlarmsInFlight?, subscriptions: PendingSubscriptions?,
    erasures: PendingErasures?, progress: @escaping (String, Int) -> Void = { _, _ in }
  ) {
    (self.report, self.alarms, self.progress) = (report, alarms, progress)
    (self.subscriptions, self.erasures) = (subscriptions, erasures)
  }

  /// Adds a difference found elsewhere.
  public mutating func add(_ difference: Difference) { report.add(difference) }

  /// Reads and compares both sources to their ends.
  public mutating func compare(
    _ table: CanonicalTable, expected: RowSource, found: RowSource
  ) throws {
    report.open(table.name, table.group)
    let alarms = table.name == "alarms" ? alarms : nil
    var (report, read, rows) = (self.report, self.read, (expected: 0, found: 0))
    defer { (self.report, self.read) = (report, read) }
    try merge(
      table, expected: expected, found: found,
      counted: { expected, found in
        rows.expected += expected
        rows.found += found
        read += 1
        if read % 10_000 == 0 { progress(table.name, read) }
      },
      differs: { difference in
        if try erasures?.covers(difference) ?? false || subscriptions?.covers(difference) ?? false {
          report.addInFlight(difference.table)
        } else if let alarms {
          try alarms.judge(difference, into: &report)
        } else {
          report.add(difference)
        }
      })
    report.count(table.name, expected: rows.expected, found: rows.found)
  }

  /// Waits for alarms in flight to settle and returns the report.
  public mutating func finish() throws -> ComparisonReport {
    try alarms?.finish(into: &report)
    return report
  }
}

extension Comparer {
  /// Compares the tables of two schemas or databases.
  ///
  /// - Parameters:
  ///   - expected: a connection, in a transaction, whose `search_path` selects the correct tables.
  ///   - found: another connection, likewise, for the tables under test.
  public mutating func compare(
    _ tables: [CanonicalTable], expected: Connection, found: Connection
  ) throws {
    for table in tables {
      try compare(table, expected: table.rows(on: expected), found: table.rows(on: found))
    }
  }
}
