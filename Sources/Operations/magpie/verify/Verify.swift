import ArgumentParser
import Events
import Foundation
import Kafka
import Postgres

struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the invariants of the tables in the database; exit 1 if one is broken.",
    discussion: """
      Runs all verify_…() functions of the schema. Each reads whole tables in one snapshot, so the \
      result is correct while workers run, and takes as long as reading the tables.

      With --deep, a simple model that shares no code with the workers computes every table from the \
      log up to the stored offsets, and each row is compared. Differences are listed by table and \
      person. Reads the log once, or twice for each of several slices of people. Exits with 66 if the \
      log's first records are gone.
      """)

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var deep: DeepOptions

  @Flag(help: "Print a checksum of each table instead; equal tables have equal checksums.")
  var checksums = false

  @Option(
    parsing: .unconditional,
    help: "First wait up to this many seconds until all records are applied.")
  var wait: Double?

  @Option(
    parsing: .unconditional,
    help: "The number of rows to print per check: 1 to 100000 (default: 20).")
  var limit: Int?

  @Flag(
    help: """
      Print one JSON object per offending row (check, invariant, subject, expected, found) and one \
      with check and broken for each check.
      """)
  var json = false

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  func validate() throws {
    if let limit, !(1...100_000).contains(limit) {
      throw ValidationError("--limit is \(limit), but must be 1 to 100000.")
    }
    guard (0...86_400).contains(wait ?? 0) else {
      throw ValidationError("--wait must be 0 to 86400 seconds.")
    }
    guard !checksums || !deep.deep else {
      throw ValidationError("--deep and --checksums exclude each other.")
    }
    guard limit == nil || !checksums && !deep.deep else {
      throw ValidationError(
        "--limit is for the checks of invariants, not for \(checksums ? "--checksums" : "--deep").")
    }
    guard !progress || wait != nil || deep.deep else {
      throw ValidationError("--progress is for --wait and --deep.")
    }
  }

  func run() throws {
    let connection = try connect(within: .seconds(wait ?? 0))
    if let wait {
      var shown = Progress(forced: progress)
      try waitUntilApplied(
        connection, Admin(configuration: kafka.configuration()), prefix: kafka.prefix,
        seconds: wait, progress: &shown)
    }
    if checksums { return try ChecksumLine.printAll(connection, json: json) }
    if deep.deep {
      connection.close()
      return try deep.run(database, kafka, json: json, progress: progress)
    }
    let checks = try InvariantCheck.runAll(connection, limit: limit ?? 20)
    for check in checks { check.print(json: json) }
    if checks.contains(where: { $0.broken > 0 }) { throw ExitCode(Failure.Code.found.rawValue) }
  }

  /// Waits for a server that is starting, for example recovering from a crash.
  private func connect(within limit: Duration) throws -> Connection {
    let deadline = ContinuousClock.now + limit
    while true {
      do {
        return try database.connect(statementTimeoutSeconds: 3600)
      } catch let error as PostgresError where error.sqlstate == "57P03" && .now < deadline {
        Thread.sleep(forTimeInterval: 0.1)
      }
    }
  }
}

/// The result of one of the schema's verify_…() functions.
struct InvariantCheck: Sendable {
  struct Row: Encodable, Sendable {
    var check: String
    var invariant: String?
    var subject: String?
    var expected: String?
    var found: String?
  }

  private struct Total: Encodable {
    var check: String
    var broken: Int64
  }

  var name: String
  var broken: Int64
  /// The first rows that break the invariant.
  var rows: [Row]

  /// Runs every check of the schema.
  ///
  /// - Parameters:
  ///   - limit: how many rows of each check to keep.
  ///   - done: called after each check, with their number.
  static func runAll(
    _ connection: Connection, limit: Int, done: (InvariantCheck, Int) -> Void = { _, _ in }
  ) throws -> [InvariantCheck] {
    let names = try connection.query(
      """
      SELECT proname::text FROM pg_proc
      WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'verify\\_%'
        AND pronargs = pronargdefaults AND proretset
      ORDER BY proname
      """
    ).map { try $0.text(0) }
    guard !names.isEmpty else {
      throw Failure(.unavailable, "This database lacks Magpie's schema. Run: magpie migrate")
    }
    return try names.map { name in
      let check = try run(name, connection, limit: limit)
      done(check, names.count)
      return check
    }
  }

  private static func run(_ name: String, _ connection: Connection, limit: Int) throws
    -> InvariantCheck
  {
    let quoted = "\"" + name.replacing("\"", with: "\"\"") + "\""
    let rows = try connection.query(
      """
      SELECT invariant::text, subject::text, expected::text, found::text, count(*) OVER () AS total
      FROM \(quoted)() LIMIT $1
      """, [.int8(Int64(limit))])
    return InvariantCheck(
      name: name, broken: try rows.first?.int8("total") ?? 0,
      rows: try rows.map { row in
        Row(
          check: name, invariant: try row.textOrNil(0), subject: try row.textOrNil(1),
          expected: try row.textOrNil(2), found: try row.textOrNil(3))
      })
  }

  func print(json: Bool) {
    if json {
      for row in rows { printJSON(row) }
      printJSON(Total(check: name, broken: broken))
      return
    }
    let verdict = broken == 0 ? Style.green("holds") : Style.red("broken in \(broken) places")
    Console.output.line("\(escapedForDisplay(name)): \(verdict)")
    for row in rows {
      Console.output.line("  \(excerpt(row.invariant ?? "")): \(excerpt(row.subject ?? ""))")
      Console.output.line(
        "    expected \(excerpt(row.expected ?? "nothing")), found \(excerpt(row.found ?? "nothing"))"
      )
    }
    if broken > Int64(rows.count), !rows.isEmpty {
      Console.output.line("  and \(broken - Int64(rows.count)) more; --limit shows them")
    }
  }
}
