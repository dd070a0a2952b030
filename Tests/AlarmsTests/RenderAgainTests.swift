import Events
import Handling
import Postgres
import Testing

@testable import Alarms

@Suite("Alarms are rendered again")
struct RenderAgainTests {
  @Test("when the profile of an unknown person arrives")
  func unknownArrives() throws {
    let database = try AlarmDatabase()
    try database.apply(changed(1, by: "a", and: "b", of: 2))
    #expect(try database.text(1) == "Someone and someone else like your post")
    try database.apply(profile("b", nickname: "B"))
    try database.apply(profile("a", nickname: "A"), profile("reader", locale: "ko"))
    try database.drain()
    #expect(try database.text(1) == "A님과 B님이 회원님의 게시물을 좋아합니다")
  }

  @Test("when a nickname or a locale changes, and only then")
  func changes() throws {
    let database = try AlarmDatabase()
    try database.apply(
      profile("actor", nickname: "A", at: 1), profile("reader", locale: "en", at: 1))
    #expect(try database.pendingCount() == 0, "there is nothing to render")
    try database.apply(changed(1))
    try database.apply(profile("actor", nickname: "A", image: "http://a", at: 2))
    #expect(try database.pendingCount() == 0, "the image is no part of the rendering")
    try database.apply(profile("reader", nickname: "R", locale: "en", at: 2))
    #expect(try database.pendingCount() == 0, "the reader's nickname is not shown")
    try database.apply(profile("actor", nickname: "old", at: 1.5))
    #expect(try database.pendingCount() == 0, "an older profile changes nothing")
    try database.apply(profile("actor", nickname: "B", at: 3))
    #expect(try database.pendingCount() == 1)
    try database.apply(profile("reader", locale: "th", at: 3))
    #expect(try database.pendingCount() == 2)
    try database.drain()
    #expect(try database.pendingCount() == 0)
    #expect(try database.texts().first?.contains("|th|") == true)
    #expect(try database.text(1)?.contains("B") == true)
  }

  @Test("newest first, in bounded pieces that resume where the last one stopped")
  func steps() throws {
    let database = try AlarmDatabase(backlogLimit: 10)
    try database.apply(profile("actor", nickname: "Old"))
    try database.apply((1...35).map { changed($0, raisedAt: Double($0 / 2)) })
    try database.apply(profile("actor", nickname: "New", at: 1))
    for done in [10, 20, 30] {
      #expect(try database.handler.runBacklogDirectly(on: database.worker).hasMore)
      for number in [35, 36 - done] { #expect(try database.text(number)?.hasPrefix("New") == true) }
      #expect(try database.text(35 - done)?.hasPrefix("Old") == true)
    }
    #expect(try !database.handler.runBacklogDirectly(on: database.worker).hasMore)
    #expect(try database.text(1)?.hasPrefix("New") == true)
  }

  @Test("newest first and in bounded pieces after a locale change, too")
  func languageInSteps() throws {
    let database = try AlarmDatabase(backlogLimit: 10)
    try database.apply(profile("actor", nickname: "A"))
    try database.apply((1...25).map { changed($0, raisedAt: Double($0)) })
    try database.apply(profile("reader", locale: "ko", at: 1))
    for done in [10, 20, 25] {
      try database.handler.runBacklogDirectly(on: database.worker)
      let korean = try database.admin.query(
        "SELECT notification_id::text FROM alarms WHERE locale = 'ko' ORDER BY raised_at DESC"
      ).map { try $0.text(0) }
      #expect(korean == (0..<done).map { notificationID(25 - $0) })
    }
    #expect(try database.pendingCount() == 0)
  }

  @Test("people take turns")
  func turns() throws {
    let database = try AlarmDatabase(backlogLimit: 10)
    try database.apply((1...50).map { changed($0, by: "popular", raisedAt: Double($0)) })
    try database.apply(changed(51, by: "modest"))
    try database.apply(profile("popular", nickname: "P"))
    try database.apply(profile("modest", nickname: "M"))
    try database.handler.runBacklogDirectly(on: database.worker)
    #expect(try database.text(51)?.hasPrefix("M") == true)
    #expect(try database.text(1)?.hasPrefix("Someone") == true)
  }

  @Test("another renaming during a pass restarts the pass")
  func renamedTwice() throws {
    let database = try AlarmDatabase(backlogLimit: 10)
    try database.apply((1...25).map { changed($0, raisedAt: Double($0)) })
    try database.apply(profile("actor", nickname: "First", at: 1))
    try database.handler.runBacklogDirectly(on: database.worker)
    try database.apply(profile("actor", nickname: "Second", at: 2))
    #expect(try database.drain() == 3)
    for number in 1...25 { #expect(try database.text(number)?.hasPrefix("Second") == true) }
  }

  @Test("more people than fit into one piece are all processed")
  func manyPeople() throws {
    let database = try AlarmDatabase(backlogLimit: 50)
    try database.apply((1...250).map { changed($0, by: "u\($0)") })
    try database.apply((1...250).map { profile("u\($0)", nickname: "N\($0)") })
    try database.drain()
    for number in 1...250 {
      #expect(try database.text(number) == "N\(number) likes your post")
    }
    #expect(try database.pendingCount() == 0)
  }

  @Test("all of them when an operator asks, as docs/sql.md describes")
  func everything() throws {
    let database = try AlarmDatabase(backlogLimit: 10)
    try database.apply(
      (1...25).map { changed($0, to: "reader\($0 % 3)") } + [retracted(26, version: 1)])
    // Another default locale stands in for other catalogs.
    let handler = try alarmHandler(defaultLocale: "th")
    #expect(try database.text(1) == "Someone likes your post")
    try database.worker.query(
      """
      INSERT INTO pending_renders (user_id, part)
      SELECT DISTINCT recipient, 'recipient' FROM alarms WHERE NOT retracted
      ON CONFLICT (user_id, part) DO UPDATE SET below_time = DEFAULT, below_id = DEFAULT
      """)
    while try handler.runBacklogDirectly(on: database.worker).hasMore {}
    #expect(
      try database.admin.query("SELECT count(*) FROM alarms WHERE locale = 'th'").only.int(0) == 25)
  }
}
