import Foundation
import Postgres

/// The screens that the demo shows of the built-in story: what the commands print for a few of its people,
/// cut to 80 columns.
struct Tour {
  private static let width = 80

  /// Examples/story-screens.txt: the screens without styles.
  static var expected: String {
    String(decoding: PackageResources.story_screens_txt, as: UTF8.self)
  }

  private(set) var text = ""

  init(_ connection: Connection) throws {
    let minji = PageOptions(user: "minji")
    let grace = PageOptions(user: "grace")
    add(
      "Minji opens Following: what she likes, names and images as they are now",
      "feed minji", try Feed.page(connection, minji))
    add(
      "Grace opens a post and its comments", "post grace minji-bukchon",
      try Post.page(connection, viewer: "grace", post: "minji-bukchon"),
      try Comments.page(connection, grace, post: "minji-bukchon"))
    try addAlarms(connection, "Minji's alarms in Korean: ● new, ○ unread, others read", of: "minji")
    if let followers = try Self.followers(connection, of: "minji") {
      add(
        "Everybody behind her alarm of followers, to follow back",
        "people minji \(followers.uuidString.lowercased())",
        try People.page(connection, minji, behind: followers))
    }
    try addAlarms(connection, "Somchai's newest alarms in Thai", of: "somchai", limit: 2)
    try addAlarms(connection, "Layla's alarms in Arabic, right to left", of: "layla")
    add("Grace's messages", "conversations grace", try Conversations.page(connection, grace))
    add(
      "Her chat with Minji", "chat grace minji",
      try Chat.page(connection, grace, peer: "minji"))
    add(
      "What Minji is to be reminded of", "reminders minji",
      try Reminders.page(connection, minji))
    add(
      "What she would have been reminded of, had Magpie run then", "reminders minji --history",
      try Reminders.page(connection, minji, history: true))
    add("What Joon has turned off", "settings joon", try Settings.page(connection, user: "joon"))
  }

  private mutating func addAlarms(
    _ connection: Connection, _ title: String, of user: String, limit: Int? = nil
  ) throws {
    // Without ages, which change every day.
    let options = limit.map { PageOptions(user: user, limit: $0) } ?? PageOptions(user: user)
    let page = try Alarms.page(connection, options, showsAge: false)
    let command = "alarms \(user)" + (limit.map { " --limit \($0)" } ?? "")
    add(title, command, page, below: try Alarms.badge(connection, user: user))
  }

  private mutating func add(
    _ title: String, _ command: String, _ pages: Page..., below line: String? = nil
  ) {
    text += "\(text.isEmpty ? "" : "\n")\(Style.bold("── \(title)"))\n"
    var lines = [Style.dim("$ magpie \(command)")] + (line.map { [$0] } ?? [])
    lines += pages.flatMap { $0.textOrNothing.split(separator: "\n").map(String.init) }
    for line in lines { text += clipped("   \(line)", columns: Self.width) + "\n" }
  }

  /// The newest alarm that several followers caused.
  private static func followers(_ connection: Connection, of user: String) throws -> UUID? {
    try connection.query(
      """
      SELECT notification_id FROM alarm_page($1, NULL, NULL)
      WHERE kind = 'F02' AND actor_count > 1 LIMIT 1
      """, [.text(user)]
    ).first?.uuid(0)
  }

  /// The lines that differ from the expected ones, `-` expected, `+` shown; none if all are equal.
  var differences: [String] {
    let shown = withoutStyles(text).split(separator: "\n", omittingEmptySubsequences: false)
    let expected = Self.expected.split(separator: "\n", omittingEmptySubsequences: false)
    return shown.difference(from: expected).map { change in
      switch change {
      case .remove(_, let line, _): "- \(line)"
      case .insert(_, let line, _): "+ \(line)"
      }
    }
  }
}
