import AlarmText
import Devices
import Events
import Handling
import Postgres
import Providers
import Pushing
import Schedules
import Synchronization
import TestSupport
import Testing

@testable import Pushes

/// How much may be under way, and what becomes of it.
@Suite("Places")
struct PlacesTests {
  private let app = Outbox.Scope(provider: .apns, name: "com.example.app")

  private func admitted(_ scope: Outbox.Scope, _ places: Places, of count: Int) -> Int {
    (0..<count).count { _ in places.take(scope, now: noon) == .admitted }
  }

  @Test("what a transaction that fails has taken is given back")
  func givenBack() {
    let outbox = Outbox(capacity: 10, rate: 1_000_000)
    do {
      let places = Places(in: outbox, freed: 0)
      #expect(admitted(app, places, of: 9) == 5 && outbox.underWay == 5)
    }
    #expect(outbox.underWay == 0)
  }

  @Test(
    "one app or origin has half of the places, one provider three quarters, a webhook's server 20")
  func shares() {
    let outbox = Outbox(capacity: 100, rate: 1_000_000)
    let places = Places(in: outbox, freed: 0)
    let hook = Outbox.Scope(provider: .webhook, name: "https://a.example")
    #expect(admitted(hook, places, of: 100) == 20)
    #expect(admitted(app, places, of: 100) == 50)
    #expect(admitted(Outbox.Scope(provider: .apns, name: "other"), places, of: 100) == 25)
    #expect(places.take(Outbox.Scope(provider: .fcm, name: "a"), now: noon) == .admitted)
  }

  @Test("after an outage one request is tried, however many pieces ask")
  func halfOpen() async throws {
    let world = try PushWorld(capacity: 1000)
    for number in 0..<20 {
      try world.register(of: "u\(number)", token: "abcdef\(1_000_000 + number)")
      try world.like("bo", "p\(number)", of: "u\(number)")
    }
    for claim in try await world.turn() {
      let broken = ProviderAnswer.providerBroken(reason: "http-503", after: .seconds(1))
      world.outbox.note(Answered(claim, .answer(broken), at: world.now))
    }
    let (first, second) = (
      Places(in: world.outbox, freed: 0), Places(in: world.outbox, freed: 0)
    )
    #expect(first.take(app, now: world.now) != .admitted)
    world.pass(seconds: 2)
    #expect(first.take(app, now: world.now) == .admitted)
    #expect(first.take(app, now: world.now) != .admitted)
    #expect(second.take(app, now: world.now) != .admitted)
  }

  private func claim(to user: String, _ scope: Outbox.Scope, at time: EventTime) -> Claim {
    Claim(
      number: Claim.newNumber(),
      device: Device(user: user, installation: "phone", provider: scope.provider, app: "app"),
      partition: 0, scope: scope.name, fingerprint: [], sealedToken: [], message: message(),
      claimedAt: time, preparedAt: time, dueAt: later(7200), attempt: 1)
  }

  /// Sends a message to somebody, which ends at once.
  private func send(
    to user: String = "ann", _ scope: Outbox.Scope, in outbox: Outbox, at time: EventTime = noon,
    _ outcome: ClaimOutcome
  ) {
    let claim = claim(to: user, scope, at: time)
    let places = Places(in: outbox, freed: 0)
    #expect(places.take(scope, now: time) == .admitted)
    places.put([claim])
    let answered = Answered(claim, outcome, at: time)
    outbox.note(answered)
    outbox.remove([answered])
  }

  @Test(
    "many answers about one person's tokens do not stop the others; those of ten people do",
    arguments: [
      (.apns, .refused(reason: "BadDeviceToken")),
      (.fcm, .refused(reason: "INVALID_ARGUMENT")),
      (.webPush, .providerBroken(reason: WebPush.unauthorized, after: .zero)),
      (.webPush, .retry(reason: WebPush.tooMany, after: .zero)),
    ] as [(PushProvider, ProviderAnswer)])
  func refusals(provider: PushProvider, answer: ProviderAnswer) {
    let outbox = Outbox(capacity: 10, rate: 1_000_000)
    let scope = Outbox.Scope(provider: provider, name: "app")
    for _ in 0..<100 { send(scope, in: outbox, .answer(answer)) }
    for number in 1..<9 { send(to: "u\(number)", scope, in: outbox, .answer(answer)) }
    #expect(outbox.openUntil(scope) == nil)
    send(to: "u9", scope, in: outbox, .answer(answer))
    #expect(outbox.openUntil(scope) == later(1))
    // One stale token does not double the pause.
    send(scope, in: outbox, at: later(1), .answer(answer))
    #expect(outbox.openUntil(scope) == later(2))
    send(scope, in: outbox, at: later(2), .unanswered(reason: "reset"))
    #expect(outbox.openUntil(scope) == later(4))
    send(scope, in: outbox, at: later(4), .answer(.accepted))
    #expect(outbox.openUntil(scope) == nil && outbox.breakerCount == 0)
  }

