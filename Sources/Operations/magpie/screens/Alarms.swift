import AlarmText
import ArgumentParser
import Events
import Foundation
import Postgres

struct Alarms: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a person's alarms, in their language, with the actors' nicknames highlighted.",
    discussion: """
      ● is new, ○ seen and unread. Shows how long ago each alarm was raised, in the alarm's \
      language and by UTC's calendar; --json prints only the time.
      """)

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  func run() throws {
    try page.reportingCursor { try show(database.connect()) }
  }

  private func show(_ connection: Connection) throws {
    if page.json {
      return try printJSONRows(connection, "alarm_page($1, $2, $3)", page.parameters)
    }
    Console.output.line(try Self.badge(connection, user: page.user))
    try Self.page(connection, page).print(page)
  }

  /// The number of unread alarms; with the red dot and the badge if some have not been seen.
  static func badge(_ connection: Connection, user: String) throws -> String {
    let row = try connection.query(
      "SELECT badge($1) AS unseen, unread_count($1) AS unread", [.text(user)]
    ).only
    let (unread, unseen) = (try row.int8("unread"), try row.int8("unseen"))
    if unread == 0 { return "no unread alarms" }
    return unseen == 0 ? "\(unread) unread" : "\(Style.red("●")) \(unread) unread, \(unseen) new"
  }

  /// - Parameter showsAge: whether to say how long ago each alarm was raised.
  static func page(
    _ connection: Connection, _ options: PageOptions, showsAge: Bool = true
  ) throws -> Page {
    let rows = try connection.query(
      "SELECT p.*, p.segments::text AS json FROM alarm_page($1, $2, $3) p", options.parameters)
    var page = try Page(nothing: "No alarms.", rows)
    let now = LocalTime(microseconds: EventTime.now.microseconds)
    for row in rows {
      // Unread and not yet seen, unread, or read.
      let dot = try row.bool("unseen") ? Style.red("●") : row.bool("unread") ? "○" : " "
      let raised = try row.timestamptz("raised_at")
      let sentence = try Self.sentence(row.textOrNil("json"), text: row.textOrNil("text"))
      page.text += "\(dot) \(shortTime(raised))  \(sentence)\n"
      var details: [String] = []
      if showsAge {
        details.append(
          AlarmTextEngine.builtIn.timeAgo(
            from: LocalTime(microseconds: raised), to: now,
            locale: try row.textOrNil("locale") ?? ""))
      }
      details.append(escapedForDisplay(try row.textOrNil("deep_link") ?? ""))
      details.append(excerpt(try row.text("image_url")))
      if try row.text("kind") == followCode {
        details.append(try row.bool("actor_is_followed") ? "followed" : "follow back")
      }
      let shown = details.filter { !$0.isEmpty }.joined(separator: "  ")
      page.text += "    \(Style.dim(shown))\n"
    }
    return page
  }

  /// The code of the kind of alarms about followers.
  private static let followCode = "F02"

  /// The segments, highlighted, or the plain text if there are none.
  private static func sentence(_ json: String?, text: String?) throws -> String {
    guard let json else { return excerpt(text ?? "(not rendered yet)") }
    return highlighted(try JSONDecoder().decode([ShownSegment].self, from: Data(json.utf8)))
  }
}
