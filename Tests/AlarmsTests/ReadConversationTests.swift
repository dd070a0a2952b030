import Events
import Model
import TestSupport
import Testing

@Suite("Conversations that were read")
struct ReadConversationTests {
  private func counts(_ stage: Stage) throws -> String {
    try stage.database.admin.query(
      """
      SELECT unread_count('ann') || ' ' || badge('ann') || ' '
        || (SELECT string_agg(peer_id || ':' || unread, ' ' ORDER BY peer_id)
            FROM conversation_list('ann', NULL, 9))
      """
    ).only.text(0)
  }

  private func apply(_ stage: Stage, _ seconds: Double, _ payload: Payload) throws {
    try stage.apply(Event(id: "\(payload)", source: "test", time: at(seconds), payload: payload))
  }

  @Test("reading a conversation takes its messages off the badge, and those that arrive late, too")
  func badge() throws {
    let stage = try Stage()
    try apply(stage, 1, .message("m1", from: "bo", to: "ann", "one"))
    try apply(stage, 2, .message("m2", from: "bo", to: "ann", "two"))
    try apply(stage, 3, .message("m3", from: "cy", to: "ann", "three"))
    try apply(stage, 4, .like("bo", "p1", of: "ann"))
    #expect(try counts(stage) == "3 3 bo:2 cy:1")
    try apply(stage, 5, .read("ann", "bo"))
    #expect(try counts(stage) == "2 2 bo:0 cy:1")
    // Sent before the conversation was read, and after.
    try apply(stage, 4.5, .message("m4", from: "bo", to: "ann", "late"))
    #expect(try counts(stage) == "2 2 bo:0 cy:1")
    try apply(stage, 6, .message("m5", from: "bo", to: "ann", "new"))
    #expect(try counts(stage) == "3 3 bo:1 cy:1")
    // An older mark, what ann herself writes, and what bo reads change nothing for ann.
    try apply(stage, 2, .read("ann", "bo"))
    try apply(stage, 7, .message("m6", from: "ann", to: "bo", "mine"))
    try apply(stage, 8, .read("bo", "ann"))
    #expect(try counts(stage) == "3 3 bo:1 cy:1")
  }

  @Test("a mark that arrives before any message counts, and both sides see what was read")
  func early() throws {
    let stage = try Stage()
    try apply(stage, 5, .read("ann", "bo"))
    #expect(try stage.pages("conversation_list", ["ann"], "peer_id") == [])
    try apply(stage, 5, .message("m1", from: "bo", to: "ann"))
    try apply(stage, 6, .message("m2", from: "bo", to: "ann"))
    try apply(stage, 7, .message("m3", from: "ann", to: "bo"))
    #expect(try counts(stage) == "1 1 bo:1")
    for (one, other) in [("ann", "bo"), ("bo", "ann")] {
      #expect(
        try stage.pages("conversation_page", [one, other], "message_id is_read")
          == [["m3", "false"], ["m2", "false"], ["m1", "true"]])
    }
  }

  @Test("more than 100 unread messages count as 100")
  func many() throws {
    let stage = try Stage()
    let events = (0..<130).map { number in
      Event(
        id: "\(number)", source: "test", time: at(Double(number)),
        payload: .message("m\(number)", from: "bo", to: "ann"))
    }
    for event in events { try stage.apply(event) }
    #expect(try stage.pages("conversation_list", ["ann"], "unread") == [["100"]])
    try apply(stage, 60, .read("ann", "bo"))
    #expect(try stage.pages("conversation_list", ["ann"], "unread") == [["69"]])
  }
}
