import Events
import Foundation
import Model
import Notifications
import Postgres
import TestSupport
import Testing

/// Decision 0020.
@Suite("Times and boundaries")
struct BoundaryTests {
  /// The notifications that `o` sees, newest first, as the tables and the model have them.
  private func seen(_ events: [Event]) throws -> [String] {
    let world = try World()
    try world.apply(events)
    let model = Model(events)
    #expect(try world.shown() == model.shown)
    try world.settle()
    #expect(try world.shown() == model.shown)
    return model.notifications(of: "o").map {
      [
        AlarmType(code: $0.type)?.rawValue, $0.actor, $0.secondActor,
        $0.isUnread ? "unread" : "read",
      ]
      .compactMap(\.self).joined(separator: " ")
    }
  }

  /// 1.5 microseconds, in minutes: times are truncated to whole microseconds.
  private let instant = 1.5 / 60_000_000

  @Test("a muting lasts from after its time through the time of the unmuting")
  func muting() throws {
    let toggles = [mute("o", .follow, at: 10), unmute("o", .follow, at: 20)]
    for (minutes, isSeen) in [
      (10 - instant, true), (10, true), (10 + instant, false), (20 - instant, false), (20, false),
      (20 + instant, true),
    ] {
      let expected = isSeen ? ["follow ann unread"] : []
      #expect(try seen(toggles + [follow("ann", "o", at: minutes)]) == expected, "\(minutes)")
      #expect(try seen([follow("ann", "o", at: minutes)] + toggles) == expected, "\(minutes)")
    }
  }

  @Test("of two toggles in the same microsecond, the one with the greater id wins")
  func toggledTwice() throws {
    for isMuted in [true, false] {
      var (muting, unmuting) = (mute("o", .follow, at: 10), unmute("o", .follow, at: 10))
      (muting.id, unmuting.id) = isMuted ? ("b", "a") : ("a", "b")
      for toggles in [[muting, unmuting], [unmuting, muting]] {
        let seen = try seen(toggles + [follow("ann", "o", at: 11)])
        #expect(seen == (isMuted ? [] : ["follow ann unread"]))
      }
    }
  }

  @Test("an event at the time of a reading or deletion is read or deleted")
  func marks() throws {
    let day = "2026-03-01"
    let id = notificationID(recipient: "o", kind: AlarmType.follow.code, subject: "", bucket: day)
    for mark in [readAll("o", at: 10), read("o", id, at: 10)] {
      #expect(try seen([follow("ann", "o", at: 10), mark]) == ["follow ann read"])
      #expect(try seen([follow("ann", "o", at: 10 + instant), mark]) == ["follow ann unread"])
    }
    for mark in [deleteAll("o", at: 10), deletion("o", id, at: 10)] {
      #expect(try seen([follow("ann", "o", at: 10), mark]) == [])
      #expect(try seen([follow("ann", "o", at: 10 + instant), mark]) == ["follow ann unread"])
    }
  }

  @Test("a contribution is as old as the first event that created it for this recipient")
  func firstAt() throws {
    // First the actor's own post, then somebody else's: for that owner it is of minute 5, and
    // unread.
    #expect(
      try seen([
        like("ann", "p", of: "ann", at: 1), readAll("o", at: 3), like("ann", "p", of: "o", at: 5),
      ]) == ["like ann unread"])
    #expect(
      try seen([
        comment("c", by: "ann", on: "p", of: "ann", mentions: [], at: 1), readAll("o", at: 3),
        comment("c", by: "ann", on: "p", of: "o", at: 5),
      ]) == ["comment ann unread"])
    // Back with the first owner, it returns to its old place.
    #expect(
      try seen([
        like("ann", "p", of: "o", at: 1), readAll("o", at: 2), like("ann", "p", of: "x", at: 3),
        like("ann", "p", of: "o", at: 4),
      ]) == ["like ann read"])
  }

  @Test("of two actors in the same microsecond, the one with the bytewise greater id leads")
  func equalTimes() throws {
    for (lead, second) in [
      ("bob", "ann"), ("ann", "Zoe"), ("e\u{301}x", "e"), ("\u{e9}", "e\u{301}"),
    ] {
      for likers in [[lead, second], [second, lead]] {
        #expect(
          try seen(likers.map { like($0, "p", of: "o", at: 1) }) == [
            "like \(lead) \(second) unread"
          ])
      }
    }
  }

  @Test("a comment that mentions the post's owner notifies them as a comment, and is muted as one")
  func mentionedOwner() throws {
    let comment = comment("c", by: "ann", on: "p", of: "o", mentions: ["o"], at: 5)
    #expect(try seen([comment]) == ["comment ann unread"])
    #expect(try seen([comment, mute("o", .mention, at: 1)]) == ["comment ann unread"])
    #expect(try seen([comment, mute("o", .comment, at: 1)]) == [])
  }
}
