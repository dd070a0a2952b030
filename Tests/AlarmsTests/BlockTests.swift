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
  private static let people = Stage.people
  private static let posts = Stage.posts

  @Test(
    "after every event, each page is the model's and each count is the length of its list",
    arguments: [581_108, UInt64.random(in: 0..<1_000_000)])
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
        switch number < Self.people.count ? -1 : Int.random(in: -1..<24, using: &random) {
        case -1: Self.profile(number < Self.people.count ? Self.people[number] : one, number)
        case 20:
          [
            .edit(one, nickname: ["nick \(number)", "", "\u{200B} "][number % 3]),
            .edit(one, image: "edited \(number)"),
            .edit(one, locale: "ko", name: number % 2 == 0 ? "name \(number)" : ""),
          ][Int.random(in: 0..<3, using: &random)]
        case 21, 22: .read(one, other)
        case 23: .message("m\(number)", from: one, to: other, "hi again")
        case 0...2:
          .postPublished(
            .with {
              ($0.post, $0.author, $0.mentions) = (post, owner, [other])
              ($0.title, $0.imageURL) = ("title \(number)", number % 2 == 0 ? "i\(number)" : "")
            })
        case 3...5: .follow(one, other)
        case 6: .unfollow(one, other)
        case 7...9: .like(one, post, of: owner)
        case 10: .unlike(one, post, of: owner)
        case 11, 12:
          .comment("c\(number / 20)", by: one, on: post, of: owner, "text", mentions: [other])
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

  /// Some people have no nickname, or one of which nothing is visible.
  private static func profile(_ user: String, _ number: Int) -> Payload {
    .profile(
      user, nickname: ["nick \(number)", "", "\u{200B} "][number % 3], locale: "en",
      image: "image \(number)", name: number % 5 == 4 ? "" : "name")
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
    let rows = try stage.pages("alarm_page", ["ann"], "actor_count deep_link")
    #expect(rows == [["1", "magpie://posts/p2"], ["1", "magpie://posts/p1"]])
  }
}
