import Events
import Handling
import Notifications
import Postgres
import TestSupport
import Testing

@testable import Alarms
@testable import Reminders

@Suite("Digests")
struct DigestTests {
  /// Writes the alarms of likes that others gave ann's posts.
  private func like(_ worker: ClockedWorker, posts: Range<Int>, at time: String) throws {
    let (notifier, renderer) = (
      try Connection(worker.url, applicationName: "test"),
      try Connection(worker.url, applicationName: "test")
    )
    try notifier.script("SET ROLE magpie_notification")
    try renderer.script("SET ROLE magpie_alarm")
    let likes = try posts.map {
      Event(
        id: "like-\($0)", source: "test", time: try EventTime(rfc3339: time),
        payload: .like("bo", "p\($0)", of: "ann"))
    }
    let outcome = try notificationHandler().applyDirectly(likes, topic: .likes, on: notifier)
    try alarmHandler(defaultLocale: "en").applyDirectly(
      outcome.events, topic: .notificationChanges, on: renderer)
  }

  private func digest(
    at time: String, of user: String = "ann", days: [String] = [], kinds: [String] = []
  ) -> Payload {
    .digestSet(
      .with { ($0.user, $0.at, $0.zone, $0.days, $0.kinds) = (user, time, "UTC", days, kinds) })
  }

