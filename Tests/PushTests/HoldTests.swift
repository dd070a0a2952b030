import Events
import Postgres
import Providers
import TestSupport
import Testing

@testable import Pushes

/// What a person wants, and what keeps alarms from ringing for a while.
@Suite("Holds")
struct HoldTests {
  private func preferences(_ change: (inout PushPreferences) -> Void) -> Payload {
    var data = PushPreferences.with { $0.user = "ann" }
    change(&data)
    return .pushPreferences(data)
  }

  private func quiet(_ from: String, _ until: String, in zone: String = "UTC") -> Payload {
    preferences { ($0.quietFrom, $0.quietUntil, $0.zone) = (from, until, zone) }
  }

  /// Pushes what is due; returns the alerts. Badges make no sound.
  private func alerts(_ world: PushWorld) async throws -> [Claim] {
    try await world.push().filter { $0.message.purpose == .alert }
  }

  @Test("a kind that the person does not want is not pushed; the newest preferences decide")
  func silentKinds() async throws {
    let world = try PushWorld()
    try world.register()
    let earlier = world.event(preferences { $0.silentKinds = ["F02"] })
    world.pass(seconds: 1)
    try world.apply(preferences { $0.silentKinds = ["like", "comment"] })
    try world.apply([earlier])
    try world.like("bo", "p1")
    #expect(try await alerts(world).isEmpty)
    try world.apply(.follow("bo", "ann"))
    #expect(try await world.push().map(\.message.kind) == ["F02"])
    world.pass(seconds: 1)
    try world.apply(preferences { _ in })
    try world.like("bo", "p2")
    #expect(try await world.push().count == 1)
  }

