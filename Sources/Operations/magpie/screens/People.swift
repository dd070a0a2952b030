import ArgumentParser
import Events
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

  @Flag(help: "Show only a page of the person's posts, without the profile.")
  var posts = false

  func validate() throws {
    if [followers, following, posts].count(where: \.self) > 1 {
      throw ValidationError("--followers, --following and --posts exclude each other.")
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
    if !posts {
      if page.json { return try printJSONRows(connection, "profile($1, $2)", pair) }
      guard try showProfile(connection, pair) else { return }
    }
    let call = "user_posts_page($1, $2, $3, $4)"
    if page.json { return try printJSONRows(connection, call, parameters) }
    try postsPage(connection, call, parameters, nothing: "No posts.").print(page)
  }

  /// Returns whether there is a profile for this viewer.
  private func showProfile(_ connection: Connection, _ pair: [Parameter]) throws -> Bool {
    let rows = try connection.query("SELECT * FROM profile($1, $2)", pair)
    guard let row = rows.first else {
      Console.output.line("No such person, or not for this viewer.")
      return false
    }
    Console.output.line(try headline(row, of: rows))
    Console.output.line(
      "\(try row.int8("posts")) posts, \(try row.int8("followers")) followers, "
        + "\(try row.int8("following")) following")
    for column in ["name", "major", "bio", "locale", "zone"] {
      let text = try row.textOrNil(column) ?? ""
      if !text.isEmpty { Console.output.line(excerpt(text)) }
    }
    return true
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
        database.connect(), Self.call, page.parameters + [.uuid(id)], nothing: Self.nothing)
    }
  }

  private static let call = "alarm_people($1, $4, $2, $3)"
  private static let nothing = "Nobody, or no alarm of this person."

  static func page(_ connection: Connection, _ options: PageOptions, behind id: UUID) throws -> Page
  {
    try peoplePage(connection, call, options.parameters + [.uuid(id)], nothing: nothing)
  }
}

/// A person's name and id, who follows whom as far as the row says, and the image.
private func headline(_ row: Row, of rows: Rows) throws -> String {
  let names = rows.columnNames
  let name = try displayName(
    row.text(names.contains("shown_name") ? "shown_name" : "name"), id: row.text("user_id"))
  let marks = try marks(row, of: names).joined(separator: ", ")
  let id = Style.dim(escapedForDisplay(try row.text("user_id")))
  return "\(Style.cyan(name))  \(id)" + (marks.isEmpty ? "" : "  (\(marks))")
    + imageURL(try row.text("image_url"))
}

private func marks(_ row: Row, of names: [String]) throws -> [String] {
  func has(_ column: String) throws -> Bool { try names.contains(column) && row.bool(column) }
  let follows =
    switch (try has("is_followed"), try has("follows_viewer")) {
    case (true, true): ["followed, follows you"]
    case (true, false): ["followed"]
    case (false, true): ["follows you; follow back"]
    case (false, false): [String]()
    }
  return follows + (try has("is_blocked") ? ["blocked"] : [])
    + (try has("is_muted") ? ["muted"] : [])
}

extension PageOptions {
  /// Shows the rows of a function that lists people.
  func showPeople(
    _ connection: Connection, _ call: String, _ parameters: [Parameter], nothing: String
  ) throws {
    if json { return try printJSONRows(connection, call, parameters) }
    try peoplePage(connection, call, parameters, nothing: nothing).print(self)
  }
}

/// A page of people: a line for each row.
private func peoplePage(
  _ connection: Connection, _ call: String, _ parameters: [Parameter], nothing: String
) throws -> Page {
  let rows = try connection.query("SELECT * FROM \(call)", parameters)
  var page = try Page(nothing: nothing, rows)
  for row in rows { page.text += try headline(row, of: rows) + "\n" }
  return page
}
