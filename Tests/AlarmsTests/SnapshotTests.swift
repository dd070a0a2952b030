import AlarmText
import Events
import Foundation
import Handling
import Postgres
import Testing

@testable import Alarms

@Suite("Snapshots become alarms")
struct SnapshotTests {
  @Test("an alarm is in the reader's locale and names the actor")
  func rendered() throws {
    let database = try AlarmDatabase()
    try database.apply(
      profile("reader", nickname: "읽는이", locale: "ko-KR"), profile("actor", nickname: "나오"))
    try database.apply(changed(1, .like))
    #expect(try database.text(1) == "나오님이 회원님의 게시물을 좋아합니다")
    let row = try database.admin.query(
      "SELECT locale, legacy_message, legacy_from_nick_name, deep_link, badge_icon FROM rendered_alarms"
    ).only
    #expect(try row.text(0) == "ko")
    #expect(try row.text(1) == "<나오>님이 회원님의 게시물을 좋아합니다")
    #expect(try row.text(2) == "나오")
    #expect(try row.text(3) == "magpie://posts/post")
    #expect(try row.text(4) == "heart")
  }

  @Test(
    "a snapshot of an unknown kind is rejected, and never shown as a like",
    arguments: [44, 999, 1000, -1])
  func unknownKind(type: Int32) throws {
    let database = try AlarmDatabase()
    var event = changed(1)
    guard case .notificationChanged(var data) = event.payload else { return }
    data.type = type
    event.payload = .notificationChanged(data)
    let error = #expect(throws: EventError.self) { try database.apply(event) }
    #expect(error?.code == .badValue)
    #expect(error?.field == "type")
    #expect(try database.admin.query("SELECT FROM alarms").isEmpty)
  }

  @Test("an alarm whose kind was removed keeps its text, and others are rendered again")
  func unknownKindInTable() throws {
    let database = try AlarmDatabase()
    try database.apply(profile("actor", nickname: "nao"))
    try database.apply(changed(1, .follow), changed(2, .follow))
    try database.admin.query(
      "UPDATE alarms SET type = 77 WHERE notification_id = $1",
      [.uuid(UUID(uuidString: notificationID(1)))])
    try database.apply(profile("actor", nickname: "mao", at: 1, id: "later"))
    try database.drain()
    #expect(try database.text(1)?.hasPrefix("nao") == true)
    #expect(try database.text(2)?.hasPrefix("mao") == true)
    #expect(try database.pendingCount() == 0)
  }

  @Test("the newest version within a batch and across batches wins, whatever the order")
  func newestWins() throws {
    let database = try AlarmDatabase()
    try database.apply(profile("a", nickname: "A"), profile("b", nickname: "B"))
    try database.apply(
      changed(1, version: 3, by: "a"), changed(1, version: 5, by: "b"),
      changed(1, version: 4, by: "a"))
    #expect(try database.text(1)?.hasPrefix("B") == true)
    try database.apply(changed(1, version: 4, by: "a"))
    #expect(try database.text(1)?.hasPrefix("B") == true)
    try database.apply(changed(1, version: 1, generation: 2, by: "a"))
    #expect(try database.text(1)?.hasPrefix("A") == true, "a newer generation wins")
  }

  @Test("a snapshot from replaced tables is skipped, and hides no other")
  func otherGenerations() throws {
    let database = try AlarmDatabase()
    try database.apply(profile("a", nickname: "A"), profile("b", nickname: "B"))
    try database.apply(changed(1, version: 1, by: "a"), changed(1, version: 9, generation: 3))
    #expect(try database.text(1)?.hasPrefix("A") == true)
    try database.apply(
      retracted(1, version: 8, generation: 3), changed(2, version: 1, generation: 0))
    #expect(try database.text(1)?.hasPrefix("A") == true)
    #expect(try database.text(2) == nil)
    #expect(try database.texts().count == 1)
  }

