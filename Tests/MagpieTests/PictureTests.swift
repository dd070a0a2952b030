import Foundation
import Postgres
import TestSupport
import Testing

@Suite("The screens in docs/sql.md")
struct PictureTests {
  @Test(
    """
    each query finds rows of the story, its picture shows values of these rows, and each command prints them
    """)
  func story() async throws {
    let up = try await RunningUp()
    defer { up.remove() }
    _ = try await up.magpie("publish", UpTests.story)
    let verified = try await up.magpie("verify", "--wait", hangLimitText)
    #expect(verified.status == 0, "\(verified.error)\(verified.output)")
    let connection = try Connection(
      try #require(up.magpie.environment["MAGPIE_DATABASE_URL"]), applicationName: "test")
    defer { connection.close() }

    try check(connection)
    try await checkCommands(up.magpie, connection)
    up.process.terminate(within: hangLimitSeconds)
  }

  private func check(_ connection: Connection) throws {
    var checked = 0
    for section in try ScreensPage().sections where !section.pictures.isEmpty {
      var rows: [[String: Any]] = []
      for statement in section.statements {
        let found = try connection.query("SELECT to_jsonb(page)::text FROM (\(statement)) page")
        #expect(found.count > 0, "\(statement)")
        for row in found {
          let object = try JSONSerialization.jsonObject(with: Data(try row.text(0).utf8))
          rows.append(try #require(object as? [String: Any]))
        }
      }
      for picture in section.pictures {
        for (column, text) in picture.values {
          checked += 1
          #expect(
            rows.contains { row in
              switch row[column] {
              case let value as String: value.contains(text)
              case let value?: "\(value)" == text
              case nil: false
              }
            }, "\(picture.file): \(column) \(text)")
        }
      }
    }
    #expect(checked > 80)
  }

  /// The commands of the page's table with `--json`, and the calls whose rows they print.
  private func checkCommands(_ magpie: Tool, _ connection: Connection) async throws {
    let people = "599db55e-447e-5c25-8db1-1441d1dac80e"
    let calls = [
      "home grace": "home_page('grace', NULL, 20)",
      "feed minji": "feed_page('minji', NULL, 20)",
      "post grace minji-bukchon --likers": "likers_page('grace', 'minji-bukchon', NULL, 20)",
      "comments grace minji-bukchon": "comment_page('grace', 'minji-bukchon', NULL, 20)",
      "profile minji somchai": "profile('minji', 'somchai')",
      "profile minji somchai --posts": "user_posts_page('minji', 'somchai', NULL, 20)",
      "profile minji minji --followers": "followers_page('minji', 'minji', NULL, 20)",
      "profile minji minji --following": "following_page('minji', 'minji', NULL, 20)",
      "search minji o": "search_users('o', 'minji', NULL, 20)",
      "alarms layla": "alarm_page('layla', NULL, 20)",
      "people minji \(people)": "alarm_people('minji', '\(people)', NULL, 20)",
      "conversations grace": "conversation_list('grace', NULL, 20)",
      "chat grace minji": "conversation_page('grace', 'minji', NULL, 20)",
      "settings joon": "mutes('joon')",
      "reminders minji": "reminder_page('minji', NULL, 20)",
      "reminders minji --history": "reminder_history('minji', NULL, 20)",
    ]
    for (command, call) in calls {
      let arguments = command.split(separator: " ").map(String.init) + ["--json"]
      let printed = try await magpie.run(arguments)
      #expect(printed.status == 0, "\(command): \(printed.error)")
      let rows = try connection.query("SELECT to_jsonb(page)::text FROM \(call) page").map {
        try JSONSerialization.jsonObject(with: Data(try $0.text(0).utf8)) as? NSDictionary
      }
      let objects = try printed.lines.map {
        try JSONSerialization.jsonObject(with: Data($0.utf8)) as? NSDictionary
      }
      #expect(!rows.isEmpty && objects == rows, "\(command)")
    }
    // Each command in the page's table.
    let table = try #require(
      ScreensPage().text.components(separatedBy: "\n|---|---|---|\n").dropFirst().first)
    let commands = table.matches(of: /\| `(\w+)(?: --\w+)?` \|\n/).map { String($0.1) }
    #expect(commands.count == table.split(separator: "\n").prefix { $0.hasPrefix("|") }.count)
    for command in commands {
      #expect(calls.keys.contains { $0.hasPrefix("\(command) ") }, "\(command)")
    }
  }
}
