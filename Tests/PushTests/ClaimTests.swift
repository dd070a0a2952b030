import Events
import Postgres
import Providers
import TestSupport
import Testing

@testable import Pushes

@Suite("Claims")
struct ClaimTests {
  @Test("a like is claimed for each device of the post's owner, and for nobody else")
  func like() async throws {
    let world = try PushWorld()
    try world.register("phone")
    try world.register("tablet", token: "aaaaaaaaaaaaaaaa")
    try world.register("other", of: "bo", token: "bbbbbbbbbbbbbbbb")
    try world.apply(.profileChanged(.with { ($0.user, $0.nickname) = ("bo", "Bo") }))
    try world.like("bo", "p1")
    let claims = try await world.turn()
    #expect(claims.map(\.device.installation).sorted() == ["phone", "tablet"])
    let message = try #require(claims.first?.message)
    #expect(message.body.contains("Bo") && message.badge == 1 && message.kind == "F00")
    #expect(message.purpose == .alert && message.thread == "like")
    #expect(try world.claims() == ["phone alert claimed", "tablet alert claimed"])
    #expect(try world.dueCount() == 0)
    for claim in claims { world.outbox.note(Answered(claim, .answer(.accepted), at: world.now)) }
    #expect(try await world.turn().isEmpty)
    #expect(try world.claims() == ["phone alert accepted", "tablet alert accepted"])
    #expect(try world.admin.query("SELECT FROM push_claims WHERE content IS NOT NULL").isEmpty)
  }

  @Test(
    "an alarm that is rendered before its notification is committed rings after that",
    arguments: [false, true])
  func ahead(isRegisteredLate: Bool) async throws {
    let world = try PushWorld()
    let registration = world.registration()
    if !isRegisteredLate { try world.apply([registration]) }
    world.pass(seconds: 1)
    try world.like("bo", "p1")
    // notification-worker publishes first, and its commit takes long.
    try world.admin.script(
      """
      CREATE TABLE uncommitted AS SELECT * FROM notifications;
      DELETE FROM notifications
      """)
    if isRegisteredLate { try world.apply([registration]) }
    #expect(try await world.turn().isEmpty)
    #expect(try world.dueCount() == 1)
    try world.admin.script("INSERT INTO notifications SELECT * FROM uncommitted")
    world.pass(seconds: 1)
    #expect(try await world.turn().map(\.message.purpose) == [.alert])
    #expect(try world.dueCount() == 0)
  }

