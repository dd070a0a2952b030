import Events
import Handling
import Model
import Notifications
import Postgres
import TestSupport
import Testing

@testable import Alarms

@Suite("With snapshots of notification-worker itself")
struct WithNotificationsTests {
  @Test("verify_alarms finds nothing after likes, comments, undos, readings and deletions")
  func endToEnd() throws {
    var random = SeededGenerator()
    let database = try AlarmDatabase(backlogLimit: 5)
    let notifier = try Connection(database.url, applicationName: "notifier")
    try notifier.script("SET ROLE magpie_notification")
    let people = (0..<6).map { "p\($0)" }
    var snapshots: [Event] = []
    for number in 0..<400 {
      let (actor, owner) = (
        people.randomElement(using: &random)!, people.randomElement(using: &random)!
      )
      let post = "post of \(owner)"
      let payload: Payload =
        switch Int.random(in: 0..<12, using: &random) {
        case 0...3: .like(actor, post, of: owner)
        case 4: .unlike(actor, post, of: owner)
        case 5, 6:
          .comment(
            "c\(number)", by: actor, on: post, of: owner, "comment \(number)",
            mentions: [people.randomElement(using: &random)!])
        case 7: .follow(actor, owner)
        case 8: .unfollow(actor, owner)
        case 9: .message("m\(number)", from: actor, to: owner, "hi")
        case 10: .alarmReadAll(.with { $0.user = owner })
        default:
          number % 7 == 0
            ? .alarmAllDeleted(.with { $0.user = owner })
            : .profile(
              owner, nickname: "nick \(number)",
              locale: ["ko", "en"].randomElement(using: &random)!)
        }
      let event = Event(
        id: "e\(number)", source: "test", time: at(Double(number) * 997), payload: payload)
      if event.topic == .profiles {
        try database.apply(event)
      } else {
        snapshots += try notificationHandler().applyDirectly(
          [event], topic: event.topic, on: notifier
        ).events
      }
    }
    for snapshot in snapshots.shuffled(using: &random) { try database.apply(snapshot) }
    try database.drain()
    let violations = try database.admin.query("SELECT * FROM verify_alarms()").map {
      "\(try $0.text(0)): \(try $0.text(1)), expected \(try $0.text(2)), found \(try $0.text(3))"
    }
    #expect(violations == [])
    #expect(try database.admin.query("SELECT count(*) FROM shown_alarms").only.int(0) > 0)
  }

  private func published(_ event: Event, _ notifier: Connection) throws -> [Event] {
    let outcome = try notificationHandler().applyDirectly([event], topic: event.topic, on: notifier)
    return outcome.events
  }

  @Test("a late muting changes pages, counts and red dots with its commit, before any piece")
  func reviewed() throws {
    let database = try AlarmDatabase()
    let notifier = try Connection(database.url, applicationName: "notifier")
    try notifier.script("SET ROLE magpie_notification")
    var events: [Event] = []
    let happened: [(Payload, Double)] = [
      (.like("ann", "p", of: "o"), 10), (.like("bob", "p", of: "o"), 30),
      (.like("cem", "q", of: "o"), 40), (.follow("ann", "o"), 50),
    ]
    for (payload, seconds) in happened {
      events.append(
        Event(id: "e\(events.count)", source: "test", time: at(seconds), payload: payload))
      for snapshot in try published(events[events.count - 1], notifier) {
        try database.apply(snapshot)
      }
    }
    func page() throws -> [String] {
      try database.admin.query(
        "SELECT notification_id::text, raised_at, unread FROM alarm_page('o', NULL, NULL)"
      ).map { row in
        "\(try row.text(0)) \(try row.timestamptz(1)) \(try row.bool(2))"
      }
    }
    func expected() -> [String] {
      Model(events).notifications(of: "o").map {
        "\($0.id) \($0.raisedAt.microseconds) \($0.isUnread)"
      }
    }
    #expect(try page() == expected())
    for (number, payload) in [
      Payload.mute("o", "like"), .alarmReadAll(.with { $0.user = "o" }), .unmute("o", "like"),
    ].enumerated() {
      let seconds = number == 1 ? 25 : 20 + Double(number)
      let event = Event(id: "toggle \(number)", source: "test", time: at(seconds), payload: payload)
      events.append(event)
      #expect(try published(event, notifier).isEmpty)
      let wanted = expected()
      #expect(try page() == wanted, "step \(number)")
      let row = try database.admin.query("SELECT unread_count('o'), has_unread('o')").only
      #expect(try row.int(0) == wanted.count { $0.hasSuffix("true") }, "step \(number)")
      #expect(try row.bool(1) == wanted.contains { $0.hasSuffix("true") }, "step \(number)")
      // Page by page, too.
      let rows = try database.admin.query("SELECT * FROM alarm_page('o', NULL, 1)")
      let next = try database.admin.query(
        "SELECT * FROM alarm_page('o', $1, 10)", [.text(try rows.only.text("cursor"))])
      #expect(next.count == wanted.count - 1, "step \(number)")
    }
    #expect(try database.admin.query("SELECT FROM notification_reviews").count == 1)
  }

  @Test(
    "what pages and badges read under review does not grow with the contributions",
    arguments: [("actor", "u0"), ("subject", "p0")])
  func contributionsUnderReview(scope: String, value: String) throws {
    let database = try AlarmDatabase()
    let notifier = try Connection(database.url, applicationName: "notifier")
    try notifier.script("SET ROLE magpie_notification")
    func like(_ people: Range<Int>) throws {
      let likes: [Event] = people.flatMap { person in
        ["p0", "p1"].map { post in
          Event(
            id: "\(person) \(post)", source: "test", time: at(Double(person)),
            payload: .like("u\(person)", post, of: "o"))
        }
      }
      let outcome = try notificationHandler().applyDirectly(likes, topic: .likes, on: notifier)
      try database.apply(outcome.events)
      try database.admin.query("ANALYZE")
    }
    func blocksRead() throws -> Int {
      try database.admin.blocksTouched(
        by: "SELECT badge('o'), unread_count('o'), count(*) FROM alarm_page('o', NULL, 20)")
    }
    try like(0..<5)
    try database.admin.query(
      """
      INSERT INTO notification_scoped_reviews (recipient, scope, type, value, after_time, caused_at)
      VALUES ('o', $1, 0, $2, '-infinity', now())
      """, [.text(scope), .text(value)])
    let before = try blocksRead()
    try like(5..<2005)
    #expect(try blocksRead() < before + 100)
    #expect(try database.admin.query("SELECT badge('o')").only.int(0) == 2)
  }
}
