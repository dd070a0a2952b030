import Events
import Feeds
import Handling
import Model
import Notifications
import Postgres
import TestSupport
import Testing

@testable import Alarms

@Suite("What people hide from each other")
struct BlockTests {
  private static let people = ["ann", "bo", "cy", "e\u{301}"]
  private static let posts = ["p0", "p1", "p2", "p3"]

  /// All workers on one database.
  private struct Stage {
    let database: AlarmDatabase
    let fanout: Connection
    let notifier: Connection

    init() throws {
      database = try AlarmDatabase(backlogLimit: 5)
      fanout = try Connection(database.url, applicationName: "fanout")
      try fanout.script("SET ROLE magpie_fanout")
      notifier = try Connection(database.url, applicationName: "notifier")
      try notifier.script("SET ROLE magpie_notification")
    }

    func apply(_ event: Event) throws {
      let (feeds, notifications) = (feedHandler(pushLimit: 10_000), notificationHandler())
      if feeds.topics.contains(event.topic) {
        try feeds.applyDirectly([event], topic: event.topic, on: fanout)
      }
      if event.topic == .profiles { try database.apply(event) }
      guard notifications.topics.contains(event.topic) else { return }
      let outcome = try notifications.applyDirectly([event], topic: event.topic, on: notifier)
      try database.apply(outcome.events)
    }

    func settle() throws {
      var hasMore = true
      while hasMore {
        let outcome = try notificationHandler().runBacklogDirectly(on: notifier)
        try database.apply(outcome.events)
        hasMore = outcome.hasMore
      }
      try database.drain()
    }

    /// One column of all pages of three rows, as an app's backend reads them.
    func pages(_ function: String, _ arguments: [String], _ column: String) throws -> [String] {
      let places = (1...arguments.count + 1).map { "$\($0)" }.joined(separator: ", ")
      let sql = "SELECT \(column)::text, cursor FROM \(function)(\(places), 3)"
      var (found, cursor): ([String], String?) = ([], nil)
      while true {
        let rows = try database.admin.query(sql, arguments.map { .text($0) } + [.text(cursor)])
        found += try rows.map { try $0.text(0) }
        guard let last = rows.last, rows.count == 3 else { return found }
        cursor = try last.text(1)
      }
    }

    /// The pages and counts that differ from the model's.
    func differences(from model: Model) throws -> [String] {
      var found: [String] = []
      func compare(_ what: String, _ actual: [String], _ expected: [String]) {
        if actual.map({ BytewiseString($0) }) != expected.map({ BytewiseString($0) }) {
          found.append("\(what): is \(actual), should be \(expected)")
        }
      }
      for viewer: String in BlockTests.people {
        compare(
          "feed of \(viewer)", try pages("feed_page", [viewer], "post_id"),
          model.feed(of: viewer).map(\.id))
        compare(
          "home of \(viewer)", try pages("home_page", [viewer], "post_id"),
          model.home(for: viewer).map(\.id))
        compare(
          "conversations of \(viewer)", try pages("conversation_list", [viewer], "peer_id"),
          model.conversations(of: viewer).map(\.peer))
        for peer in BlockTests.people {
          compare(
            "conversation of \(viewer) with \(peer)",
            try pages("conversation_page", [viewer, peer], "message_id"),
            model.messages(between: viewer, and: peer).map(\.id))
        }
        for post in BlockTests.posts {
          compare(
            "comments on \(post) for \(viewer)",
            try pages("comment_page", [viewer, post], "comment_id"),
            model.comments(on: post, for: viewer).map(\.id))
        }
        let others = model.allProfiles.map(\.user).filter {
          !$0.hasSameBytes(as: viewer) && !model.isBlocked(viewer, $0)
        }
        compare(
          "people for \(viewer)", try pages("search_users", ["name", viewer], "user_id"), others)
        let notifications = model.notifications(of: viewer)
        compare(
          "alarms of \(viewer)",
          try pages("alarm_page", [viewer], "concat_ws(' ', notification_id, actor_count, unread)"),
          notifications.map { "\($0.id) \($0.actorCount) \($0.isUnread ? "t" : "f")" })
        let counts = try database.admin.query(
          "SELECT unread_count($1), has_unread($1), badge($1), has_unseen($1)", [.text(viewer)]
        ).only
        let (unread, unseen) = (model.unreadCount(of: viewer), model.badge(of: viewer))
        compare(
          "counts of \(viewer)",
          [
            "\(try counts.int(0)) \(try counts.bool(1)) \(try counts.int(2)) \(try counts.bool(3))"
          ], ["\(unread) \(unread > 0) \(unseen) \(unseen > 0)"])
      }
      return found
    }
  }