  @Test("the same alarm published again does not ring again; a later like of it does")
  func once() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    try world.apply(.profileChanged(.with { ($0.user, $0.nickname) = ("bo", "Bo") }))
    #expect(try await world.push().isEmpty)
    world.pass(seconds: 1)
    try world.like("cy", "p1")
    let claims = try await world.push()
    #expect(claims.count == 1 && claims.first?.message.body.contains("Bo") == true)
  }

  @Test("a claim without an answer is sent again with the same bytes and the same number")
  func recovery() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let first = try #require(try await world.turn().first)
    #expect(try await world.turn().isEmpty)
    world.outbox.note(Answered(first, .unanswered(reason: "reset"), at: world.now))
    #expect(try await world.turn().isEmpty, "it is not due yet")
    world.pass(seconds: 31)
    let again = try #require(try await world.turn().first)
    #expect(again.number == first.number && again.message == first.message)
    #expect(again.claimedAt == first.claimedAt && again.attempt == 2)
    world.outbox.note(Answered(again, .answer(.accepted), at: world.now))
    #expect(try await world.turn().isEmpty)
    #expect(try world.claims() == ["phone alert accepted"])
  }

  @Test(
    "a device rings from its registration on, also if the clock of the event's producer is ahead")
  func clockAhead() async throws {
    let world = try PushWorld()
    world.pass(seconds: 600)
    let registered = world.registration()
    world.pass(seconds: -600)
    try world.apply([registered])
    world.pass(seconds: 1)
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
  }

  @Test(
    "after the clock was set back, neither a burst nor a claim of the time before is waited for")
  func clockSetBack() async throws {
    let world = try PushWorld()
    try world.register()
    world.pass(seconds: 3600)
    for number in 0..<2 {
      try world.like("bo", "p\(number)")
      #expect(try await world.push().count == 1)
    }
    try world.like("bo", "p2")
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .unanswered(reason: "reset"), at: world.now))
    world.pass(seconds: -3590)
    try world.like("bo", "p3")
    let repeated = try #require(try await world.turn().first)
    #expect(repeated.number == claim.number && repeated.message == claim.message)
    #expect(try await world.turn().isEmpty, "it is repeated once")
    world.outbox.note(Answered(repeated, .answer(.accepted), at: world.now))
    #expect(try await world.push().map(\.message.deepLink) == ["magpie://posts/p3"])
    #expect(try world.dueCount() == 0)
  }

  @Test("what was read before it is sent again becomes a removal")
  func readMeanwhile() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let first = try #require(try await world.turn().first)
    world.outbox.note(Answered(first, .unanswered(reason: "reset"), at: world.now))
    try world.apply(.alarmReadAll(.with { $0.user = "ann" }))
    world.pass(seconds: 31)
    let claims = try await world.push()
    #expect(claims.map(\.message.purpose) == [.removal])
    #expect(claims.first?.message.notification == first.message.notification)
    #expect(claims.first?.message.badge == 0)
  }

  @Test("an alarm that is read on one device is taken from the other, with the badge")
  func readElsewhere() async throws {
    let world = try PushWorld()
    try world.register("phone")
    try world.register("tablet", token: "aaaaaaaaaaaaaaaa")
    try world.like("bo", "p1")
    world.pass(seconds: 1)
    try world.like("bo", "p2")
    let alerts = try await world.push()
    #expect(alerts.count == 4)
    let id = try #require(alerts.first?.message.notification.uuidString.lowercased())
    world.pass(seconds: 1)
    try world.apply(.alarmRead(.with { ($0.user, $0.notification) = ("ann", id) }))
    let removals = try await world.push()
    #expect(removals.map(\.message.purpose) == [.removal, .removal])
    #expect(removals.allSatisfy { $0.message.badge == 1 })
    world.pass(seconds: 1)
    try world.apply(.alarmSeen(.with { $0.user = "ann" }))
    let badges = try await world.push()
    #expect(badges.map(\.message.purpose) == [.badge, .badge])
    #expect(badges.allSatisfy { $0.message.badge == 0 })
    #expect(try world.dueCount() == 0)
  }

  @Test("a removed device, and one whose token has moved, get nothing")
  func removed() async throws {
    let world = try PushWorld()
    try world.register("phone")
    world.pass(seconds: 1)
    try world.register("phone", of: "bo")
    try world.like("cy", "p1")
    #expect(try await world.push().isEmpty, "the token is bo's")
    try world.like("cy", "p2", of: "bo")
    #expect(try await world.push().count == 1)
    world.pass(seconds: 1)
    try world.apply(.deviceRemoved(.with { ($0.user, $0.installation) = ("bo", "phone") }))
    world.pass(seconds: 1)
    try world.like("cy", "p3", of: "bo")
    #expect(try await world.push().isEmpty)
  }

  @Test("a token that is gone is not used again, until it is registered later")
  func gone() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    world.pass(seconds: 1)
    #expect(try await world.push(.tokenGone(since: world.now)).count == 1)
    world.pass(seconds: 1)
    try world.like("bo", "p2")
    #expect(try await world.push().isEmpty)
    world.pass(seconds: 1)
    try world.register()
    try world.like("bo", "p3")
    let links = try await world.push().map(\.message.deepLink)
    #expect(
      Set(links) == ["magpie://posts/p1", "magpie://posts/p3"],
      "p1 found the token gone; nobody was to be rung for p2")
    world.pass(seconds: 1)
    try world.apply(.profileChanged(.with { ($0.user, $0.nickname) = ("bo", "Bo") }))
    #expect(try await world.push().isEmpty, "a new name does not ring")
  }

  @Test("an alarm rings on no device that was registered later, even if it is published again")
  func later() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    world.pass(seconds: 1)
    try world.register("tablet", token: "fedcba9876543210")
    try world.apply(.profileChanged(.with { ($0.user, $0.nickname) = ("bo", "Bo") }))
    #expect(try await world.push().map(\.message.purpose) == [.badge], "the tablet's first")
    world.pass(seconds: 1)
    try world.register("tablet", token: "fedcba9876543210")
    try world.like("cy", "p1")
    #expect(try await world.push().count == 2)
  }

  @Test("what a provider did not accept waits, and is looked at again")
  func retry() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .answer(.retry(after: .seconds(60))), at: world.now))
    #expect(try await world.turn().isEmpty)
    #expect(try world.claims() == ["phone alert waiting"])
    world.pass(seconds: 100)
    let again = try #require(try await world.turn().first)
    #expect(again.number != claim.number && again.attempt == 2)
    world.outbox.note(Answered(again, .answer(.retry(after: .seconds(60))), at: world.now))
    #expect(try await world.turn().isEmpty)
    try world.apply(.alarmReadAll(.with { $0.user = "ann" }))
    world.pass(seconds: 300)
    #expect(try await world.turn().isEmpty, "it was read")
    #expect(try world.dueCount() == 0)
  }

  @Test("a turn does not wait for due rows that somebody else is changing")
  func changedMeanwhile() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    try world.like("bo", "p2")
    let change = "BEGIN; UPDATE push_due SET revision = revision + 1"
    try world.admin.script(change)
    // One alarm is claimed, the other waits for the device.
    let first = try #require(try await world.turn().first)
    try world.admin.script("COMMIT")
    #expect(try world.dueCount() == 2)
    #expect(try await world.turn().isEmpty)
    #expect(try world.dueCount() == 1)
    try world.admin.script(change)
    world.outbox.note(Answered(first, .answer(.accepted), at: world.now))
    #expect(try await world.turn().isEmpty)
    try world.admin.script("COMMIT")
    world.pass(seconds: 31)
    #expect(try await world.push().map(\.message.purpose) == [.alert])
    #expect(try world.dueCount() == 0)
  }

  @Test("nothing is sent after its time to live")
  func expiry() async throws {
    let world = try PushWorld(bounds: PushBounds(timeToLiveSeconds: 60))
    try world.register()
    try world.like("bo", "p1")
    world.pass(seconds: 61)
    #expect(try await world.push().map(\.message.purpose) == [.badge])
    try world.like("bo", "p2")
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .unanswered(reason: "reset"), at: world.now))
    world.pass(seconds: 61)
    let badges = try await world.push()
    #expect(badges.map(\.message.purpose) == [.badge] && badges.first?.message.badge == 2)
    #expect(try world.claims().sorted() == ["phone alert expired", "phone badge accepted"])
    // Nor does an alert tell its badge that would be sent again after its time.
    world.pass(seconds: 1)
    try world.like("bo", "p3")
    let alert = try #require(try await world.turn().first)
    world.outbox.note(Answered(alert, .answer(.retry(after: .seconds(90))), at: world.now))
    #expect(try await world.turn().map(\.message.badge) == [3])
    #expect(
      try world.claims().sorted() == [
        "phone alert expired", "phone alert expired", "phone badge claimed",
      ])
  }

  @Test("a token is stored sealed, and nobody but push-worker reads it")
  func sealed() throws {
    let world = try PushWorld()
    try world.register(token: "c0ffeec0ffeec0ffee")
    let row = try world.admin.query(
      "SELECT d::text, encode(sealed_token, 'escape') FROM push_devices d"
    ).only
    #expect(try !row.text(0).contains("c0ffee") && !row.text(1).contains("c0ffee"))
    for role in ["magpie_reader", "magpie_alarm", "magpie_notification", "magpie_fanout"] {
      #expect(throws: PostgresError.self) {
        try world.admin.transaction {
          _ = try world.admin.query("SET LOCAL ROLE \(role)")
          _ = try world.admin.query("SELECT sealed_token FROM push_devices")
        }
      }
    }
  }
}
