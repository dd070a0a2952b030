import Devices
import Events
import Foundation
import Handling
import Postgres
import Providers
import TestSupport
import Testing

@testable import Pushes

/// What push-worker's tables say after people were erased.
@Suite("Erasures")
struct ErasureTests {
  private static let tables = [
    "push_devices", "push_tokens", "push_preferences", "push_due", "push_claims", "push_erasures",
  ]

  /// The tables that name one of the texts.
  private func naming(_ texts: [String], _ world: PushWorld) throws -> [String] {
    try Self.tables.filter { table in
      let content = table == "push_claims" ? "coalesce(r.content, '')" : "''::bytea"
      return try world.admin.query(
        """
        SELECT EXISTS (
          SELECT FROM \(table) r, unnest($1::text[]) AS e (name)
          WHERE position(e.name IN r::text) > 0
            OR position(convert_to(e.name, 'UTF8') IN \(content)) > 0)
        """, [.textArray(texts)]
      ).only.bool(0)
    }
  }

  /// Devices, tokens and preferences, without what is random.
  private func registers(_ world: PushWorld) throws -> [String] {
    try world.admin.query(
      """
      SELECT concat_ws(' ', user_id, installation, version_time, version_id, provider,
        encode(fingerprint, 'hex')) AS line
      FROM push_devices
      UNION ALL
      SELECT concat_ws(' ', encode(fingerprint, 'hex'), user_id, installation, version_time, version_id)
      FROM push_tokens
      UNION ALL SELECT p::text FROM push_preferences p
      ORDER BY line
      """
    ).map { try $0.text(0) }
  }

  private func device(
    _ user: String, _ installation: String, isRemoved: Bool = false
  ) -> Payload {
    if isRemoved {
      return .deviceRemoved(.with { ($0.user, $0.installation) = (user, installation) })
    }
    return .deviceRegistered(
      .with {
        ($0.user, $0.installation, $0.provider) = (user, installation, "apns")
        ($0.token, $0.app) = ("0123456789ab" + hex(installation), "com.example.app")
      })
  }

  private func hex(_ text: String) -> String {
    text.utf8.map { String($0, radix: 16) }.joined()
  }

  @Test(
    "after erasures in any order the tables are those of people who never registered",
    arguments: 0..<3)
  func history(number: Int) async throws {
    var generator = SeededGenerator()
    let seed = generator.seed
    let world = try PushWorld()
    let people = ["ann", "cem", "dao"]
    var events: [Event] = []
    for _ in 0..<60 {
      let person = try #require(people.randomElement(using: &generator))
      // One phone and one tablet are everybody's. Whoever removes them is not remembered: see `forgetTokens`.
      let payload: Payload =
        switch Int.random(in: 0..<8, using: &generator) {
        case 0..<3:
          device(person, ["phone", "tablet"].randomElement(using: &generator) ?? "phone")
        case 3..<5:
          device(
            person, "watch of \(person) \(Int.random(in: 0..<2, using: &generator))",
            isRemoved: Bool.random(using: &generator))
        case 5:
          .pushPreferences(
            .with {
              ($0.user, $0.quietFrom, $0.quietUntil) = (person, "22:00", "07:00")
            })
        case 6 where person != "dao": .userErased(.with { $0.user = person })
        default: device(person, "phone")
        }
      events.append(world.event(payload))
      world.pass(seconds: 1)
    }
    var ends: [String: EventTime] = [:]
    for event in events where event.type == .userErased {
      ends[event.key] = max(ends[event.key] ?? event.time, event.time)
    }
    let repeated = events + events.prefix(20)
    for event in repeated.shuffled(using: &generator) {
      try world.hear(event)
      if Int.random(in: 0..<10, using: &generator) == 0 {
        #expect(try await world.forget(), "seed \(seed)")
      }
    }
    #expect(try await world.forget(), "seed \(seed)")
    let ignorant = try PushWorld()
    let never = events.compactMap { event in
      event.forgetting { id in ends[id].map { event.time <= $0 } ?? false }
    }
    for event in never where event.type != .userErased { try ignorant.hear(event) }
    #expect(try registers(world) == registers(ignorant), "seed \(seed)")
    for (person, end) in ends where !never.contains(where: { $0.key == person && $0.time > end }) {
      #expect(try naming([person], world).isEmpty, "seed \(seed): \(person)")
    }
  }

