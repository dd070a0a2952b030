import Foundation
import Postgres
import TestSupport
import Testing

@Suite("The commands that show screens")
struct PageTests {
  @Test(
    "an empty page is one sentence, and --json prints nothing",
    arguments: [
      ("home u", "No posts.\n"),
      ("feed u", "No posts by people they follow.\n"),
      ("post u p", "No such post, or not for this person.\nNo comments.\n"),
      ("post u p --likers", "Nobody likes it.\n"),
      ("post u p --comments", "No comments.\n"),
      ("comments u p", "No comments.\n"),
      ("profile u", "No such person, or not for this viewer.\n"),
      ("profile u v --posts", "No posts.\n"),
      ("profile u v --followers", "No followers.\n"),
      ("profile u v --following", "They follow nobody.\n"),
      ("search u", "Nobody found.\n"),
      ("people u 00000000-0000-5000-8000-000000000001", "Nobody, or no alarm of this person.\n"),
      ("alarms u", "no unread alarms\nNo alarms.\n"),
      ("conversations u", "No conversations.\n"),
      ("conversations u --with v", "No messages between the two.\n"),
      ("chat u v", "No messages between the two.\n"),
      ("settings u", "Nothing is turned off.\n"),
      ("dead-letters list", "No open dead letters.\n"),
      ("dead-letters list --by topic", "No open dead letters.\n"),
    ])
  func nothing(command: String, output: String) async throws {
    let magpie = Tool(environment: ["MAGPIE_DATABASE_URL": try TestDatabase.fresh()])
    let arguments = command.split(separator: " ").map(String.init)
    let text = try await magpie.run(arguments)
    #expect(text.status == 0, "\(text.error)")
    #expect(text.output.hasSuffix(output), "\(text.output)")
    let json = try await magpie.run(arguments + ["--json"])
    #expect(json.status == 0, "\(json.error)")
    #expect(!json.output.contains("No "))
  }

  @Test("they read through functions only, no table")
  func functionsOnly() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/Operations/magpie/screens")
    var calls = 0
    for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
      for match in text.matches(of: /\b(?:FROM|JOIN)\s+(\S+)/) {
        calls += 1
        #expect(match.1.contains("(") || match.1.hasPrefix("\\(call)"), "\(file): \(match.0)")
      }
    }
    #expect(calls > 5)
  }

  @Test("a malformed cursor exits 64")
  func malformedCursor() async throws {
    let magpie = Tool(environment: ["MAGPIE_DATABASE_URL": try TestDatabase.fresh()])
    for command in [
      "home u", "feed u", "post u p --likers", "comments u p", "profile u --posts",
      "profile u --followers", "search u",
      "alarms u", "conversations u", "chat u v", "people u 00000000-0000-5000-8000-000000000001",
    ] {
      let words = command.split(separator: " ").map(String.init)
      let result = try await magpie.run(words + ["--before", "garbage"])
      #expect(result.status == 64)
      #expect(result.error.hasPrefix("magpie: --before is garbage, which is not a cursor."))
    }
  }

  @Test("alarms say how long ago they were raised, in their own language; --json does not")
  func howLongAgo() async throws {
    let url = try TestDatabase.fresh()
    let connection = try Connection(url, applicationName: "test")
    defer { connection.close() }
    // 100 days are always three complete months.
    try connection.script(
      """
      INSERT INTO notification_recipients (user_id) VALUES ('u');
      INSERT INTO notifications (
        notification_id, recipient, type, subject, actor, actor_count, contribution_count, post_id,
        head_text, raised_at, oldest_at, generation, counter)
      SELECT gen_random_uuid(), 'u', 0, locale, 'a', 1, 1, 'p', '', raised_at, raised_at, 1, 1
      FROM unnest('{ko,ar,tlh}'::text[]) locale, (SELECT now() - interval '100 days') t (raised_at);
      INSERT INTO alarms (
        notification_id, recipient, generation, counter, retracted, type, actor, actor_count,
        contribution_count, post_id, head_text, raised_at, locale, text, segments, spans,
        legacy_message, legacy_head_text, legacy_from_nick_name)
      SELECT notification_id, recipient, generation, counter, false, type, actor, 1, 1, post_id, '',
        raised_at, subject, 'x', '[{"kind": "text", "text": "x"}]', '[]', 'x', '', ''
      FROM notifications;
      """)
    let magpie = Tool(environment: ["MAGPIE_DATABASE_URL": url])
    let shown = try await magpie("alarms", "u")
    #expect(shown.status == 0, "\(shown.error)")
    for ago in ["3개월 전", "قبل ٣ أشهر", "3 months ago"] {
      #expect(shown.lines.count { $0 == "    \(ago)" } == 1, "\(shown.output)")
    }
    let json = try await magpie("alarms", "u", "--json")
    #expect(json.lines.count == 3)
    #expect(!json.output.contains("ago") && !json.output.contains("전"), "\(json.output)")
    // Seen is not read.
    #expect(shown.lines.first == "● 3 unread, 3 new")
    try connection.script("UPDATE notification_recipients SET seen_all_at = now()")
    #expect(try await magpie("alarms", "u").lines.first == "3 unread")
  }
}
