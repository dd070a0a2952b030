import Events
import Testing

@Suite struct NotificationIDTests {
  @Test(
    "ids equal those of Python's uuid.uuid5",
    arguments: [
      ("u", AlarmType.like, "p", "2012-09-14", "adeaa06c-7734-5aa5-8e48-6bfe2797eee9"),
      ("Andr\u{E9}", .comment, "comment-1", "", "ed8bc777-c13b-5dd0-a5ec-ed7c91f3c557"),
      ("", .follow, "", "", "49ff5e4c-a560-530f-8d52-37ab0d84fe60"),
      ("수지", .mention, "post:글", "", "571f8580-bb73-57cd-9b92-73418a998076"),
    ])
  func vectors(recipient: String, type: AlarmType, subject: String, day: String, id: String) {
    #expect(
      NotificationID.uuid(recipient: recipient, kind: type.code, subject: subject, day: day) == id)
  }

  @Test("shifted boundaries between parts and different normal forms give different ids")
  func distinct() {
    func id(_ recipient: String, _ subject: String) -> String {
      NotificationID.uuid(
        recipient: recipient, kind: AlarmType.like.code, subject: subject, day: "")
    }
    #expect(id("ab", "c") != id("a", "bc"))
    #expect(id("\u{E9}", "") != id("e\u{301}", ""))
    func alone(_ source: String) -> String {
      NotificationID.uuid(recipient: "a", kind: 6, subject: "s", day: "", source: source)
    }
    #expect(alone("1") != alone("2"))
    #expect(alone("") != NotificationID.uuid(recipient: "a", kind: 6, subject: "s", day: ""))
  }
}
