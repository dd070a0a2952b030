import Events
import Foundation
import Handling
import Notifications
import Postgres
import TestSupport
import Testing

/// What one user sees of one notification, in a short form for expectations.
private struct Seen: Equatable, CustomStringConvertible {
  var type: AlarmType
  var actor: String
  var second: String?
  var people: Int
  var contributions: Int
  var text: String
  var raisedAtMinute: Double
  var unread: Bool

  init(
    _ type: AlarmType, _ actor: String, _ second: String? = nil, people: Int = 1,
    contributions: Int? = nil, text: String = "", at minute: Double, unread: Bool = true
  ) {
    (self.type, self.actor, self.second, self.people) = (type, actor, second, people)
    (self.text, raisedAtMinute, self.unread) = (text, minute, unread)
    self.contributions = contributions ?? people
  }

  var description: String {
    "\(type) by \(actor), \(second ?? "-"): \(people) people, \(contributions) things,"
      + " \"\(text)\" at \(raisedAtMinute)\(unread ? " unread" : "")"
  }
}

extension World {
  /// Newest first.
  fileprivate func seen(by user: String) throws -> [Seen] {
    let rows = try connection.query(
      """
      SELECT type, actor, second_actor, actor_count, contribution_count, head_text, raised_at,
        unread
      FROM shown_notifications WHERE recipient = $1
      ORDER BY raised_at DESC, notification_id DESC
      """, [.text(user)])
    return try rows.map { row in
      Seen(
        try #require(AlarmType(code: row.int(0))), try row.text(1), try row.textOrNil(2),
        people: try row.int(3), contributions: try row.int(4), text: try row.text(5),
        at: Double(try row.timestamptz(6) - day) / 60_000_000, unread: try row.bool(7))
    }
  }

  fileprivate func stats(_ post: String) throws -> [Int] {
    let row = try connection.query("SELECT * FROM post_stats($1)", [.text(post)]).only
    return [try row.int(0), try row.int(1)]
  }
}

private let today = "2026-03-01"

