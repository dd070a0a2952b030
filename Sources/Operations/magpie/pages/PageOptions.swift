import ArgumentParser
import Events
import Postgres

/// Whose screen to show, and which part of it.
struct PageOptions: ParsableArguments {
  @Argument(help: "The person's id.")
  var user: String

  @Option(parsing: .unconditional, help: "Rows to show: 1 to 200.")
  var limit = 20

  @Option(help: "Show what is older than this cursor, which the page before printed.")
  var before: String?

  @Flag(help: "Print one JSON object a row: the columns of the SQL function, see docs/sql.md.")
  var json = false

  func validate() throws {
    guard (1...200).contains(limit) else {
      throw ValidationError("--limit is \(limit), but must be 1 to 200.")
    }
    guard !user.isEmpty, user.utf8.count <= Limits.idBytes else {
      throw ValidationError("USER must have 1 to \(Limits.idBytes) bytes.")
    }
  }

  init() {}

  init(user: String, limit: Int = 50) {
    self.user = user
    self.limit = limit
    before = nil
    json = false
  }

  /// Runs what asks for a page. The cursor is the only parameter that PostgreSQL may find malformed.
  func asking<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as PostgresError where error.sqlstate?.hasPrefix("22") == true {
      guard let before else { throw error }
      throw Failure(
        .usage,
        "--before is \(excerpt(before)), which is no cursor. Give the one that the page before "
          + "printed.")
    }
  }

  /// The parameters `(user, before, limit)` of the page functions.
  var parameters: [Parameter] { [.text(user), .text(before), .int4(Int32(limit))] }
}

/// A page in text, and the cursor of its last row.
struct Page {
  var text = ""
  var cursor: String?

  /// - Parameter options: to tell whether the page was full, so that there may be another.
  func print(_ options: PageOptions, rows: Int) {
    Standard.output.write(text)
    if rows == options.limit, let cursor {
      Standard.output.line(Style.dim("older: --before '\(escapedForTerminal(cursor))'"))
    }
  }
}

/// Prints each row of a page function as one JSON object.
func printJSONRows(_ connection: Connection, _ call: String, _ parameters: [Parameter]) throws {
  let rows = try connection.query("SELECT to_jsonb(page)::text FROM \(call) AS page", parameters)
  for row in rows { Standard.output.line(escapedJSON(try row.text(0))) }
}

/// A time to the minute, in UTC.
func shortTime(_ microseconds: Int64) -> String {
  Style.dim(
    String(EventTime(microseconds: microseconds).rfc3339.prefix(16)).replacing("T", with: " "))
}

/// The nickname that people see, or the id of somebody without one.
func displayName(_ nickname: String?, id: String) -> String {
  let name = nickname ?? ""
  return excerpt(name.isEmpty ? id : name, characters: 60)
}
