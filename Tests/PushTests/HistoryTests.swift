import Devices
import Events
import Foundation
import Postgres
import Providers
import TestSupport
import Testing

@testable import Pushes

/// Generated histories of likes, messages, readings, blocks, devices, lost answers and outages, of workers that are
/// ahead of each other, against what devices show.
@Suite("Histories")
struct HistoryTests {
  @Test("after any history each device shows what is unread, once, and the badge", arguments: 0..<2)
  func history(number: Int) async throws {
    var generator = SeededGenerator()
    let seed = generator.seed
    let phones = try Phones()
    for _ in 0..<150 { try await phones.step(using: &generator) }
    try await phones.heal(using: &generator)
    let problems = try phones.problems()
    #expect(problems.isEmpty, "seed \(seed): \(problems)")
  }
}

/// A world with the devices that its claims are sent to. For use by one task.
private final class Phones {
  private struct Screen {
    var shown: Set<UUID> = []
    var badge: Int?
  }

  private static let people = ["ann", "cem", "dao", quiet]
  /// Wants the badge alone.
  private static let quiet = "eve"
  private static let installations = ["phone", "tablet"]

  private let world: PushWorld
  /// The provider never accepts what is for this one.
  private let broken = DeviceKey("cem", "tablet")
  /// By the fingerprint of the token.
  private var screens: [[UInt8]: Screen] = [:]
  private var found: [String] = []
  private var posts = 0
  private var tokens = 0

  init() throws {
    world = try PushWorld(bounds: PushBounds(timeToLiveSeconds: 7200, alertsAMinute: 2))
    for person in Self.people { try world.register(of: person, token: newToken()) }
    try world.apply(
      .pushPreferences(.with { ($0.user, $0.silentKinds) = (Self.quiet, ["like", "message"]) }))
    world.isLate = true
  }

  private func newToken() -> String {
    tokens += 1
    return "abcdef\(10_000_000 + tokens)"
  }