@Suite("Who is notified of what")
struct RuleTests {
  @Test("likes of a post group by UTC day, name the newest two, and count each actor once")
  func likesGroup() throws {
    let world = try World()
    try world.apply(
      like("ann", "p", of: "owner", at: 1), like("bob", "p", of: "owner", at: 2),
      like("cem", "p", of: "owner", at: 3), like("ann", "p", of: "owner", at: 4),
      like("dee", "p", of: "owner", at: 24 * 60))
    #expect(
      try world.seen(by: "owner") == [
        Seen(.like, "dee", at: 24 * 60), Seen(.like, "cem", "bob", people: 3, at: 3),
      ])
    #expect(try world.stats("p") == [4, 0])
  }

  @Test("actions on one's own posts notify nobody, but count for the post")
  func selfActions() throws {
    let world = try World()
    try world.apply(
      like("me", "p", of: "me", at: 1), follow("me", "me", at: 1),
      comment("c", by: "me", on: "p", of: "me", mentions: ["me"], at: 1),
      message("m", "me", to: "me", at: 1), post("p", by: "me", mentions: ["me"], at: 1))
    #expect(try world.seen(by: "me") == [])
    #expect(try world.stats("p") == [1, 1])
    #expect(world.published.isEmpty)
  }

  @Test("users whose ids differ only in Unicode composition are two users")
  func bytewise() throws {
    let world = try World()
    try world.apply(like("e\u{301}", "p", of: "\u{e9}", at: 1))
    #expect(try world.seen(by: "\u{e9}").count == 1)
  }

  @Test("an unlike withdraws the like, even if it arrives first")
  func unlikes() throws {
    let world = try World()
    try world.apply(like("ann", "p", of: "owner", at: 1), like("bob", "p", of: "owner", at: 2))
    try world.apply(unlike("bob", "p", of: "owner", at: 3))
    #expect(try world.seen(by: "owner") == [Seen(.like, "ann", at: 1)])
    try world.apply(unlike("ann", "p", of: "owner", at: 3))
    #expect(try world.seen(by: "owner") == [])
    try world.apply(unlike("cem", "q", of: "owner", at: 5))
    try world.apply(like("cem", "q", of: "owner", at: 4))
    #expect(try world.seen(by: "owner") == [])
    #expect(try world.stats("p") == [0, 0])
    #expect(try world.stats("q") == [0, 0])
    #expect(try world.stats("unheard of") == [0, 0])
  }

  @Test("like, unlike, like returns to the old place and does not raise the red dot twice")
  func likedAgain() throws {
    let world = try World()
    try world.apply(like("ann", "p", of: "owner", at: 1))
    try world.apply(readAll("owner", at: 2))
    try world.apply(unlike("ann", "p", of: "owner", at: 3))
    try world.apply(like("ann", "p", of: "owner", at: 4))
    #expect(try world.seen(by: "owner") == [Seen(.like, "ann", at: 1, unread: false)])
  }

  @Test("an earlier like that arrives late moves the contribution to its own day")
  func lateEarlierLike() throws {
    let world = try World()
    let nextDay = 24.0 * 60
    try world.apply(like("ann", "p", of: "owner", at: nextDay + 5))
    try world.apply(like("ann", "p", of: "owner", at: 5))
    #expect(try world.seen(by: "owner") == [Seen(.like, "ann", at: 5)])
    #expect(try world.rows().count == 1)
  }

  @Test("an unfollow creates nothing and withdraws the follow's notification")
  func unfollows() throws {
    let world = try World()
    try world.apply(unfollow("ann", "star", at: 1))
    #expect(world.published.isEmpty)
    try world.apply(follow("bob", "star", at: 2), follow("cem", "star", at: 3))
    try world.apply(unfollow("cem", "star", at: 4))
    #expect(try world.seen(by: "star") == [Seen(.follow, "bob", at: 2)])
  }

  @Test("one sender's messages of a day are one notification that quotes the newest")
  func messages() throws {
    let world = try World()
    try world.apply(
      message("m1", "ann", to: "bob", "one", at: 1), message("m2", "ann", to: "bob", "two", at: 2),
      message("m3", "cem", to: "bob", "three", at: 3))
    #expect(
      try world.seen(by: "bob") == [
        Seen(.message, "cem", text: "three", at: 3),
        Seen(.message, "ann", contributions: 2, text: "two", at: 2),
      ])
  }

  @Test("a comment notifies the owner and each mentioned person once; its removal withdraws all")
  func comments() throws {
    let world = try World()
    try world.apply(
      comment(
        "c", by: "ann", on: "p", of: "owner", "hi", mentions: ["owner", "bob", "ann"], at: 1))
    #expect(try world.seen(by: "owner") == [Seen(.comment, "ann", text: "hi", at: 1)])
    #expect(try world.seen(by: "bob") == [Seen(.mention, "ann", text: "hi", at: 1)])
    #expect(try world.seen(by: "ann") == [])
    #expect(try world.stats("p") == [0, 1])
    try world.apply(removal("c", by: "ann", on: "p", of: "owner", at: 2))
    #expect(try world.seen(by: "owner") == [])
    #expect(try world.seen(by: "bob") == [])
    #expect(try world.stats("p") == [0, 0])
  }

  @Test("a comment removed before it arrives notifies nobody")
  func removedFirst() throws {
    let world = try World()
    try world.apply(removal("c", by: "ann", on: "p", of: "owner", at: 2))
    try world.apply(comment("c", by: "ann", on: "p", of: "owner", mentions: ["bob"], at: 1))
    #expect(try world.shown() == [])
    #expect(try world.stats("p") == [0, 0])
  }

  @Test("an edited comment notifies newly mentioned people and withdraws dropped mentions")
  func editedComment() throws {
    let world = try World()
    try world.apply(comment("c", by: "ann", on: "p", of: "o", "1", mentions: ["bob"], at: 1))
    try world.apply(comment("c", by: "ann", on: "p", of: "o", "2", mentions: ["cem"], at: 2))
    #expect(try world.seen(by: "bob") == [])
    #expect(try world.seen(by: "cem") == [Seen(.mention, "ann", text: "2", at: 2)])
    #expect(try world.seen(by: "o") == [Seen(.comment, "ann", text: "2", at: 1)])
  }

  @Test("a post notifies the people it mentions, until an edit drops them or it is deleted")
  func postMentions() throws {
    let world = try World()
    try world.apply(post("p", by: "ann", "Sunset", mentions: ["ann", "bob", "cem"], at: 1))
    #expect(try world.seen(by: "bob") == [Seen(.mention, "ann", text: "Sunset", at: 1)])
    try world.apply(post("p", by: "ann", "Sunset!", mentions: ["cem"], at: 2))
    #expect(try world.seen(by: "bob") == [])
    #expect(try world.seen(by: "cem") == [Seen(.mention, "ann", text: "Sunset!", at: 1)])
    try world.apply(like("bob", "p", of: "ann", at: 3), postDeletion("p", by: "ann", at: 4))
    #expect(try world.seen(by: "cem") == [])
    #expect(try world.seen(by: "ann") == [Seen(.like, "bob", at: 3)])
  }

  @Test("an edit touches those whom it mentions, or the text until then, and nobody of before")
  func editsTouchFew() throws {
    let world = try World()
    func touched(_ event: Event) throws -> Set<String> {
      let before = world.published.count
      try world.apply(event)
      return Set(world.published.dropFirst(before).map(\.key))
    }
    try world.apply(post("p", by: "ann", mentions: ["bob", "cy"], at: 1))
    #expect(try touched(post("p", by: "ann", mentions: ["cy"], at: 2)) == ["bob", "cy"])
    #expect(try touched(post("p", by: "ann", mentions: ["dan"], at: 3)) == ["cy", "dan"])
    #expect(try touched(post("p", by: "ann", mentions: ["bob"], at: 1.5)) == ["bob", "dan"])
    #expect(try touched(postDeletion("p", by: "ann", at: 4)) == ["dan"])
    #expect(try touched(post("p", by: "ann", mentions: ["cy"], at: 5)) == ["cy"])
    func comment(_ mentions: [String], at minutes: Double) -> Event {
      NotificationsTests.comment(
        "c", by: "ann", on: "p", of: "o", mentions: mentions, at: minutes)
    }
    try world.apply(comment(["bob", "cy"], at: 1))
    #expect(try touched(comment(["cy"], at: 2)) == ["o", "bob", "cy"])
    #expect(try touched(comment(["dan"], at: 3)) == ["o", "cy", "dan"])
    #expect(try touched(removal("c", by: "ann", on: "p", of: "o", at: 4)) == ["o", "dan"])
    #expect(try touched(removal("c", by: "ann", on: "p", of: "o", at: 5)) == [])
    #expect(try touched(comment(["bob"], at: 6)) == ["o", "bob"])
    #expect(try world.seen(by: "bob").map(\.type) == [.mention])
    #expect(try world.violations() == [])
  }

  @Test("a batch that mentions too many people for one transaction is applied in halves")
  func tooManyMentions() throws {
    let posts = (0...200).map { number in
      post("p\(number)", by: "ann", mentions: (0..<100).map { "u\(number)-\($0)" }, at: 1)
    }
    _ = try testHandler.apply(.posts, Array(posts.dropLast()))
    let error = #expect(throws: BatchTooLarge.self) { _ = try testHandler.apply(.posts, posts) }
    #expect(error?.sizes == [100, 101])
  }

  @Test("reading one notification, or all, leaves later ones unread")
  func reading() throws {
    let world = try World()
    let id = notificationID(recipient: "o", kind: AlarmType.like.code, subject: "p", bucket: today)
    try world.apply(read("o", id, at: 2))
    try world.apply(like("ann", "p", of: "o", at: 1), like("ann", "q", of: "o", at: 1.5))
    #expect(
      try world.seen(by: "o") == [
        Seen(.like, "ann", at: 1.5), Seen(.like, "ann", at: 1, unread: false),
      ])
    try world.apply(readAll("o", at: 3))
    try world.apply(like("bob", "p", of: "o", at: 4))
    #expect(
      try world.seen(by: "o") == [
        Seen(.like, "bob", "ann", people: 2, at: 4), Seen(.like, "ann", at: 1.5, unread: false),
      ])
  }

  @Test("a mark on another user's notification has no effect")
  func foreignMarks() throws {
    let world = try World()
    let id = notificationID(recipient: "o", kind: AlarmType.like.code, subject: "p", bucket: today)
    try world.apply(like("ann", "p", of: "o", at: 1))
    try world.apply(read("eve", id, at: 2), deletion("eve", id, at: 2))
    #expect(try world.seen(by: "o") == [Seen(.like, "ann", at: 1)])
  }

  @Test("a deleted notification comes back only with contributions later than the deletion")
  func deletions() throws {
    let world = try World()
    let id = notificationID(recipient: "o", kind: AlarmType.like.code, subject: "p", bucket: today)
    try world.apply(like("ann", "p", of: "o", at: 1), deletion("o", id, at: 2))
    #expect(try world.seen(by: "o") == [])
    try world.apply(like("bob", "p", of: "o", at: 3), like("cem", "p", of: "o", at: 1.5))
    #expect(try world.seen(by: "o") == [Seen(.like, "bob", at: 3)])
  }

  @Test("a late deletion of everything keeps later contributions and recounts cut notifications")
  func deletingAll() throws {
    let world = try World()
    try world.apply(
      like("ann", "p", of: "o", at: 1), like("bob", "p", of: "o", at: 3),
      like("ann", "q", of: "o", at: 1), follow("ann", "o", at: 5))
    try world.apply(deleteAll("o", at: 2))
    #expect(
      try world.seen(by: "o") == [Seen(.follow, "ann", at: 5), Seen(.like, "bob", at: 3)])
    try world.apply(unlike("bob", "p", of: "o", at: 9))
    #expect(try world.seen(by: "o") == [Seen(.follow, "ann", at: 5)])
  }

  @Test("muting an unknown type is an error")
  func unknownType() throws {
    for payload in [
      Payload.alarmMuted(.with { ($0.user, $0.type) = ("o", "poke") }),
      .alarmUnmuted(.with { ($0.user, $0.type) = ("o", "Like") }),
    ] {
      let event = Event(id: "e", source: "test", time: minute(1), payload: payload)
      #expect(throws: EventError.self) { try testHandler.apply(.alarmActions, [event]) }
    }
  }

  @Test("an alarm that its kind does not allow is an error")
  func refusedAlarms() throws {
    func raised(_ change: (inout AlarmRaised) -> Void) -> Payload {
      .alarmRaised(
        .with {
          ($0.recipient, $0.kind, $0.source) = ("o", "broadcast", "s")
          ($0.actor, $0.arguments) = ("ann", ["title": "t"])
          change(&$0)
        })
    }
    func apply(_ payload: Payload) throws {
      _ = try testHandler.apply(
        .alarms, [Event(id: "e", source: "test", time: minute(1), payload: payload)])
    }
    try apply(raised { _ in })
    let refused: [(Payload, String)] = [
      (raised { $0.kind = "poke" }, "kind"), (raised { $0.kind = "Broadcast" }, "kind"),
      (raised { $0.kind = "F999" }, "kind"), (raised { $0.kind = "like" }, "kind"),
      (raised { $0.kind = "F05" }, "kind"), (raised { $0.kind = "author-post" }, "kind"),
      (raised { $0.kind = "F13" }, "kind"), (raised { $0.actor = "" }, "actor"),
      (raised { ($0.kind, $0.arguments) = ("reminder", ["text": "t"]) }, "actor"),
      (raised { $0.arguments = [:] }, "arguments.title"),
      (raised { $0.arguments["poke"] = "x" }, "arguments.poke"),
    ]
    for (payload, field) in refused {
      let error = #expect(throws: EventError.self) { try apply(payload) }
      #expect(error?.field == field, "\(payload)")
    }
    for kind in ["like", "F00", "comment", "follow", "message", "mention", "F05", "F13", "poke"] {
      let withdrawal = Payload.alarmWithdrawn(
        .with { ($0.recipient, $0.kind, $0.subject, $0.source) = ("o", kind, "p", "ann") })
      let error = #expect(throws: EventError.self) { try apply(withdrawal) }
      #expect(error?.field == "kind", "\(kind)")
    }
  }

  @Test("muting a type suppresses later events of that type only, until it is unmuted")
  func muting() throws {
    let world = try World()
    try world.apply(mute("o", .like, at: 2))
    try world.apply(
      like("ann", "p", of: "o", at: 2), like("bob", "p", of: "o", at: 3), follow("bob", "o", at: 3))
    #expect(
      try world.seen(by: "o") == [Seen(.follow, "bob", at: 3), Seen(.like, "ann", at: 2)])
    try world.apply(like("dee", "p", of: "o", at: 5), unmute("o", .like, at: 4))
    #expect(
      try world.seen(by: "o") == [
        Seen(.like, "dee", "ann", people: 2, at: 5), Seen(.follow, "bob", at: 3),
      ])
    #expect(try world.stats("p") == [3, 0])
  }

  @Test("a late muting withdraws what it should have suppressed")
  func lateMuting() throws {
    let world = try World()
    try world.apply(like("ann", "p", of: "o", at: 1), like("bob", "q", of: "o", at: 3))
    try world.apply(mute("o", .like, at: 2))
    #expect(try world.seen(by: "o") == [Seen(.like, "ann", at: 1)])
    try world.apply(unmute("o", .like, at: 2.5))
    #expect(
      try world.seen(by: "o") == [Seen(.like, "bob", at: 3), Seen(.like, "ann", at: 1)])
  }

  @Test("every change is published as a full snapshot, or as a retraction if nothing is left")
  func publishing() throws {
    let world = try World()
    try world.apply(comment("c", by: "ann", on: "p", of: "o", "hi", at: 1))
    try world.apply(removal("c", by: "ann", on: "p", of: "o", at: 2))
    try #require(world.published.count == 2)
    guard case .notificationChanged(let changed) = world.published[0].payload,
      case .notificationRetracted(let retracted) = world.published[1].payload
    else {
      Issue.record("\(world.published)")
      return
    }
    let id = notificationID(recipient: "o", kind: AlarmType.comment.code, subject: "c", bucket: "")
    #expect(changed.notification == id.uuidString.lowercased())
    #expect(changed.recipient == "o")
    #expect(changed.actor == "ann")
    #expect(changed.post == "p")
    #expect(changed.comment == "c")
    #expect(changed.headText == "hi")
    #expect(changed.raisedAt == minute(1).microseconds)
    #expect(retracted.notification == changed.notification)
    #expect((retracted.generation, retracted.counter) > (changed.generation, changed.counter))
    for event in world.published {
      let record = try EventCodec.encode(event, as: .protobuf)
      #expect(
        try EventCodec.decode(record, topic: .notificationChanges, now: minute(10)) == event)
    }
  }
}