  @Test("after a swap back, snapshots of the former and the new generation are valid")
  func lineageWithGap() throws {
    let database = try AlarmDatabase()
    try database.admin.script(
      """
      DELETE FROM notification_generations;
      INSERT INTO notification_generations (generation) VALUES (1), (3)
      """)
    try database.apply(profile("a", nickname: "A"), profile("b", nickname: "B"))
    // Snapshots that the tables in between published look newer but are not valid.
    try database.apply(
      changed(1, version: 1, by: "a"), changed(1, version: 5, generation: 2, by: "b"),
      retracted(2, version: 6, generation: 2), changed(2, version: 2, by: "a"))
    #expect(try database.text(1)?.hasPrefix("A") == true)
    #expect(try database.text(2)?.hasPrefix("A") == true)
    try database.apply(changed(1, version: 7, generation: 3, by: "b"))
    #expect(try database.text(1)?.hasPrefix("B") == true)
  }

  @Test("a retraction keeps only its version, and older snapshots cannot bring the alarm back")
  func retraction() throws {
    let database = try AlarmDatabase()
    try database.apply(changed(1, version: 2))
    try database.apply(retracted(1, version: 3))
    try database.apply(retracted(2, version: 3))
    #expect(try database.texts() == [1, 2].map { "\(notificationID($0))|retracted" })
    let alone = try database.admin.query(
      "SELECT count(*) FROM alarms WHERE num_nonnulls(type, actor, text, deep_link, post_id) > 0")
    #expect(try alone.only.int(0) == 0)
    try database.apply(changed(1, version: 2), changed(2, version: 2))
    #expect(try database.texts() == [1, 2].map { "\(notificationID($0))|retracted" })
    try database.apply(changed(1, version: 4))
    #expect(try database.text(1) != nil)
  }

  @Test("an unknown actor is Someone, and an unknown reader gets the default locale")
  func unknownPeople() throws {
    let english = try AlarmDatabase()
    try english.apply(changed(1, .follow))
    #expect(try english.text(1)?.hasPrefix("Someone") == true)

    let configured = try alarmHandler(defaultLocale: "th")
    try configured.applyDirectly(
      [changed(2, .follow)], topic: .notificationChanges, on: english.worker)
    let locale = try english.admin.query(
      "SELECT locale FROM alarms WHERE counter = 1 AND text <> $1",
      [.text(try english.text(1))]
    ).only.text(0)
    #expect(locale == "th")
    #expect(throws: CatalogError.self) { try alarmHandler(defaultLocale: "tlh") }
  }

  @Test(
    "each type links to its subject",
    arguments: [
      (AlarmType.like, "magpie://posts/p%2F1"),
      (.comment, "magpie://posts/p%2F1/comments/c%201"),
      (.follow, "magpie://users/a%3Fb"),
      (.message, "magpie://chats/a%3Fb"),
      (.mention, "magpie://posts/p%2F1/comments/c%201"),
    ])
  func deepLinks(type: AlarmType, link: String) throws {
    let database = try AlarmDatabase()
    try database.apply(changed(1, type, by: "a?b", post: "p/1", comment: "c 1"))
    #expect(try database.admin.query("SELECT deep_link FROM alarms").only.text(0) == link)
  }

  @Test("ids that only look alike belong to different people")
  func bytewise() throws {
    let database = try AlarmDatabase()
    try database.apply(
      profile("caf\u{E9}", nickname: "composed"), profile("cafe\u{301}", nickname: "decomposed"))
    try database.apply(changed(1, by: "caf\u{E9}"), changed(2, by: "cafe\u{301}"))
    #expect(try database.text(1)?.hasPrefix("composed") == true)
    #expect(try database.text(2)?.hasPrefix("decomposed") == true)
  }

  @Test("an empty batch, and a batch of retractions only, create no profiles")
  func degenerate() throws {
    let database = try AlarmDatabase()
    try database.handler.applyDirectly([], topic: .notificationChanges, on: database.worker)
    try database.handler.applyDirectly([], topic: .profiles, on: database.worker)
    try database.apply((1...50).map { retracted($0, version: 1) })
    #expect(try database.admin.query("SELECT count(*) FROM profiles").only.int(0) == 0)
  }
}
