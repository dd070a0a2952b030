import Events
import Postgres
import Providers
import TestSupport
import Testing

@testable import Pushes

/// Each device gets the badge, whatever became of the messages that carried it, and whatever the person's other
/// devices get.
@Suite("Badges")
struct BadgeTests {
  private let readAll = Payload.alarmReadAll(.with { $0.user = "ann" })
  private let noLikes = Payload.pushPreferences(
    .with { ($0.user, $0.silentKinds) = ("ann", ["like"]) })

  private func badges(_ claims: [Claim]) -> [String] {
    claims.map {
      "\($0.device.installation) \($0.message.purpose) \($0.message.badge ?? -1)"
    }.sorted()
  }

  private func expectAnswers(
    _ answers: [String: ProviderAnswer], to claims: [Claim], in world: PushWorld
  ) {
    #expect(claims.count == answers.count)
    for claim in claims {
      let answer = answers[claim.device.installation] ?? .accepted
      world.outbox.note(Answered(claim, .answer(answer), at: world.now))
    }
  }

  @Test(
    "a badge that was not accepted is tried again, also if it is that of before", arguments: [0, 1])
  func notAccepted(badge: Int) async throws {
    let world = try PushWorld()
    try world.register()
    try world.apply(noLikes)
    try world.like("bo", "p1")
    #expect(badges(try await world.push()) == ["phone badge 1"])
    if badge == 0 { try world.apply(readAll) } else { try world.like("bo", "p2") }
    let claims = try await world.turn()
    expectAnswers(
      ["phone": .providerBroken(reason: "http-503", after: .seconds(5))], to: claims, in: world)
    #expect(try await world.turn().isEmpty)
    if badge == 1 { try world.apply(.unlike("bo", "p2", of: "ann")) }
    world.pass(seconds: 100)
    #expect(badges(try await world.push()) == ["phone badge \(badge)"])
    #expect(try world.dueCount() == 0)
  }

  @Test("a device gets the badge although what another one shows cannot be removed")
  func otherDeviceIsBroken() async throws {
    let world = try PushWorld()
    try world.register()
    try world.register("tablet", token: "abcdef0123456789")
    try world.like("bo", "p1")
    #expect(try await world.push().count == 2)
    world.pass(seconds: 1)
    try world.apply(readAll)
    let later = ProviderAnswer.retry(after: .seconds(36_000))
    expectAnswers(["phone": .accepted, "tablet": later], to: try await world.turn(), in: world)
    #expect(try await world.turn().isEmpty)
    world.pass(seconds: 1)
    try world.like("bo", "p2")
    expectAnswers(["phone": .accepted, "tablet": later], to: try await world.turn(), in: world)
    #expect(try await world.turn().isEmpty)
    world.pass(seconds: 1)
    try world.apply(.alarmSeen(.with { $0.user = "ann" }))
    let claims = try await world.turn()
    #expect(badges(claims).contains("phone badge 0"))
    for claim in claims { world.outbox.note(Answered(claim, .answer(.accepted), at: world.now)) }
    world.pass(seconds: 50_000)
    let last = badges(try await world.push())
    #expect(last == ["tablet alert 0", "tablet removal 0"])
    #expect(try world.dueCount() == 0)
  }