  @Test(
    "after every event, each page is the model's and each count is the length of its list",
    arguments: [UInt64.random(in: 0..<1_000_000), .random(in: 0..<1_000_000)])
  func everyPrefix(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let stage = try Stage()
    var events: [Event] = []
    func pick(_ values: [String]) -> String {
      values[Int.random(in: 0..<values.count, using: &random)]
    }
    for number in 0..<160 {
      let (one, other) = (pick(Self.people), pick(Self.people))
      let position = Int.random(in: 0..<Self.posts.count, using: &random)
      let (post, owner) = (Self.posts[position], Self.people[position])
      let payload: Payload =
        switch number < Self.people.count ? -1 : Int.random(in: 0..<20, using: &random) {
        case -1: .profile(Self.people[number], nickname: "nick", locale: "en", name: "name")
        case 0...2:
          .postPublished(
            .with { ($0.post, $0.author, $0.mentions) = (post, owner, [other]) })
        case 3...5: .follow(one, other)
        case 6: .unfollow(one, other)
        case 7...9: .like(one, post, of: owner)
        case 10: .unlike(one, post, of: owner)
        case 11, 12: .comment("c\(number)", by: one, on: post, of: owner, "text", mentions: [other])
        case 13: .message("m\(number)", from: one, to: other, "hi")
        case 14: .alarmReadAll(.with { $0.user = one })
        case 15: .personMuted(.with { ($0.user, $0.person) = (one, other) })
        case 16, 17: .personUnblocked(.with { ($0.user, $0.person) = (one, other) })
        default: .personBlocked(.with { ($0.user, $0.person) = (one, other) })
        }
      // Some events arrive late.
      let seconds = Double(number) * 997 - (number % 5 == 4 ? 40_000 : 0)
      let event = Event(
        id: "e\(number)", source: "test", time: at(max(0, seconds)), payload: payload)
      events.append(event)
      try stage.apply(event)
      let differences = try stage.differences(from: Model(events))
      #expect(differences == [], "seed \(seed), event \(number): \(payload)")
      if !differences.isEmpty { break }
      if number % 20 == 19 { try stage.settle() }
    }
    try stage.settle()
    #expect(try stage.differences(from: Model(events)) == [], "seed \(seed), settled")
    for function in ["verify_feeds", "verify_notifications", "verify_alarms", "verify_reviews"] {
      #expect(try stage.database.admin.query("SELECT * FROM \(function)()").isEmpty, "\(function)")
    }
  }

  @Test("mutes lists what is off now: kinds, subjects, people and blocks")
  func mutes() throws {
    let stage = try Stage()
    let payloads: [Payload] = [
      .mute("ann", "F06"), .mute("ann", "follow"), .unmute("ann", "follow"),
      .alarmDisabled(
        .with { ($0.user, $0.scope, $0.kind, $0.subject) = ("ann", "subject", "like", "p1") }),
      .alarmDisabled(.with { ($0.user, $0.scope, $0.actor) = ("ann", "actor", "bo") }),
      .alarmDisabled(.with { ($0.user, $0.scope, $0.actor) = ("ann", "actor", "cy") }),
      .personUnmuted(.with { ($0.user, $0.person) = ("ann", "cy") }),
      .personMuted(
        .with { ($0.user, $0.person, $0.until) = ("ann", "over", "2001-01-01T00:00:00Z") }),
      .personBlocked(.with { ($0.user, $0.person) = ("ann", "dee") }),
      .personBlocked(.with { ($0.user, $0.person) = ("bo", "ann") }),
    ]
    for (number, payload) in payloads.enumerated() {
      try stage.apply(
        Event(id: "\(number)", source: "test", time: at(Double(number)), payload: payload))
    }
    let rows = try stage.database.admin.query("SELECT * FROM mutes('ann')").map { row in
      "\(try row.text("scope")) \(try row.text("kind")) \(try row.text("value"))"
    }
    #expect(rows == ["actor  bo", "block  dee", "kind F06 ", "subject F00 p1"])
  }

  @Test("alarm_scopes says what alarm.disabled can turn off at a row, and that silences it")
  func scopes() throws {
    let stage = try Stage()
    var number = 0
    func apply(_ payload: Payload) throws {
      number += 1
      try stage.apply(
        Event(id: "\(number)", source: "test", time: at(Double(number)), payload: payload))
    }
    try apply(.like("bo", "p1", of: "ann"))
    let row = try stage.database.admin.query(
      """
      SELECT s.* FROM alarm_page('ann', NULL, 1) p
      CROSS JOIN LATERAL alarm_scopes('ann', p.notification_id) s
      """
    ).only
    let (kind, subject) = (try row.text("kind"), try row.text("subject"))
    #expect([kind, subject, try row.text("actor")] == ["F00", "p1", "bo"])
    try apply(
      .alarmDisabled(
        .with {
          ($0.user, $0.scope, $0.kind, $0.subject) = ("ann", "subject", kind, subject)
        }))
    try apply(.like("cy", "p1", of: "ann"))
    try apply(.like("cy", "p2", of: "ann"))
    let links = try stage.pages("alarm_page", ["ann"], "actor_count || deep_link")
    #expect(links == ["1magpie://posts/p2", "1magpie://posts/p1"])
  }
}
