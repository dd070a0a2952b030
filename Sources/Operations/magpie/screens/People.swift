import ArgumentParser
import Foundation
import Postgres

struct Profile: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a profile with its posts, as another person sees it.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  @Argument(help: "The person whose profile to show (default: the viewer's own).")
  var person: String?

  @Flag(help: "Show the followers instead.")
  var followers = false

  @Flag(help: "Show whom the person follows instead.")
  var following = false

  func validate() throws {
    if followers, following {
      throw ValidationError("--followers and --following exclude each other.")
    }
  }

  func run() throws {
    try page.reportingCursor { try show(database.connect()) }
  }

  private func show(_ connection: Connection) throws {
    let pair: [Parameter] = [.text(page.user), .text(person ?? page.user)]
    let parameters = pair + [.text(page.before), .int4(Int32(page.limit))]
    if followers || following {
      let function = followers ? "followers_page" : "following_page"
      return try page.showPeople(
        connection, "\(function)($1, $2, $3, $4)", parameters,
        nothing: followers ? "No followers." : "They follow nobody.")
    }
    if page.json { return try printJSONRows(connection, "profile($1, $2)", pair) }
    guard let row = try connection.query("SELECT * FROM profile($1, $2)", pair).first else {
      return Console.output.line("No such person, or not for this viewer.")
    }
    let name = try displayName(row.text("shown_name"), id: row.text("user_id"))
    var marks: [String] = []
    for (column, mark) in [
      ("is_followed", "followed"), ("follows_viewer", "follows you"), ("is_blocked", "blocked"),
      ("is_muted", "muted"),
    ] where try row.bool(column) {
      marks.append(mark)
    }
    Console.output.line(
      "\(Style.cyan(name))  \(Style.dim(escapedForTerminal(try row.text("user_id"))))"
        + (marks.isEmpty ? "" : "  (\(marks.joined(separator: ", ")))"))
    Console.output.line(
      "\(try row.int8("posts")) posts, \(try row.int8("followers")) followers, "
        + "\(try row.int8("following")) following")
    for column in ["name", "major", "bio", "image_url"] {
      let text = try row.text(column)
      if !text.isEmpty { Console.output.line(excerpt(text)) }
    }
    try postsPage(
      connection, "user_posts_page($1, $2, $3, $4)", parameters, nothing: "No posts."
    ).print(page)
  }
}

struct Search: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Find people by name, nickname or major; without a query, list everybody.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  @Argument(help: "A part of a name, nickname or major.")
  var query = ""

  func run() throws {
    try page.reportingCursor {
      try page.showPeople(
        database.connect(), "search_users($4, $1, $2, $3)", page.parameters + [.text(query)],
        nothing: "Nobody found.")
    }
  }
}

struct People: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show everybody behind an alarm, and whom its reader follows back.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  @Argument(help: "The alarm's notification_id, as `magpie alarms --json` prints it.")
  var notification: String

  func run() throws {
    guard let id = UUID(uuidString: notification) else {
      throw Failure(
        .usage,
        "\(excerpt(notification)) is not a notification's id. `magpie alarms --json` prints them.")
    }
    try page.reportingCursor {
      try page.showPeople(
        database.connect(), "alarm_people($1, $4, $2, $3)", page.parameters + [.uuid(id)],
        nothing: "Nobody, or no alarm of this person.")
    }
  }
}

extension PageOptions {
  /// Shows the rows of a function that lists people.
  func showPeople(
    _ connection: Connection, _ call: String, _ parameters: [Parameter], nothing: String
  ) throws {
    if json { return try printJSONRows(connection, call, parameters) }
    let rows = try connection.query("SELECT * FROM \(call)", parameters)
    let column = rows.columnNames.contains("shown_name") ? "shown_name" : "name"
    var page = try Page(nothing: nothing, rows)
    for row in rows {
      let name = try displayName(row.text(column), id: row.text("user_id"))
      var marks: [String] = []
      if try row.bool("is_followed") { marks.append("followed") }
      if try row.bool("follows_viewer") { marks.append("follows you") }
      page.text += "\(Style.cyan(name))  \(Style.dim(escapedForTerminal(try row.text("user_id"))))"
      page.text += marks.isEmpty ? "\n" : "  (\(marks.joined(separator: ", ")))\n"
    }
    page.print(self)
  }
}