  @Test("a digest counts what is unread and unseen since the last one, and names the newest ten")
  func counts() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(digest(at: "08:00"), at: "2026-11-21T09:00:00Z")
    #expect(try worker.ring(at: "2026-11-22T08:00:00Z") == [], "nothing is unread")
    try like(worker, posts: 0..<12, at: "2026-11-22T10:00:00Z")
    #expect(
      try worker.ring(at: "2026-11-23T08:00:01Z") == [
        "ann  2026-11-23T08:00:00 due 2026-11-23T08:00:00Z: 12"
      ])
    guard case .alarmRaised(let data) = try #require(worker.published.last).payload else {
      Issue.record("not an alarm")
      return
    }
    #expect(data.arguments["newest"]?.split(separator: ",").count == 10)
    #expect(try worker.ring(at: "2026-11-24T08:00:00Z") == [], "they were in the last digest")
    try like(worker, posts: 12..<13, at: "2026-11-24T10:00:00Z")
    #expect(
      try worker.ring(at: "2026-11-25T08:00:00Z") == [
        "ann  2026-11-25T08:00:00 due 2026-11-25T08:00:00Z: 1"
      ])
  }

  @Test("a piece decides about few digests, and about the reminders behind them")
  func pieces() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    let time = try EventTime(rfc3339: "2026-11-21T09:00:00Z")
    try worker.apply(
      (0..<150).map {
        Event(id: "\($0)", source: "test", time: time, payload: digest(at: "08:00", of: "u\($0)"))
      })
    try worker.apply(.reminder("r", at: "2026-11-22T08:01", zone: "UTC"), at: time.rfc3339)
    try worker.set("2026-11-22T08:02:00Z")
    func due() throws -> [Int] {
      let row = try worker.admin.query(
        """
        SELECT count(*) FILTER (WHERE reminder_id = ''), count(*) FILTER (WHERE reminder_id <> '')
        FROM reminders WHERE due_at <= '2026-11-22 08:02Z'
        """
      ).only
      return [try row.int(0), try row.int(1)]
    }
    // Three digests, and the reminder behind all of them.
    #expect(try worker.ringPiece(halvings: 5).hasMore)
    #expect(try due() == [147, 0])
    #expect(try worker.ringPiece().events.count == 1, "the reminder's")
    #expect(try due() == [47, 0])
    #expect(try worker.ring() == [])
    #expect(try due() == [0, 0])
  }

  @Test("what a digest says is not read when only its time is computed anew")
  func newerZoneData() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(digest(at: "08:00"), at: "2026-11-21T09:00:00Z")
    try worker.admin.script(
      """
      UPDATE reminders SET due_at = due_at + interval '1 hour', zone_data = '2001a';
      ALTER FUNCTION digest_content(text, timestamptz, timestamptz, uuid[], smallint[], smallint)
        RENAME TO digest_content_away;
      """)
    #expect(try worker.ring() == [])
    let due = try worker.admin.query("SELECT due_at = '2026-11-22 08:00Z' FROM reminders")
    #expect(try due.only.bool(0))
  }

  @Test("a rebuilt digest does not ring for what the tables before it had decided on")
  func rebuilt() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(digest(at: "08:00"), at: "2026-11-21T09:00:00Z")
    #expect(try worker.ring(at: "2026-11-22T08:00:00Z") == [], "nothing is unread")
    try like(worker, posts: 0..<2, at: "2026-11-22T10:00:00Z")
    // Rebuilt, except for what the swap carries over.
    try worker.admin.script(
      "UPDATE reminders SET next_at = '2026-11-22 08:00', due_at = '2026-11-22 08:00Z'")
    #expect(try worker.ring(at: "2026-11-22T11:00:00Z") == [])
    #expect(
      try worker.ring(at: "2026-11-23T08:00:00Z") == [
        "ann  2026-11-23T08:00:00 due 2026-11-23T08:00:00Z: 2"
      ])
  }

  @Test("what becomes visible after a digest is in the next one, once", arguments: [3, 10, 14])
  func late(count: Int) throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(digest(at: "08:00"), at: "2026-11-21T09:00:00Z")
    try like(worker, posts: 0..<count, at: "2026-11-23T07:30:00Z")
    // The worker was away when the digest was due.
    try like(worker, posts: 20..<21, at: "2026-11-23T08:10:00Z")
    #expect(
      try worker.ring(at: "2026-11-23T08:20:00Z") == [
        "ann  2026-11-23T08:00:00 due 2026-11-23T08:00:00Z: \(count + 1)"
      ])
    try like(worker, posts: 21..<23, at: "2026-11-23T08:19:59Z")
    #expect(
      try worker.ring(at: "2026-11-24T08:00:00Z") == [
        "ann  2026-11-24T08:00:00 due 2026-11-24T08:00:00Z: 2"
      ])
    // Nothing twice, although it is still unseen.
    #expect(try worker.ring(at: "2026-11-25T08:00:00Z") == [])
    try like(worker, posts: 23..<24, at: "2026-11-24T07:59:59Z")
    #expect(
      try worker.ring(at: "2026-11-26T08:00:00Z") == [
        "ann  2026-11-26T08:00:00 due 2026-11-26T08:00:00Z: 1"
      ])
  }

  @Test("what was seen before is not counted, and not read, however much it is")
  func seen() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(digest(at: "08:00"), at: "2026-11-21T09:00:00Z")
    try like(worker, posts: 0..<2000, at: "2026-11-22T10:00:00Z")
    let notifier = try Connection(worker.url, applicationName: "test")
    try notifier.script("SET ROLE magpie_notification")
    let seen = Event(
      id: "seen", source: "test", time: try EventTime(rfc3339: "2026-11-22T11:00:00Z"),
      payload: .alarmSeen(.with { $0.user = "ann" }))
    try notificationHandler().applyDirectly([seen], topic: .alarmActions, on: notifier)
    try like(worker, posts: 2000..<2002, at: "2026-11-22T12:00:00Z")
    try worker.admin.script("ANALYZE")
    // As in the worker's transactions.
    try worker.admin.script("SET plan_cache_mode = force_generic_plan")
    let read = try worker.admin.blocksTouched(
      by: "SELECT * FROM digest_content('ann', '-infinity', NULL, '{}', NULL, 43::smallint)")
    #expect(read < 1000, "\(read)")
    #expect(
      try worker.ring(at: "2026-11-23T08:00:01Z") == [
        "ann  2026-11-23T08:00:00 due 2026-11-23T08:00:00Z: 2"
      ])
  }

  @Test("a digest comes on its days, for its kinds, and can be turned off")
  func settings() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    // 23 November 2026 is a Monday.
    try worker.apply(digest(at: "08:00", days: ["tu"]), at: "2026-11-22T00:00:00Z")
    try like(worker, posts: 0..<2, at: "2026-11-22T10:00:00Z")
    #expect(try worker.ring(at: "2026-11-23T08:00:01Z") == [])
    #expect(try worker.ring(at: "2026-11-24T08:00:01Z").count == 1)
    try worker.apply(digest(at: "08:00", kinds: ["follow"]), at: "2026-11-24T09:00:00Z")
    try like(worker, posts: 2..<3, at: "2026-11-24T10:00:00Z")
    #expect(try worker.ring(at: "2026-11-25T08:00:01Z") == [])
    try worker.apply(digest(at: "08:00", kinds: ["like"]), at: "2026-11-25T09:00:00Z")
    let setting = try worker.admin.query("SELECT at, zone, holds FROM digest_setting('ann')").only
    #expect(try setting.text("at") == "08:00" && setting.text("zone") == "UTC")
    try worker.apply(digest(at: ""), at: "2026-11-25T10:00:00Z")
    #expect(try worker.ring(at: "2026-11-27T08:00:01Z") == [])
    #expect(try worker.admin.query("SELECT FROM digest_setting('ann')").count == 0)
  }

  @Test("reminders page by page include the digest, also beside a reminder of the same moment")
  func pages() throws {
    let worker = try ClockedWorker(at: "2026-11-21T09:00:00Z")
    try worker.apply(digest(at: "08:00"), at: "2026-11-21T09:00:00Z")
    for hour in 7...9 {
      try worker.apply(
        .reminder("r\(hour)", at: "2026-11-22T0\(hour):00", zone: "UTC"), at: "2026-11-21T09:00:00Z"
      )
    }
    var cursor: String?
    var ids: [String] = []
    for _ in 0..<5 {
      let rows = try worker.admin.query(
        "SELECT reminder_id, cursor FROM reminder_page('ann', $1, 1)", [.text(cursor)])
      guard let row = rows.first else { break }
      ids.append(try row.text(0))
      cursor = try row.text(1)
    }
    #expect(ids == ["r7", "", "r8", "r9"])
  }
}