  @Test(
    "a device gets the badge although only another one shows the alarm that changed it",
    arguments: [false, true])
  func otherDeviceShowsIt(isWaiting: Bool) async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    world.pass(seconds: 1)
    try world.register("tablet", token: "abcdef0123456789")
    world.pass(seconds: 1)
    try world.like("bo", "p2")
    #expect(try await world.push().count == 2)
    world.pass(seconds: 1)
    try world.apply(.unlike("bo", "p1", of: "ann"))
    let claims = try await world.turn()
    #expect(badges(claims).contains("phone removal 1"))
    let answer = isWaiting ? ProviderAnswer.retry(after: .seconds(3600)) : .accepted
    for claim in claims {
      let isPhone = claim.device.installation == "phone"
      world.outbox.note(Answered(claim, .answer(isPhone ? answer : .accepted), at: world.now))
    }
    world.pass(seconds: 60)
    #expect(badges(claims + (try await world.push())).contains("tablet badge 1"))
    world.pass(seconds: 10_000)
    _ = try await world.push()
    #expect(try world.dueCount() == 0)
  }

  @Test("what devices are told one after the other tells them the badge")
  func oneAfterTheOther() async throws {
    let world = try PushWorld()
    try world.register()
    try world.register("tablet", token: "abcdef0123456789")
    try world.like("bo", "p1")
    let first = try await world.turn().sorted { $0.device.installation < $1.device.installation }
    #expect(badges(first) == ["phone alert 1", "tablet alert 1"])
    try world.like("bo", "p2")
    var next: [Claim] = []
    for claim in first {
      world.outbox.note(Answered(claim, .answer(.accepted), at: world.now))
      next += try await world.turn()
    }
    #expect(badges(next) == ["phone alert 2", "tablet alert 2"])
    for claim in next { world.outbox.note(Answered(claim, .answer(.accepted), at: world.now)) }
    #expect(try await world.turn().isEmpty)
    #expect(try world.dueCount() == 0)
  }

  @Test("while a device waits for a place, the person is not evaluated all the time")
  func noPlace() async throws {
    let world = try PushWorld(capacity: 4)
    for (number, person) in ["cem", "dao"].enumerated() {
      try world.register(of: person, token: "abcdef012345678\(number)")
      try world.like("bo", "\(person)'s", of: person)
    }
    let others = try await world.turn()
    #expect(others.count == 2)
    try world.register()
    try world.register("tablet", token: "a token", provider: .fcm)
    try world.like("bo", "p1")
    let claims = try await world.turn()
    #expect(badges(claims) == ["tablet alert 1"])
    world.outbox.note(Answered(claims[0], .answer(.accepted), at: world.now))
    for _ in 0..<3 {
      world.pass(seconds: 1)
      #expect(try await world.turn().isEmpty)
    }
    for claim in others { world.outbox.note(Answered(claim, .answer(.accepted), at: world.now)) }
    world.pass(seconds: 1)
    #expect(badges(try await world.push()) == ["phone alert 1"])
  }

  @Test("a provider that says that a registered token is gone is not asked without end")
  func wronglyGone() async throws {
    let world = try PushWorld()
    let before = world.now
    world.pass(seconds: 60)
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    world.pass(seconds: 1)
    try world.apply(readAll)
    let claims = try await world.push(.tokenGone(since: before))
    #expect(badges(claims) == ["phone badge 0"] + Array(repeating: "phone removal 0", count: 10))
    #expect(try world.dueCount() == 0)
  }

  @Test(
    "a device that is active again loses what was read meanwhile, and gets the badge",
    arguments: [1, 200_000])
  func activeAgain(seconds: Int64) async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    world.pass(seconds: 1)
    try world.apply(readAll)
    world.pass(seconds: 1)
    expectAnswers(
      ["phone": .tokenGone(since: world.now)], to: try await world.turn(), in: world)
    #expect(try await world.turn().isEmpty)
    world.pass(seconds: seconds)
    try world.register(token: "abcdef0123456789")
    #expect(badges(try await world.push()) == ["phone removal 0"])
    #expect(try world.dueCount() == 0)
  }

  @Test("an alarm that waited when its device became inactive is pushed when it is active again")
  func waitedWhileInactive() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    expectAnswers(["phone": .retry(after: .seconds(60))], to: try await world.turn(), in: world)
    #expect(try await world.turn().isEmpty)
    try world.like("bo", "p2")
    expectAnswers(
      ["phone": .tokenGone(since: world.now)], to: try await world.turn(), in: world)
    world.pass(seconds: 100)
    #expect(try await world.turn().isEmpty)
    try world.register()
    #expect(
      Set(try await world.push().map(\.message.deepLink))
        == ["magpie://posts/p1", "magpie://posts/p2"])
    #expect(try world.dueCount() == 0)
  }

  @Test("after the clock was set back, a badge of the time before is not taken for the last one")
  func clockSetBack() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(badges(try await world.push()) == ["phone alert 1"])
    try world.apply(noLikes)
    world.pass(seconds: -3600)
    try world.like("bo", "p2")
    #expect(badges(try await world.push()) == ["phone badge 2"])
    world.pass(seconds: 10_000)
    try world.apply(.unlike("bo", "p2", of: "ann"))
    #expect(badges(try await world.push()) == ["phone badge 1"])
    #expect(try world.dueCount() == 0)
  }
}
