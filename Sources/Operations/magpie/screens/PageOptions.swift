import ArgumentParser
import Events
import Postgres

/// The person whose page to show, and which page.
struct PageOptions: ParsableArguments {
  @Argument(help: "The person's id.")
  var user: String

  @Option(parsing: .unconditional, help: "Rows to show: 1 to 200.")
  var limit = 20

  @Option(help: "Show the rows older than this cursor, which the previous page printed.")
  var before: String?

  @Flag(help: "Print one JSON object per row: the columns of the SQL function (docs/sql.md).")
  var json = false

  func validate() throws {
    guard (1...200).contains(limit) else {
      throw ValidationError("--limit is \(limit), but must be 1 to 200.")
    }
    try checkUser(user)
  }

  init() {}

  init(user: String, limit: Int = 50) {
    self.user = user
    self.limit = limit
    before = nil
    json = false
  }

  /// Runs a query for a page and reports a malformed cursor: of the parameters, PostgreSQL can reject
  /// only that one.
  func reportingCursor<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as PostgresError where error.sqlstate?.hasPrefix("22") == true {
      guard let before else { throw error }
      throw Failure(
        .usage,
        "--before is \(excerpt(before)), which is not a cursor. Use the one that the previous page "
          + "printed.")
    }
  }

  /// The parameters `(user, before, limit)` of the page functions.
  var parameters: [Parameter] { [.text(user), .text(before), .int4(Int32(limit))] }
}

func checkUser(_ user: String) throws {
  guard !user.isEmpty, user.utf8.count <= Limits.idBytes else {
    throw ValidationError("USER must have 1 to \(Limits.idBytes) bytes.")
  }
}

/// A page as text.
struct Page {
  var text = ""
  private let nothing: String
  private let rows: Int
  private let cursor: String?

  /// - Parameter nothing: a sentence for a page without rows.
  init(nothing: String, _ rows: Rows) throws {
    self.init(nothing: nothing, count: rows.count, cursor: try rows.last?.textOrNil("cursor"))
  }

  init(nothing: String, count: Int, cursor: String? = nil) {
    self.nothing = nothing
    rows = count
    self.cursor = cursor
  }

  var textOrNothing: String { rows == 0 ? nothing + "\n" : text }

  /// Prints the page, and how to get the next one if this one is full.
  func print(_ options: PageOptions) {
    Console.output.write(textOrNothing)
    if rows == options.limit, let cursor {
      Console.output.line(Style.dim("older: --before '\(escapedForDisplay(cursor))'"))
    }
  }
}

/// Prints each row of a page function as one JSON object.
func printJSONRows(_ connection: Connection, _ call: String, _ parameters: [Parameter]) throws {
  let rows = try connection.query("SELECT to_jsonb(page)::text FROM \(call) AS page", parameters)
  for row in rows { Console.output.line(escapedJSONForDisplay(try row.text(0))) }
}

/// A time to the minute, in UTC.
func shortTime(_ microseconds: Int64) -> String {
  Style.dim(
    String(EventTime(microseconds: microseconds).rfc3339.prefix(16)).replacing("T", with: " "))
}

/// The shown name, or the id of a person without one.
func displayName(_ name: String, id: String) -> String {
  excerpt(name.isEmpty ? id : name, characters: 60)
}

/// The URL of an image behind a name; nothing if there is none.
func imageURL(_ url: String) -> String {
  url.isEmpty ? "" : "  " + Style.dim(excerpt(url))
}
