import Events
import Kafka
import Postgres

/// Searches all tables of a database, each in one scan. The server finds the rows that may contain a text;
/// this process decides about them, a few at a time.
struct TableSearch {
  let connection: Connection
  let sought: SoughtTexts
  /// Nil if the person was never erased.
  let erasure: ErasureState?

  /// A table that cannot be read does not keep the others from being read.
  ///
  /// - Parameter started: called before each table, with its number, their count and its name.
  /// - Returns: what was found, and what could not be read, with the reason.
  /// - Throws: `PostgresError` if the connection is lost.
  func run(
    _ tables: [SearchedTable], started: (Int, Int, String) -> Void
  ) throws -> (findings: [Finding], unread: [String]) {
    var findings: [Finding] = []
    var unread: [String] = []
    var isBack = false
    for (index, table) in tables.enumerated() {
      started(index + 1, tables.count, "\(table.schema).\(table.name)")
      var tally = FindingTally(.table, sought, erasure)
      try connection.query("BEGIN READ ONLY")
      do {
        // Optimize for reading all rows rather than for the first ones.
        try connection.script("SET LOCAL cursor_tuple_fraction = 1; SET LOCAL jit = off")
        try search(table, &tally)
      } catch {
        unread.append("\(table.schema).\(table.name): \(Failure(error).message)")
      }
      try connection.query("ROLLBACK")
      for (finding, _) in tally.findings {
        var finding = finding
        finding.until = until(table)
        finding.remains = finding.newLife < finding.count
        findings.append(finding)
        isBack = isBack || finding.newLife > 0 && table.provesLife(finding)
      }
    }
    // What does not say when it is from belongs to the new life, if there is one.
    if isBack {
      for (index, finding) in findings.enumerated() where finding.isOfID {
        findings[index].remains = finding.newLife + finding.undated < finding.count
      }
    }
    return (findings, unread)
  }

  private func search(_ table: SearchedTable, _ tally: inout FindingTally) throws {
    var columns = table.columns
    if table.isDeadLetters {
      try searchDeadLetters(table, &tally)
      columns.removeAll { SearchedTable.recordColumns.contains($0.name) }
    }
    guard !columns.isEmpty else { return }
    let patterns = sought.patterns
    let conditions = columns.map { $0.condition(patterns: patterns.count) }
    let values = zip(columns, conditions).map { "CASE WHEN \($1) THEN \($0.value) END" }
    let sql = """
      SELECT \((values + ["(\(table.time ?? "NULL"))::timestamptz"]).joined(separator: ",\n  "))
      FROM \(table.quotedName) WHERE \(conditions.joined(separator: "\n  OR "))
      """
    try read(sql, patterns.map { .text($0) }) { row in
      let time = try time(row, columns.count)
      for (index, column) in columns.enumerated() {
        let found = try column.indices(row, index, sought)
        // A notification is as late as its actor's contribution, but the second actor's is older.
        tally.add(
          found, in: "\(table.schema).\(table.name).\(column.name)",
          at: column.name == "second_actor" ? nil : time)
      }
    }
  }

  /// Dead letters hold records, in which an id may be escaped, so this process reads all of them.
  private func searchDeadLetters(_ table: SearchedTable, _ tally: inout FindingTally) throws {
    try read("SELECT \(DeadLetter.columns) FROM \(table.quotedName)", []) { row in
      let record = try DeadLetter(row).record
      for (part, found) in sought.parts(of: record.wire) {
        tally.add(found, in: "\(table.schema).\(table.name).\(part)", of: record)
      }
    }
  }

  private func time(_ row: Row, _ column: Int) throws -> EventTime? {
    // A row that predates every event has the time -infinity.
    try row.timestamptzOrNil(column).flatMap { $0 == .min ? nil : EventTime(microseconds: $0) }
  }

  private func read(_ sql: String, _ parameters: [Parameter], _ body: (Row) throws -> Void) throws {
    try connection.query("DECLARE searched NO SCROLL CURSOR FOR \(sql)", parameters)
    // Few rows, because each may hold records of megabytes.
    while true {
      let rows = try connection.query("FETCH 20 FROM searched")
      if rows.isEmpty { break }
      for row in rows { try body(row) }
    }
    try connection.query("CLOSE searched")
  }

  private func until(_ table: SearchedTable) -> String? {
    if table.schema.hasSuffix("_old") { return "until `magpie replay --drop-old`" }
    if table.schema.hasSuffix("_shadow") { return "until `magpie replay --drop-rebuilt`" }
    if table.name == "erasures" || table.name.hasSuffix("_erasures") {
      return "until the workers are done: `magpie erasure report`"
    }
    return nil
  }

  /// What the planner remembers of the tables' values.
  func statistics(schemas: [String]) throws -> [Finding] {
    var tally = FindingTally(.statistics, sought, erasure)
    let rows = try connection.query(
      """
      SELECT schemaname::text, tablename::text, attname::text, concat_ws(chr(10),
        most_common_vals::text, histogram_bounds::text, most_common_elems::text)
      FROM pg_stats WHERE schemaname = ANY ($1)
      """, [.textArray(schemas)])
    for row in rows {
      let name = "\(try row.text(0)).\(try row.text(1)).\(try row.text(2))"
      tally.add(sought.indices(inText: try row.text(3).utf8), in: name, at: nil)
    }
    return tally.findings.map { finding, _ in
      var finding = finding
      (finding.remains, finding.until) = (false, "until the next ANALYZE of the table")
      return finding
    }
  }
}

extension SearchedTable {
  /// The columns of `dead_letters` that hold the record.
  static let recordColumns: Set = ["key", "value", "header_names", "header_values"]

  var isDeadLetters: Bool { name == "dead_letters" }

  /// Whether a row later than the erasure says that somebody has the id again: not a text that somebody else wrote, and
  /// not a visit with a token from before.
  fileprivate func provesLife(_ finding: Finding) -> Bool {
    finding.isOfID && name != "feed_visits"
      && columns.contains { $0.kind == .id && finding.name == "\(schema).\(name).\($0.name)" }
  }

  fileprivate var quotedName: String {
    [schema, name].map { "\"" + $0.replacing("\"", with: "\"\"") + "\"" }.joined(separator: ".")
  }
}