  func step(using generator: inout SeededGenerator) async throws {
    let person = try #require(Self.people.randomElement(using: &generator))
    let installation = try #require(Self.installations.randomElement(using: &generator))
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<6:
      posts += 1
      try world.like("bo", "p\(posts)", of: person)
    case 6:
      let post = "p\(Int.random(in: 0...posts, using: &generator))"
      for owner in Self.people { try world.apply(.unlike("bo", post, of: owner)) }
    case 7..<9:
      let ids = try alarms(of: person).filter(\.isUnread).map(\.id)
      guard let id = ids.randomElement(using: &generator) else { break }
      try world.apply(
        .alarmRead(.with { ($0.user, $0.notification) = (person, id.uuidString.lowercased()) }))
    case 9: try world.apply(.alarmReadAll(.with { $0.user = person }))
    case 10: try world.apply(.alarmSeen(.with { $0.user = person }))
    case 11:
      let name = "Bo \(Int.random(in: 0..<100, using: &generator))"
      try world.apply(.profileChanged(.with { ($0.user, $0.nickname) = ("bo", name) }))
    case 12:
      // The app is the one of before, and shows what it did.
      let shown = try fingerprint(of: person, installation).flatMap { screens[$0] }
      try world.register(installation, of: person, token: newToken())
      while !world.isCaughtUp { try world.catchUp(using: &generator) }
      if let shown, let token = try fingerprint(of: person, installation) { screens[token] = shown }
    case 13 where Bool.random(using: &generator):
      try world.apply(.deviceRemoved(.with { ($0.user, $0.installation) = (person, installation) }))
    case 14:
      posts += 1
      try world.apply(
        .messageSent(
          .with {
            ($0.message, $0.sender, $0.receiver, $0.text) = ("m\(posts)", "bo", person, "hi")
          }
        ))
    case 15: try world.apply(.conversationRead(.with { ($0.user, $0.peer) = (person, "bo") }))
    case 16:
      try world.apply(
        Bool.random(using: &generator)
          ? .personBlocked(.with { ($0.user, $0.person) = (person, "bo") })
          : .personUnblocked(.with { ($0.user, $0.person) = (person, "bo") }))
    default: break
    }
    try world.catchUp(using: &generator)
    world.pass(seconds: Int64.random(in: 1...20, using: &generator))
    for claim in try await turn() {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0: note(claim, .unanswered(reason: "reset"), isShown: true)
      case 1: note(claim, .unanswered(reason: "reset"), isShown: false)
      case 2: note(claim, .answer(.retry(after: .seconds(5))), isShown: false)
      case 3:
        note(
          claim, .answer(.providerBroken(reason: "http-503", after: .seconds(1))), isShown: false)
      case 4 where Bool.random(using: &generator):
        note(claim, .answer(.tokenGone(since: world.now)), isShown: false)
      default: note(claim, .answer(.accepted), isShown: true)
      }
    }
  }

  /// Lets time pass until nothing is left to do, with providers that accept everything.
  func heal(using generator: inout SeededGenerator) async throws {
    while !world.isCaughtUp { try world.catchUp(using: &generator) }
    for _ in 0..<2000 {
      for claim in try await turn() { note(claim, .answer(.accepted), isShown: true) }
      let left = try world.admin.query(
        "SELECT (SELECT count(*) FROM push_due) + (SELECT count(*) FROM push_claims WHERE state = 'claimed')"
      ).only.int(0)
      if left == 0, !world.outbox.hasAnswers { return }
      world.pass(seconds: 15)
    }
    let left = try world.admin.query(
      """
      SELECT concat_ws(' ', user_id, installation, purpose, state, answer, attempts, claimed_at, due_at)
      FROM push_claims WHERE state = 'claimed'
      UNION ALL SELECT concat_ws(' ', user_id, notification_id, due_at, held, revision, topic) FROM push_due
      """
    ).map { try $0.text(0) }
    found.append("at \(world.now) due for ever: \(left.prefix(8))")
  }

  /// The claims of a turn, each of which must be for a device and an alarm that may be told so.
  private func turn() async throws -> [Claim] {
    let claims = try await world.turn()
    var devices: Set<DeviceKey> = []
    for claim in claims {
      let message = claim.message
      if !devices.insert(DeviceKey(claim.device)).inserted {
        found.append("two messages at once for \(claim.device)")
      }
      if message.purpose == .alert, claim.device.user == Self.quiet {
        found.append("\(message.notification) was not wanted")
      }
      if message.expires <= world.now { found.append("\(message.notification) has expired") }
      let isUnread = try alarms(of: claim.device.user).contains {
        $0.id == message.notification && $0.isUnread
      }
      if message.purpose == .alert, !isUnread {
        found.append("\(message.notification) is not unread")
      }
      if message.purpose == .removal, isUnread, claim.attempt == 1 {
        found.append("\(message.notification) was taken away, and is unread")
      }
      let active = try world.admin.query(
        "SELECT FROM push_active_devices WHERE fingerprint = $1 AND user_id = $2",
        [.bytea(claim.fingerprint), .text(claim.device.user)])
      if active.isEmpty { found.append("\(claim.device) is not active") }
    }
    return claims
  }

  private func note(_ claim: Claim, _ outcome: ClaimOutcome, isShown: Bool) {
    guard DeviceKey(claim.device) != broken else {
      let answer = ClaimOutcome.answer(.retry(after: .seconds(5)))
      return world.outbox.note(Answered(claim, answer, at: world.now))
    }
    if isShown {
      var screen = screens[claim.fingerprint] ?? Screen()
      switch claim.message.purpose {
      case .alert: screen.shown.insert(claim.message.notification)
      case .removal:
        screen.shown.subtract([claim.message.notification] + claim.message.alsoRemoved)
      case .badge: break
      }
      screen.badge = claim.message.badge ?? screen.badge
      screens[claim.fingerprint] = screen
    }
    world.outbox.note(Answered(claim, outcome, at: world.now))
  }

  private func fingerprint(of person: String, _ installation: String) throws -> [UInt8]? {
    try world.admin.query(
      "SELECT fingerprint FROM push_devices WHERE user_id = $1 AND installation = $2",
      [.text(person), .text(installation)]
    ).map { try $0.byteaOrNil(0) }.first ?? nil
  }

  private struct Alarm {
    var id: UUID
    var isUnread: Bool
    /// Nil: it never was.
    var raisedAt: Int64?
  }

  private func alarms(of person: String) throws -> [Alarm] {
    try world.admin.query(
      """
      SELECT a.notification_id, s.shown AND coalesce(s.unread, false),
        coalesce(a.raised_at, a.last_raised_at)
      FROM alarms a CROSS JOIN LATERAL alarm_state(a.recipient, a.notification_id) s
      WHERE a.recipient = $1
      """, [.text(person)]
    ).map {
      Alarm(id: try $0.uuid(0), isUnread: try $0.bool(1), raisedAt: try $0.timestamptzOrNil(2))
    }
  }

  /// What is wrong at the end.
  func problems() throws -> [String] {
    for row in try world.admin.query(
      "SELECT user_id, installation, fingerprint, registered_at FROM push_active_devices")
    {
      let (person, installation) = (try row.text(0), try row.text(1))
      guard DeviceKey(person, installation) != broken else { continue }
      let registered = try row.timestamptz(3)
      let screen = screens[try row.bytea(2)] ?? Screen()
      let alarms = try alarms(of: person)
      let name = "the \(installation) of \(person)"
      for id in screen.shown where !alarms.contains(where: { $0.id == id && $0.isUnread }) {
        found.append("\(name) shows \(id)")
      }
      let badge = try world.admin.query("SELECT badge($1)", [.text(person)]).only.int(0)
      if let shown = screen.badge, shown != badge {
        found.append("\(name) shows \(shown), not \(badge)")
      }
      for alarm in alarms where alarm.isUnread {
        guard let raisedAt = alarm.raisedAt, raisedAt > registered, person != Self.quiet
        else { continue }
        let told = try world.admin.query(
          """
          SELECT FROM push_claims
          WHERE user_id = $1 AND installation = $2 AND notification_id = $3
            -- Taken away: it was hidden meanwhile. That it is back rings nobody.
            AND purpose IN ('alert', 'part', 'removal') AND state = 'accepted' AND raised_at >= $4
          """,
          [.text(person), .text(installation), .uuid(alarm.id), .timestamptz(raisedAt)])
        if told.isEmpty { found.append("\(name) was not told of \(alarm.id)") }
      }
    }
    return Array(Set(found)).sorted()
  }
}