  @Test("nothing is left of a person, and the answer to a message under way finds nothing")
  func nothingLeft() async throws {
    let world = try PushWorld(at: "2026-11-23T20:00:00Z")
    try world.register()
    try world.register("phone", of: "cem", token: "abcdef12")
    try world.apply(.pushPreferences(.with { ($0.user, $0.silentKinds) = ("ann", ["comment"]) }))
    try world.like("bo", "p1")
    try world.like("bo", "p2", of: "cem")
    #expect(try await world.push().count == 2)
    world.pass(seconds: 1)
    try world.like("bo", "p3")
    let claim = try #require(try await world.turn().first)
    try world.like("bo", "p4")
    #expect(try world.dueCount() > 0)
    world.pass(seconds: 1)
    try world.erase("ann")
    #expect(world.outbox.isOutdated(claim))
    #expect(try world.admin.query("SELECT FROM push_devices WHERE user_id = 'ann'").isEmpty)
    #expect(try await world.turn().isEmpty)
    #expect(try await world.forget())
    #expect(try naming(["ann"], world).isEmpty)
    world.outbox.note(Answered(claim, .answer(.accepted), at: world.now))
    world.pass(seconds: 31)
    #expect(try await world.push().isEmpty)
    #expect(try naming(["ann"], world).isEmpty)
    #expect(try world.claims() == ["phone alert accepted"], "of cem")
    #expect(
      try world.admin.query("SELECT user_id FROM push_active_devices").map { try $0.text(0) }
        == ["cem"])
  }

  @Test("a message under way to somebody else is not sent again with the person's name")
  func nameOfAnother() async throws {
    let world = try PushWorld()
    try world.register()
    for (user, name) in [("bo", "Bo Baxter"), ("cy", "Cy")] {
      try world.apply(.profileChanged(.with { ($0.user, $0.nickname) = (user, name) }))
    }
    try world.like("cy", "p1")
    try world.like("bo", "p1")
    let claim = try #require(try await world.turn().first)
    #expect(claim.message.body.contains("Bo Baxter"))
    world.outbox.note(Answered(claim, .unanswered(reason: "reset"), at: world.now))
    try world.apply(.unlike("bo", "p1", of: "ann"))
    try world.erase("bo")
    #expect(try await !world.forget(), "the message may still name Bo")
    world.pass(seconds: 61)
    // The first turn ends the claim, the next one claims the alarm anew.
    var again = try await world.push()
    again += try await world.push()
    #expect(again.map(\.message.purpose) == [.alert])
    #expect(again.allSatisfy { !$0.message.body.contains("Baxter") })
    #expect(try await world.forget())
    #expect(try naming(["Bo Baxter"], world).isEmpty)
  }

  /// Cy and Bo like a post of Ann's, who has a phone.
  private func likes(_ world: PushWorld) throws {
    try world.register()
    for (user, name) in [("bo", "Bo Baxter"), ("cy", "Cy")] {
      try world.apply(.profileChanged(.with { ($0.user, $0.nickname) = (user, name) }))
    }
    try world.like("cy", "p1")
    try world.like("bo", "p1")
  }

  @Test("an alarm stays on other people's devices while it is to be rendered without the person")
  func toRenderAgain() async throws {
    let world = try PushWorld()
    try likes(world)
    try world.like("bo", "p2")
    try world.like("cy", "p3")
    let shown = Dictionary(
      try await world.push().map { ($0.message.deepLink ?? "", $0.message.notification) },
      uniquingKeysWith: { first, _ in first })
    #expect(shown.count == 3)
    world.pass(seconds: 1)
    try world.erase("bo")
    let read = try #require(shown["magpie://posts/p3"]).uuidString.lowercased()
    try world.apply(.alarmRead(.with { ($0.user, $0.notification) = ("ann", read) }))
    let removals = try await world.push()
    #expect(removals.allSatisfy { $0.message.purpose == .removal })
    let removed = removals.flatMap { [$0.message.notification] + $0.message.alsoRemoved }
    #expect(
      Set(removed) == Set(["magpie://posts/p2", "magpie://posts/p3"].compactMap { shown[$0] }),
      "what is read, and what goes with the person")
    world.pass(seconds: 1)
    try world.apply(.unlike("bo", "p1", of: "ann"))
    #expect(try await world.push().allSatisfy { $0.message.purpose == .badge })
    #expect(
      try world.claims().sorted() == [
        "phone alert accepted", "phone badge accepted", "phone removal accepted",
        "phone removal accepted",
      ])
    #expect(try world.dueCount() == 0)
  }

  @Test("an alert without an answer waits until it is rendered without the person")
  func unansweredToRenderAgain() async throws {
    let world = try PushWorld()
    try likes(world)
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .unanswered(reason: "reset"), at: world.now))
    world.pass(seconds: 1)
    try world.erase("bo")
    world.pass(seconds: 31)
    #expect(try await world.push().isEmpty)
    world.pass(seconds: 61)
    #expect(try await world.push().isEmpty)
    try world.apply(.unlike("bo", "p1", of: "ann"))
    let again = try await world.push().filter { $0.message.purpose != .badge }
    #expect(again.map(\.message.purpose) == [.alert])
    #expect(again.allSatisfy { !$0.message.body.contains("Baxter") })
    #expect(try world.dueCount() == 0)
  }

  @Test("an alert without an answer is sent again while a sweep looks through dead letters")
  func besideLetters() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .unanswered(reason: "reset"), at: world.now))
    try world.admin.script(
      "INSERT INTO push_erasures (user_id, erased_at, position) "
        + "VALUES ('dee', now(), E'magpie.push\\nmagpie.devices\\n0\\n7')")
    world.pass(seconds: 61)
    var again = try await world.push()
    again += try await world.push()
    #expect(again.map(\.message.purpose) == [.alert])
  }

  @Test("an alarm that goes with the person is taken away from other people's devices")
  func alarmOfAnother() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(try await world.push().map(\.message.purpose) == [.alert])
    world.pass(seconds: 1)
    let id = try #require(
      try world.admin.query("SELECT notification_id::text, version FROM alarms").first)
    // As alarm-worker forgets an actor.
    _ = try world.admin.query("DELETE FROM alarms")
    var retraction = world.event(
      .alarmRetracted(
        try .with {
          ($0.notification, $0.recipient) = (try id.text(0), "ann")
          $0.version = try id.int8(1) + 1
        }))
    (retraction.partition, retraction.offset) = (0, 0)
    try world.hear(retraction)
    world.pass(seconds: 61)
    #expect(try await world.push().map(\.message.purpose) == [.removal])
    #expect(try world.dueCount() == 0)
  }

  @Test("what a new person with the same id does afterwards stays")
  func newLife() async throws {
    let world = try PushWorld()
    try world.register("old", token: "abcdef01")
    try world.register("phone", token: "abcdef02")
    try world.like("bo", "p1")
    #expect(try await world.push().count == 2)
    let erasure = world.event(.userErased(.with { $0.user = "ann" }))
    world.pass(seconds: 1)
    try world.register("phone", token: "abcdef02")
    _ = try world.admin.query("DELETE FROM alarms")
    try world.hear(erasure)
    try world.like("bo", "p2")
    #expect(try await world.push().isEmpty)
    world.pass(seconds: 61)
    #expect(try await world.forget())
    #expect(try await world.push().map(\.message.purpose) == [.alert])
    let claims = try world.claims()
    #expect(claims == ["phone alert accepted"])
    #expect(
      try world.admin.query("SELECT installation FROM push_active_devices").map { try $0.text(0) }
        == ["phone"])
  }

  @Test("pages show nothing of who is being erased")
  func pages() throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    let pages = [
      "device_page('ann')", "alarms a, push_status(a.notification_id)",
      "alarms a, push_explanation(a.notification_id)",
    ]
    for page in pages {
      #expect(try !world.admin.query("SELECT FROM \(page)").isEmpty, "\(page)")
    }
    let erasure = world.event(.userErased(.with { $0.user = "ann" }))
    world.pass(seconds: 1)
    try world.register("another", token: "abcdef03")
    try world.hear(erasure)
    for page in pages {
      #expect(try world.admin.query("SELECT FROM \(page)").isEmpty, "\(page)")
    }
  }
}
