import TestSupport
import Testing

@Suite("magpie feed, alarms and conversations")
struct PageTests {
  @Test(
    "a page without rows says so in one sentence, and --json prints nothing",
    arguments: [
      ("feed u", "No posts by people they follow.\n"),
      ("alarms u", "no unread alarms\nNo alarms.\n"),
      ("conversations u", "No conversations.\n"),
      ("conversations u --with v", "No messages between the two.\n"),
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

  @Test("a malformed cursor exits 64")
  func malformedCursor() async throws {
    let magpie = Tool(environment: ["MAGPIE_DATABASE_URL": try TestDatabase.fresh()])
    for command in ["feed", "alarms", "conversations"] {
      let result = try await magpie(command, "u", "--before", "garbage")
      #expect(result.status == 64)
      #expect(result.error.hasPrefix("magpie: --before is garbage, which is not a cursor."))
    }
  }
}