  @Test("a push service that has too many messages for ten people gets none while it says so")
  func tooMany() {
    let outbox = Outbox(capacity: 10, rate: 1_000_000)
    let scope = Outbox.Scope(provider: .webPush, name: "app https://push.example")
    let response = ProviderResponse(status: 429, retryAfter: "60")
    for number in 0..<10 {
      #expect(outbox.openUntil(scope) == nil)
      let answer = WebPush.answer(response, now: noon)
      send(to: "u\(number)", scope, in: outbox, .answer(answer))
    }
    #expect(outbox.openUntil(scope) == later(60))
  }

  @Test(
    "other failures count, whoever the message was for",
    arguments: [
      (.apns, .unanswered(reason: "reset")),
      (.fcm, .answer(.providerBroken(reason: "http-401", after: .zero))),
      (.webPush, .answer(.providerBroken(reason: "http-503", after: .zero))),
      (.webhook, .answer(.retry(after: .seconds(5)))),
      (.webhook, .answer(.refused(reason: "http-503"))),
    ] as [(PushProvider, ClaimOutcome)])
  func failures(provider: PushProvider, outcome: ClaimOutcome) {
    let outbox = Outbox(capacity: 10, rate: 1_000_000)
    let scope = Outbox.Scope(provider: provider, name: "app")
    for _ in 0..<9 { send(scope, in: outbox, outcome) }
    #expect(outbox.openUntil(scope) == nil)
    send(scope, in: outbox, outcome)
    #expect(outbox.openUntil(scope) == later(1))
    send(scope, in: outbox, at: later(1), outcome)
    #expect(outbox.openUntil(scope) == later(3))
  }

  @Test("however many names apps have, few scopes are kept, and of breakers those that end last")
  func manyScopes() {
    let outbox = Outbox(capacity: 40_000, rate: 10)
    for _ in 0..<10 { send(app, in: outbox, .unanswered(reason: "reset")) }
    let other = Outbox.Scope(provider: .apns, name: "other")
    let places = Places(in: outbox, freed: 0)
    #expect(admitted(other, places, of: 20) == 10)
    for number in 0..<10_000 {
      let scope = Outbox.Scope(provider: .fcm, name: "app-\(number)")
      send(scope, in: outbox, .unanswered(reason: "reset"))
    }
    #expect(outbox.breakerCount == 10_001)
    #expect(admitted(other, places, of: 20) == 10, "its rate is counted anew")
    #expect(outbox.breakerCount == 5000)
    #expect(outbox.openUntil(app) == later(1))
    #expect(outbox.broken(now: noon) == [.apns: 1])
  }

  @Test("a turn after the clock was set back waits for nothing of the time before")
  func clockSetBack() {
    let outbox = Outbox(capacity: 10, rate: 1_000_000)
    _ = outbox.answers(of: [], limit: 1, now: later(3600))
    outbox.noteChanges([DeviceKey("ann", "phone")], now: later(3600))
    for _ in 0..<10 {
      send(app, in: outbox, at: later(3600), .unanswered(reason: "reset"))
    }
    _ = outbox.answers(of: [], limit: 1, now: noon)
    #expect(outbox.openUntil(app) == later(1))
    #expect(!outbox.isOutdated(claim(to: "ann", app, at: later(1))))
    send(app, in: outbox, at: later(1), .answer(.accepted))
    #expect(outbox.openUntil(app) == nil)
  }