  @Test("what comes in quiet hours comes as one message at their end, without what was read")
  func quietHours() async throws {
    let world = try PushWorld(at: "2026-11-23T22:30:00Z")
    try world.register("phone")
    try world.register("tablet", token: "aaaaaaaaaaaaaaaa")
    try world.apply(quiet("23:00", "07:00", in: "Europe/Berlin"))
    var likes: [String] = []
    for number in 0..<4 {
      try world.like("bo", "p\(number)")
      world.pass(seconds: 60)
      #expect(try await alerts(world).isEmpty)
      likes = try world.admin.query(
        "SELECT notification_id::text FROM push_due WHERE held = 'quiet'"
      )
      .map { try $0.text(0) }
    }
    #expect(likes.count == 4)
    try world.apply(
      .alarmRead(.with { ($0.user, $0.notification) = ("ann", likes[0]) }))
    try world.set("2026-11-24T05:59:00Z")
    #expect(try await alerts(world).isEmpty)
    // Not everybody's at once, but within a minute.
    try world.set("2026-11-24T06:01:00Z")
    let claims = try await world.push()
    #expect(claims.map(\.device.installation).sorted() == ["phone", "tablet"])
    #expect(
      claims.allSatisfy { $0.message.body == "New likes on 3 posts" && $0.message.badge == 3 })
    #expect(try world.dueCount() == 0)
    #expect(
      try world.claims().sorted() == [
        "phone alert accepted", "phone badge accepted", "phone part accepted",
        "phone part accepted", "tablet alert accepted", "tablet badge accepted",
        "tablet part accepted", "tablet part accepted",
      ])
  }

  @Test("in quiet hours, a device that was never told anything gets the badge, once")
  func firstBadge() async throws {
    let world = try PushWorld(at: "2026-11-23T22:10:00Z")
    try world.register()
    try world.apply(quiet("22:00", "07:00"))
    try world.like("bo", "p1")
    let badges = try await world.push()
    #expect(badges.map(\.message.purpose) == [.badge] && badges.first?.message.badge == 1)
    world.pass(seconds: 60)
    try world.apply(.profileChanged(.with { ($0.user, $0.nickname) = ("bo", "Bo") }))
    try world.apply(quiet("22:00", "08:00"))
    #expect(try await world.push().isEmpty)
  }

  @Test("when quiet hours are changed, what they held is looked at again")
  func changedQuietHours() async throws {
    let world = try PushWorld(at: "2026-11-23T22:10:00Z")
    try world.register()
    try world.apply(quiet("22:00", "07:00"))
    try world.like("bo", "p1")
    #expect(try await alerts(world).isEmpty)
    world.pass(seconds: 60)
    try world.apply(quiet("21:00", "08:00"))
    #expect(try await world.push().isEmpty, "it is still quiet")
    world.pass(seconds: 60)
    try world.apply(preferences { _ in })
    #expect(try await world.push().count == 1)
    #expect(try world.dueCount() == 0)
  }

  @Test("a burst rings three times; the rest of its minute comes as one message")
  func burst() async throws {
    let world = try PushWorld()
    try world.register()
    for number in 0..<8 {
      try world.like("bo", "p\(number)")
      #expect(try await alerts(world).count == (number < 3 ? 1 : 0))
      world.pass(seconds: 1)
    }
    world.pass(seconds: 60)
    let claims = try await world.push()
    #expect(claims.count == 1 && claims.first?.message.body == "New likes on 5 posts")
    #expect(try world.dueCount() == 0)
  }

  @Test("how much a push disturbs is the kind's")
  func interruption() async throws {
    let world = try PushWorld()
    try world.register()
    try world.apply(
      .alarmRaised(
        .with {
          ($0.recipient, $0.kind, $0.subject, $0.source) = ("ann", "memory", "p1", "2026")
          $0.arguments = ["years": "3"]
        }))
    let memory = try #require(try await world.push().first?.message)
    #expect(memory.interruption == .passive && memory.sound == nil)
    try world.like("bo", "p1")
    let like = try #require(try await world.push().first?.message)
    #expect(like.interruption == .active && like.sound == "default")
  }

  @Test("messages of two days from one sender are from one person")
  func days() async throws {
    let world = try PushWorld(at: "2026-11-23T23:30:00Z")
    try world.register()
    try world.apply(quiet("22:00", "07:00"))
    for (message, time) in [("m1", "2026-11-23T23:31:00Z"), ("m2", "2026-11-24T00:30:00Z")] {
      try world.set(time)
      try world.apply(
        .messageSent(
          .with { ($0.message, $0.sender, $0.receiver, $0.text) = (message, "bo", "ann", "hi") }))
      #expect(try await alerts(world).isEmpty)
    }
    try world.set("2026-11-24T07:01:00Z")
    #expect(try await world.push().map(\.message.body) == ["New messages from 1 person"])
  }

  @Test("alarms of different kinds come as a number of alarms")
  func mixed() async throws {
    let world = try PushWorld(bounds: PushBounds(alertsAMinute: 1))
    try world.register()
    try world.like("bo", "p0")
    #expect(try await world.push().count == 1)
    try world.like("bo", "p1")
    try world.apply(.followCreated(.with { ($0.follower, $0.followee) = ("bo", "ann") }))
    #expect(try await alerts(world).isEmpty)
    world.pass(seconds: 61)
    #expect(try await alerts(world).map(\.message.body) == ["2 new alarms are waiting"])
  }

  @Test("the badge is the derived one also while nothing rings")
  func badge() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().map(\.message.badge) == [1])
    try world.apply(preferences { $0.silentKinds = ["like"] })
    try world.like("bo", "p2")
    let badges = try await world.push()
    #expect(badges.map(\.message.purpose) == [.badge] && badges.first?.message.badge == 2)
    try world.apply(.unlike("bo", "p2", of: "ann"))
    #expect(try await world.push().map(\.message.badge) == [1])
  }

  @Test("a badge of another number is tried anew, and waits a minute at most for the one before")
  func anotherBadge() async throws {
    let world = try PushWorld()
    try world.register()
    try world.apply(preferences { $0.silentKinds = ["like"] })
    try world.like("bo", "p1")
    for attempt in 1...2 {
      let claim = try #require(try await world.turn().first)
      #expect(claim.message.badge == 1 && claim.attempt == attempt)
      world.outbox.note(Answered(claim, .answer(.retry(after: .seconds(3600))), at: world.now))
      #expect(try await world.turn().isEmpty)
      if attempt == 1 { world.pass(seconds: 5000) }
    }
    try world.like("bo", "p2")
    #expect(try await world.turn().isEmpty)
    world.pass(seconds: 61)
    let claims = try await world.turn()
    #expect(claims.map(\.message.badge) == [2] && claims.first?.attempt == 1)
  }

  @Test("what a message stands for is looked at again if the provider does not accept it")
  func refusedPart() async throws {
    let world = try PushWorld()
    try world.register()
    for number in 0..<5 {
      try world.like("bo", "p\(number)")
      _ = try await world.push()
    }
    world.pass(seconds: 61)
    let claims = try await world.turn()
    let claim = try #require(claims.first { $0.message.purpose == .alert })
    world.outbox.note(Answered(claim, .answer(.retry(after: .seconds(10))), at: world.now))
    #expect(try await world.turn().isEmpty)
    #expect(try world.dueCount() == 2)
    world.pass(seconds: 200)
    #expect(try await world.push().map(\.message.body) == [claim.message.body], "one message again")
    #expect(try world.claims().allSatisfy { $0.hasSuffix("accepted") })
  }

  @Test("an alarm that waits for the person's digest is not pushed; the digest is")
  func digest() async throws {
    let world = try PushWorld()
    try world.register()
    _ = try world.admin.query(
      """
      INSERT INTO reminders (
        user_id, reminder_id, version_time, version_id, definition, partition, decided_through, zone,
        zone_data)
      VALUES ('ann', '', now(), '1', '{"form":"digest","holds":true,"kinds":[0],"days":[],"at":"08:00"}',
        0, '2026-01-01', 'UTC', '')
      """)
    try world.like("bo", "p1")
    #expect(try await alerts(world).isEmpty)
    try world.apply(.follow("bo", "ann"))
    #expect(try await alerts(world).count == 1)
  }

  @Test("an event that was never committed keeps an alarm from ringing for a minute at most")
  func phantom() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    let id = try world.admin.query("SELECT notification_id::text, version FROM alarms").only
    let phantom = AlarmChanged.with {
      ($0.notification, $0.recipient) = ((try? id.text(0)) ?? "", "ann")
      ($0.version, $0.kind, $0.locale) = (((try? id.int8(1)) ?? 0) + 1000, "F00", "en")
    }
    try world.apply(.alarmChanged(phantom))
    for _ in 0..<70 {
      #expect(try await world.push().isEmpty)
      world.pass(seconds: 1)
    }
    #expect(try world.dueCount() == 0)
  }

  @Test("what may have arrived is not repeated in quiet hours, nor once its kind is silenced")
  func repeated() async throws {
    let world = try PushWorld(at: "2026-11-23T21:59:50Z")
    try world.register()
    try world.apply(quiet("22:00", "07:00"))
    try world.like("bo", "p1")
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .unanswered(reason: "reset"), at: world.now))
    world.pass(seconds: 31)
    #expect(try await world.push().map(\.message.purpose) == [.badge], "it is in doubt")
    #expect(try world.claims() == ["phone alert waiting", "phone badge accepted"])
    world.pass(seconds: 1)
    // Quiet hours that are switched off hold nothing.
    try world.apply(preferences { _ in })
    let early = try #require(try await world.turn().first)
    #expect(early.message.purpose == .alert)
    world.outbox.note(Answered(early, .unanswered(reason: "reset"), at: world.now))
    try world.apply(quiet("22:00", "07:00"))
    world.pass(seconds: 31)
    #expect(try await world.push().map(\.message.purpose) == [.badge])
    try world.set("2026-11-24T07:02:00Z")
    let again = try #require(try await world.turn().first)
    #expect(again.message.purpose == .alert)
    world.outbox.note(Answered(again, .unanswered(reason: "reset"), at: world.now))
    try world.apply(preferences { $0.silentKinds = ["like"] })
    world.pass(seconds: 31)
    #expect(try await world.push().map(\.message.purpose) == [.badge])
    #expect(try world.claims() == ["phone alert refused", "phone badge accepted"])
    world.pass(seconds: 1)
    try world.apply(.alarmReadAll(.with { $0.user = "ann" }))
    #expect(try await world.push().map(\.message.purpose) == [.removal])
  }

  @Test("an alert that may have arrived before its kind was silenced does not leave its badge")
  func silencedMeanwhile() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .unanswered(reason: "reset"), at: world.now))
    try world.apply(preferences { $0.silentKinds = ["like"] })
    world.pass(seconds: 31)
    let told = try await world.push()
    #expect(told.map(\.message.purpose) == [.badge] && told.first?.message.badge == 1)
    #expect(try world.claims() == ["phone alert refused", "phone badge accepted"])
    world.pass(seconds: 1)
    let seen = Payload.alarmSeen(.with { $0.user = "ann" })
    try world.apply(seen)
    let badges = try await world.push()
    #expect(badges.map(\.message.purpose) == [.badge] && badges.first?.message.badge == 0)
    world.pass(seconds: 60)
    try world.apply(seen)
    #expect(try await world.push().isEmpty)
    #expect(try world.dueCount() == 0)
  }
}
