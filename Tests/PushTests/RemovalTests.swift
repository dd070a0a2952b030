import Events
import Postgres
import Providers
import TestSupport
import Testing

@testable import Pushes

/// What a device may show is taken away once it is read, whatever became of its requests.
@Suite("Removals")
struct RemovalTests {
  private let readAll = Payload.alarmReadAll(.with { $0.user = "ann" })

  @Test("a message that is read with its conversation is taken away")
  func conversation() async throws {
    let world = try PushWorld()
    try world.register()
    try world.apply(
      .messageSent(
        .with { ($0.message, $0.sender, $0.receiver, $0.text) = ("m1", "bo", "ann", "hi") }))
    #expect(try await world.push().map(\.message.purpose) == [.alert])
    world.pass(seconds: 1)
    try world.apply(.conversationRead(.with { ($0.user, $0.peer) = ("ann", "bo") }))
    let removals = try await world.push()
    #expect(removals.map(\.message.purpose) == [.removal] && removals.first?.message.badge == 0)
  }

  @Test(
    "what is shown is taken away, also if the next request for it was not accepted",
    arguments: [
      ProviderAnswer.refused(reason: "BadMessageId"),
      .providerBroken(reason: "http-503", after: .seconds(600)),
    ])
  func raisedAgain(answer: ProviderAnswer) async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    world.pass(seconds: 1)
    try world.like("cy", "p1")
    let again = try #require(try await world.turn().first)
    world.outbox.note(Answered(again, .answer(answer), at: world.now))
    #expect(try await world.turn().isEmpty)
    try world.apply(readAll)
    world.pass(seconds: 3600)
    let removals = try await world.push()
    #expect(removals.map(\.message.purpose) == [.removal] && removals.first?.message.badge == 0)
    world.pass(seconds: 3600)
    try world.apply(readAll)
    #expect(try await world.push().isEmpty)
  }

  @Test("what may have arrived before it expired is taken away")
  func expired() async throws {
    let world = try PushWorld(bounds: PushBounds(timeToLiveSeconds: 60))
    try world.register()
    try world.like("bo", "p1")
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .unanswered(reason: "reset"), at: world.now))
    world.pass(seconds: 61)
    #expect(try await world.push().map(\.message.purpose) == [.badge])
    world.pass(seconds: 1)
    try world.apply(readAll)
    #expect(try await world.push().map(\.message.purpose) == [.removal])
  }

  @Test("what is read before the first push of the person is made is taken away")
  func readBefore() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let read = world.event(readAll)
    try world.hear(read)
    let alert = try #require(try await world.turn().first)
    world.outbox.note(Answered(alert, .answer(.accepted), at: world.now))
    try world.apply([read], isHeard: false)
    world.pass(seconds: 60)
    #expect(try await world.push().map(\.message.purpose) == [.removal])
  }

  @Test("what is read before its alarm comes, and applied later, is taken away")
  func readBeforeTheAlarm() async throws {
    let world = try PushWorld()
    try world.register()
    let like = world.event(.like("bo", "p1", of: "ann"))
    let read = world.event(readAll)
    try world.hear(read)
    try world.apply([like])
    let alert = try #require(try await world.turn().first)
    world.outbox.note(Answered(alert, .answer(.accepted), at: world.now))
    try world.apply([read], isHeard: false)
    world.pass(seconds: 60)
    #expect(try await world.push().map(\.message.purpose) == [.removal])
  }

  @Test("a part of a message whose newest alarm was read is pushed by itself")
  func part() async throws {
    let world = try PushWorld()
    try world.register()
    for number in 0..<5 {
      try world.like("bo", "p\(number)")
      _ = try await world.push()
      world.pass(seconds: 1)
    }
    world.pass(seconds: 61)
    let head = try #require(try await world.turn().first { $0.message.purpose == .alert })
    world.outbox.note(Answered(head, .unanswered(reason: "reset"), at: world.now))
    let id = head.message.notification.uuidString.lowercased()
    try world.apply(.alarmRead(.with { ($0.user, $0.notification) = ("ann", id) }))
    // The part is looked at in the same piece, for another reason.
    try world.apply(.profileChanged(.with { ($0.user, $0.nickname) = ("bo", "Bo") }))
    world.pass(seconds: 31)
    var pushed = try await world.push()
    world.pass(seconds: 120)
    pushed += try await world.push()
    #expect(pushed.contains { $0.message.purpose == .removal })
    #expect(pushed.contains { $0.message.purpose == .alert && $0.message.body.contains("Bo") })
    #expect(try world.admin.query("SELECT FROM push_claims WHERE state <> 'accepted'").isEmpty)
    #expect(try world.dueCount() == 0)
  }

  @Test(
    "a webhook that gave no answer, or whose gateway gave a 504, is told when the alarm is read",
    arguments: [
      Webhook.answerToFailure(attempt: 1),
      Webhook.answer(ProviderResponse(status: 504), attempt: 1, now: noon),
    ])
  func readWithoutAnAnswer(answer: ProviderAnswer) async throws {
    let world = try PushWorld()
    let secret = "whsec_" + String(repeating: "A", count: 32)
    try world.register(
      token: #"{"url":"https://shop.example/hook","secrets":["\#(secret)"]}"#, provider: .webhook)
    try world.like("bo", "p1")
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .answer(answer), at: world.now))
    #expect(try await world.turn().isEmpty)
    try world.apply(.alarmReadAll(.with { $0.user = "ann" }))
    world.pass(seconds: 10)
    #expect(try await world.push().map(\.message.purpose) == [.removal])
    #expect(try world.dueCount() == 0)
  }

  @Test("a withdrawn alarm that is held is taken away at once")
  func withdrawnInQuietHours() async throws {
    let world = try PushWorld(at: "2026-11-23T20:00:00Z")
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    try world.set("2026-11-23T22:30:00Z")
    try world.apply(
      .pushPreferences(
        .with {
          ($0.user, $0.quietFrom, $0.quietUntil, $0.zone) = ("ann", "22:00", "07:00", "UTC")
        }))
    try world.like("cy", "p1")
    #expect(try await world.push().filter { $0.message.purpose == .alert }.isEmpty)
    world.pass(seconds: 1)
    try world.apply(.unlike("bo", "p1", of: "ann"))
    try world.apply(.unlike("cy", "p1", of: "ann"))
    let claims = try await world.push()
    #expect(claims.map(\.message.purpose) == [.removal])
  }

  @Test("what is read together is taken away by one message, which is repeated as it was")
  func together() async throws {
    let world = try PushWorld(bounds: PushBounds(alertsAMinute: 100))
    try world.register()
    for number in 0..<60 {
      try world.like("bo", "p\(number)")
      #expect(try await world.push().count == 1)
      world.pass(seconds: 1)
    }
    try world.apply(readAll)
    let removal = try #require(try await world.turn().first)
    #expect(removal.message.purpose == .removal && removal.message.alsoRemoved.count == 49)
    world.outbox.note(Answered(removal, .unanswered(reason: "reset"), at: world.now))
    world.pass(seconds: 31)
    let again = try #require(try await world.turn().first)
    #expect(again.message == removal.message && again.number == removal.number)
    world.outbox.note(Answered(again, .answer(.accepted), at: world.now))
    let rest = try await world.push()
    #expect(rest.map(\.message.purpose) == [.removal] && rest.first?.message.badge == 0)
    #expect(rest.first?.message.alsoRemoved.count == 9)
    let all = [again, rest[0]].flatMap { [$0.message.notification] + $0.message.alsoRemoved }
    #expect(Set(all).count == 60)
    world.pass(seconds: 60)
    #expect(try await world.push().isEmpty)
    #expect(try world.dueCount() == 0)
    #expect(try world.claims().allSatisfy { $0 == "phone removal accepted" })
  }

  @Test(
    "a webhook that never answers is told a badge ten times, and not again until something changes")
  func deadWebhook() async throws {
    let world = try PushWorld(bounds: PushBounds(timeToLiveSeconds: 864_000))
    try world.register("hook", token: webhook, provider: .webhook)
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    world.pass(seconds: 1)
    try world.apply(.alarmSeen(.with { $0.user = "ann" }))
    var told = 0
    for _ in 0..<400 {
      for claim in try await world.turn() {
        told += 1
        #expect(claim.message.purpose == .badge && claim.attempt == told)
        let failed = Webhook.answerToFailure(attempt: claim.attempt)
        world.outbox.note(Answered(claim, .answer(failed), at: world.now))
      }
      world.pass(seconds: 3600)
    }
    #expect(told == 10)
    #expect(try world.dueCount() == 0)
  }

  @Test("a removal that cannot be sent for hours does not have the person evaluated all the time")
  func waitingRemoval() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    world.pass(seconds: 1)
    try world.apply(readAll)
    #expect(try await world.push(.retry(after: .seconds(7200))).count == 1)
    var turns = 0
    for _ in 0..<200 {
      world.pass(seconds: 20)
      let before = try revision(world)
      #expect(try await world.turn().isEmpty)
      if try revision(world) != before { turns += 1 }
    }
    #expect(turns < 20, "in more than an hour")
    world.pass(seconds: 7200)
    #expect(try await world.push().map(\.message.purpose) == [.removal])
    #expect(try world.dueCount() == 0)
  }

  @Test(
    "a removal that cannot be sent is tried for its time to live, then the badge, and not for ever",
    arguments: [false, true])
  func givenUp(isBadge: Bool) async throws {
    let world = try PushWorld(bounds: PushBounds(timeToLiveSeconds: 3600))
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().count == 1)
    world.pass(seconds: 1)
    let seen = Payload.alarmSeen(.with { $0.user = "ann" })
    try world.apply(isBadge ? seen : readAll)
    var attempts = 0
    for _ in 0..<20 {
      for claim in try await world.turn() {
        attempts += 1
        #expect(claim.message.purpose == (isBadge || attempts > 5 ? .badge : .removal))
        let answer = ProviderAnswer.retry(after: .seconds(600))
        world.outbox.note(Answered(claim, .answer(answer), at: world.now))
      }
      world.pass(seconds: 800)
    }
    #expect(attempts == (isBadge ? 5 : 10))
    #expect(
      try world.claims()
        == ["phone \(isBadge ? "alert accepted" : "removal expired")", "phone badge expired"])
    try world.apply(seen)
    #expect(try await world.turn().isEmpty)
    #expect(try world.dueCount() == 0)
  }

  private func revision(_ world: PushWorld) throws -> Int {
    try world.admin.query("SELECT sum(revision)::bigint FROM push_due").only.int(0)
  }

  private let webhook = """
    {"url":"https://hooks.example/ann","secrets":["whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="]}
    """
}
