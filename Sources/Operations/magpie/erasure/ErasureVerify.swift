import Archive
import ArgumentParser
import Events
import Foundation
import Kafka
import Postgres
import Rebuild

struct ErasureVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract:
      "Search tables, topics and an archive for an erased person, and report what remains and until when.",
    discussion: """
      Looks for the id, and for the former names that you give, in every column of every table, those of \
      rebuilt and former tables included; in what PostgreSQL's planner remembers of them; in dead letters; \
      in every record of Kafka's topics; and with --archive in an archive. Each table is read once, and \
      memory does not grow with what is read.

      An id must match as a whole: in columns of ids exactly, in texts, JSON and records as a word. Names \
      match anywhere, also in what others wrote. Rows and records of a later life under the same id \
      are marked as such and do not count. Keys, hashes and encrypted tokens cannot be searched.

      Exits with 0 if nothing is left but what goes by itself (records of which the broker tells the \
      retention; the planner's statistics) and the request itself in the log; with 1 if the person was \
      found elsewhere; with 69 if nothing was found, but something could not be read.
      """)

  @Argument(help: "The id of the person.")
  var user: String

  @Option(
    name: .customLong("name"), help: "A former name, found anywhere in a text; may be repeated.")
  var names: [String] = []

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions

  @Option(help: ArgumentHelp("Also look into this archive.", valueName: "dir"))
  var archive: String?

  @Flag(help: "Do not look into Kafka.")
  var skipKafka = false

  @Flag(
    help: """
      Print one JSON object per finding (place, name, what, count, newLife, undated, newest, until, \
      remains) and one with tables, records, archivedRecords, found, erasedAt, doneAt and unread.
      """)
  var json = false

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  private struct Total: Encodable {
    var tables = 0
    /// Nil if nobody looked.
    var records: Int64?
    var archivedRecords: Int64?
    /// The findings that remain.
    var found = 0
    var erasedAt: String?
    var doneAt: String?
    /// What could not be read, and why.
    var unread: [String] = []
  }

  func validate() throws {
    guard !user.isEmpty, names.allSatisfy({ !$0.isEmpty }) else {
      throw ValidationError("USER and --name must not be empty.")
    }
  }

  func run() throws {
    // Checked first, because tables may take long.
    let configuration = skipKafka ? nil : try kafka.configuration()
    let storage = try archive.map { try DirectoryStorage($0) }
    let connection = try database.connect(statementTimeoutSeconds: 24 * 3600)
    let sought = SoughtTexts(id: user, names: names)
    var total = Total()
    var findings: [Finding] = []
    var shown = Progress(forced: progress)

    let erasure = erasure(connection, &total)
    let schemas = try schemas(connection)
    let (tables, unreadable) = try SearchedTable.all(connection, schemas: schemas)
    total.unread += unreadable.map { "\($0): this role may not" }
    total.tables = tables.count
    let search = TableSearch(connection: connection, sought: sought, erasure: erasure)
    let found = try search.run(tables) { number, count, name in
      shown.show("table \(number) of \(count): \(name)")
    }
    total.unread += found.unread
    findings = found.findings + (try search.statistics(schemas: schemas))
    connection.close()

    let logs = LogSearch(sought: sought, erasure: erasure, prefix: kafka.prefix)
    if let configuration {
      attempt("Kafka", &total) { total in
        let (found, records, failure) = try logs.kafka(configuration) {
          shown.show("Kafka: \($0) of \($1) records")
        }
        findings += found
        total.records = records
        if let failure { throw failure }
      }
    }
    if let storage {
      attempt("the archive", &total) { total in
        let (found, records, failure) = try logs.archive(storage) {
          shown.show("archive: \($0) of \($1) records")
        }
        findings += found
        total.archivedRecords = records
        if let failure { throw failure }
      }
    }
    shown.clear()
    total.found = findings.count(where: \.remains)
    report(findings, total, erasure)
    if total.found > 0 { throw ExitCode(Failure.Code.found.rawValue) }
    if !total.unread.isEmpty { throw ExitCode(Failure.Code.unavailable.rawValue) }
  }

  /// The person's row of `erasures`.
  private func erasure(_ connection: Connection, _ total: inout Total) -> ErasureState? {
    do {
      let state = try ErasureState.read(connection, users: [user]).first
      total.erasedAt = state?.erasedAt.rfc3339
      total.doneAt = state?.doneAt?.rfc3339
      return state
    } catch {
      total.unread.append("erasures, so a later life cannot be told: \(Failure(error).message)")
      return nil
    }
  }

  /// The schema of the tables in use, and those of rebuilt and former tables.
  private func schemas(_ connection: Connection) throws -> [String] {
    let live = try connection.query(
      "SELECT current_schema()::text WHERE to_regclass('schema_migrations') IS NOT NULL")
    guard let live = try live.first?.text(0) else {
      throw Failure(.unavailable, "This database lacks Magpie's schema. Run: magpie migrate")
    }
    return [live] + (try RebuildState.all(connection)).map(\.schema)
  }

  /// Looks into one place; the others still count if that fails.
  private func attempt(_ place: String, _ total: inout Total, _ body: (inout Total) throws -> Void)
  {
    do {
      try body(&total)
    } catch {
      total.unread.append("\(place): \(Failure(error).message)")
    }
  }

  private func report(_ findings: [Finding], _ total: Total, _ erasure: ErasureState?) {
    if json {
      for finding in findings { printJSON(finding) }
      return printJSON(total)
    }
    let name = excerpt(user)
    if let erasure {
      let state =
        erasure.doneAt.map { "done at \($0)" }
        ?? "under way, waiting for \(erasure.waitsFor.map(\.text).joined(separator: ", "))"
      Console.output.line("\(name) was erased as of \(erasure.erasedAt); \(state)")
    } else {
      Console.output.line("no erasure of \(name) is known")
    }
    for finding in findings { Console.output.line(finding.text) }
    for place in total.unread {
      Console.output.line(Style.red("not read: \(escapedForDisplay(place))"))
    }
    let searched =
      "\(total.tables) tables"
      + (total.records.map { ", \($0) records in Kafka" } ?? "")
      + (total.archivedRecords.map { ", \($0) records in the archive" } ?? "")
    let verdict =
      total.found > 0
      ? Style.red("still there in \(total.found) places")
      : total.unread.isEmpty
        ? Style.green(findings.isEmpty ? "nothing found" : "nothing that stays")
        : Style.red("nothing found, but not all could be read")
    Console.output.line("\(searched): \(verdict)")
  }
}