  @Test("a claim whose device is removed before its turn comes is not sent")
  func outdated() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let claim = try #require(try await world.turn().first)
    #expect(!world.outbox.isOutdated(claim))
    world.pass(seconds: 1)
    try world.apply(.deviceRemoved(.with { ($0.user, $0.installation) = ("ann", "phone") }))
    #expect(world.outbox.isOutdated(claim))
    world.outbox.note(Answered(claim, .unsent, at: world.now))
    world.pass(seconds: 31)
    #expect(try await world.turn().isEmpty)
    #expect(try world.claims() == ["phone alert gone"])
  }

  @Test("a claim whose token another person registers before its turn comes is not sent")
  func moved() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let claim = try #require(try await world.turn().first)
    world.pass(seconds: 1)
    try world.register(of: "cy")
    #expect(world.outbox.isOutdated(claim))
  }

  @Test("a claim that another lane makes before its token's move is committed is not sent")
  func movedMeanwhile() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let registration = world.registration(of: "cy")
    let times = Mutex([world.now, EventTime(microseconds: world.now.microseconds + 2_000_000)])
    let work = try devicesWork(
      [registration], kinds: AlarmTextEngine.builtIn.registry, keys: TokenKeys(text: sampleKeys),
      zones: ZoneDirectory(), outbox: world.outbox,
      clock: { times.withLock { $0.removeFirst() } })
    world.pass(seconds: 1)
    let claim = try #require(try await world.turn().first)
    #expect(claim.device.user == "ann" && !world.outbox.isOutdated(claim))
    let outcome = try world.admin.transaction { try work.run(on: world.admin) }
    outcome.afterCommit?()
    #expect(world.outbox.isOutdated(claim))
  }

  @Test("a repetition goes to the token that was registered since, and closes the breaker")
  func registeredSince() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    for number in 0..<9 {
      try world.register(of: "u\(number)", token: "abcdef\(1_000_000 + number)")
      try world.like("bo", "q\(number)", of: "u\(number)")
    }
    let claims = try await world.turn()
    let claim = try #require(claims.first { $0.device.user == "ann" })
    for claim in claims {
      world.outbox.note(Answered(claim, .unanswered(reason: "reset"), at: world.now))
    }
    #expect(world.outbox.broken(now: world.now) == [.apns: 1])
    world.pass(seconds: 1)
    try world.register(token: "fedcba9876543210")
    var again = claim
    // One is tried at a time, whose turn comes by chance.
    while again.preparedAt == claim.preparedAt {
      world.pass(seconds: 31)
      for repeated in try await world.turn() {
        if repeated.device.user == "ann" {
          again = repeated
          continue
        }
        world.outbox.note(Answered(repeated, .unanswered(reason: "reset"), at: world.now))
      }
    }
    #expect(!world.outbox.isOutdated(again))
    #expect(again.claimedAt == claim.claimedAt && again.fingerprint != claim.fingerprint)
    world.outbox.note(Answered(again, .answer(.accepted), at: world.now))
    #expect(world.outbox.openUntil(app) == nil)
  }

  @Test("a lane records the answers of its own partitions; others' are forgotten when they are due")
  func answers() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .answer(.accepted), at: world.now))
    #expect(world.outbox.answers(of: [1, 2], limit: 10, now: world.now).isEmpty)
    #expect(world.outbox.answers(of: [0], limit: 10, now: world.now).count == 1)
    #expect(world.outbox.answers(of: [1], limit: 10, now: claim.dueAt).isEmpty)
    #expect(!world.outbox.hasAnswers)
    world.outbox.finish()
    #expect(Places(in: world.outbox, freed: 0).take(app, now: world.now) == .full)
  }

  @Test("what is new for one app does not wait behind a pile of another that is broken")
  func pile() async throws {
    let world = try PushWorld(capacity: 2000)
    for number in 0..<40 {
      try world.register(of: "u\(number)", token: "abcdef\(1_000_000 + number)")
    }
    _ = try world.admin.query(
      """
      INSERT INTO push_due (user_id, notification_id, partition, due_at, since)
      SELECT 'u' || n % 40, gen_random_uuid(), 0, $1, $1 FROM generate_series(1, 5000) n
      """, [.timestamptz(world.now.microseconds - 1_000_000)])
    try world.register("other", token: "fcm-token", provider: .fcm)
    try world.like("bo", "p1")
    let claims = try await world.piece()
    #expect(claims.map(\.device.user) == ["ann"], "in the first piece")
    #expect(try world.dueCount() > 4000)
  }

  @Test(
    "what waits for a slow server leaves the queue's head if it fills it", arguments: [400, 600])
  func crowd(count: Int) throws {
    let world = try PushWorld(capacity: 2000)
    let rows = try world.admin.query(
      """
      SELECT 'u' || n AS user_id, gen_random_uuid() AS notification_id, 0 AS partition, 1::bigint AS version,
        $2::timestamptz AS since, 0::bigint AS revision, 'hook' AS active, 'webhook' AS provider, 'app' AS app,
        'https://hooks.example' AS scope, ''::bytea AS fingerprint, ''::bytea AS sealed_token
      FROM generate_series(1, $1) n
      """, [.int8(Int64(count)), .timestamptz(noon.microseconds)])
    let due = try rows.map { row in
      DueAlarm(
        row: try DueRow(row),
        alarm: AlarmNow(
          eventVersion: 1, since: noon, version: 1, isShown: true, isUnread: true, isWanted: true,
          raisedAt: noon),
        message: message(), locale: "en",
        targets: [
          DueAlarm.Target(
            active: try #require(try ActiveDevice(row)),
            now: DeviceNow(installation: "hook", expires: later(3600)), attempts: 0)
        ])
    }
    let places = Places(in: world.outbox, freed: 0)
    var piece = Piece(
      places,
      Surroundings(
        engine: .builtIn, zones: ZoneDirectory(), outbox: world.outbox, bounds: PushBounds(),
        now: later(20)), rows: 500)
    piece.look(at: due)
    #expect(piece.toSend.count == 20)
    #expect(piece.again.count == (count < 500 ? 0 : count - 20))
    #expect(piece.again.allSatisfy { $0.at == later(25) })
  }
}
