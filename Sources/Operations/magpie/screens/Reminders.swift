import ArgumentParser
import Postgres

struct Reminders: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a person's reminders that are to come, the soonest first.",
    discussion: """
      Local times are in the time zone that follows them. With --history, what rang, the newest \
      first.
      """)

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  @Flag(help: "Show what rang, was missed or was withdrawn.")
  var history = false

  private static func call(history: Bool) -> String {
    history ? "reminder_history($1, $2, $3)" : "reminder_page($1, $2, $3)"
  }

  func run() throws {
    try page.reportingCursor { try show(database.connect()) }
  }

  private func show(_ connection: Connection) throws {
    if page.json {
      return try printJSONRows(connection, Self.call(history: history), page.parameters)
    }
    try Self.page(connection, page, history: history).print(page)
  }

  /// What is to come; with history, what rang.
  static func page(
    _ connection: Connection, _ options: PageOptions, history: Bool = false
  ) throws -> Page {
    let rows = try connection.query(
      "SELECT * FROM \(call(history: history))", options.parameters)
    var page = try Page(nothing: history ? "Nothing has rung." : "No reminders.", rows)
    for row in rows { page.text += history ? try past(row) : try future(row) }
    return page
  }

  private static func future(_ row: Row) throws -> String {
    let what =
      switch try row.text("form") {
      case "digest": "digest"
      case "cycle": "a note of \(excerpt(try row.text("reminder_id")))"
      default: try content(row)
      }
    let repeats = try row.text("repeats")
    return try "\(time(row))  \(what)"
      + (repeats.isEmpty ? "" : "  " + Style.dim(excerpt(repeats))) + "\n"
  }

  private static func past(_ row: Row) throws -> String {
    let state = try row.text("state")
    return try "\(time(row))  \(content(row))"
      + (state == "rung" ? "" : "  " + Style.dim(state)) + "\n"
  }

  private static func time(_ row: Row) throws -> String {
    let local = try row.text("local_time").replacing("T", with: " ")
    return "\(local) \(Style.dim(excerpt(try row.text("zone"))))"
  }

  private static func content(_ row: Row) throws -> String {
    let title = try excerpt(row.text("title").isEmpty ? row.text("reminder_id") : row.text("title"))
    let memo = try row.text("memo")
    return Style.cyan(title) + (memo.isEmpty ? "" : ": \(excerpt(memo))")
  }
}
