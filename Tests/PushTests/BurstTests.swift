import Events
import Postgres
import Providers
import TestSupport
import Testing

@testable import Pushes

/// A person gets few alerts in a minute, and then the rest as one message.
@Suite("Bursts")
struct BurstTests {
  /// A world in which two alerts in a minute are the most, and have been pushed.
  private func fullWorld() async throws -> PushWorld {
    let world = try PushWorld(bounds: PushBounds(alertsAMinute: 2))
    try world.register()
    try world.register("tablet", token: "abcdef0123456789")
    for number in 0..<2 {
      try world.like("bo", "p\(number)")
      #expect(try await alerts(world).count == 2)
    }
    return world
  }

  private func alerts(_ world: PushWorld) async throws -> [Claim] {
    try await world.push().filter { $0.message.purpose == .alert }
  }

  @Test("what a burst held rings again on one device while another one waits")
  func otherDeviceWaits() async throws {
    let world = try await fullWorld()
    try world.like("bo", "p2")
    #expect(try await alerts(world).isEmpty)
    world.pass(seconds: 61)
    for claim in try await world.turn() {
      let isPhone = claim.device.installation == "phone"
      let answer = isPhone ? ProviderAnswer.accepted : .retry(after: .seconds(900))
      world.outbox.note(Answered(claim, .answer(answer), at: world.now))
    }
    #expect(try await world.turn().isEmpty)
    world.pass(seconds: 10)
    try world.like("cy", "p2")
    #expect(try await alerts(world).map(\.device.installation) == ["phone"])
  }

  @Test("alerts count for a burst although their alarms were withdrawn")
  func withdrawn() async throws {
    let world = try await fullWorld()
    for number in 0..<2 { try world.apply(.unlike("bo", "p\(number)", of: "ann")) }
    #expect(try await world.push().allSatisfy { $0.message.purpose == .removal })
    try world.like("bo", "p2")
    #expect(try await alerts(world).isEmpty)
    world.pass(seconds: 61)
    #expect(try await alerts(world).count == 2)
  }

  @Test(
    "an alarm that a burst holds does not ring earlier because it was withdrawn and raised again")
  func raisedAgain() async throws {
    let world = try await fullWorld()
    try world.like("bo", "p2")
    #expect(try await alerts(world).isEmpty)
    world.pass(seconds: 1)
    try world.apply(.unlike("bo", "p2", of: "ann"))
    try world.like("bo", "p2")
    #expect(try await alerts(world).isEmpty)
    world.pass(seconds: 61)
    #expect(try await alerts(world).count == 2)
  }

  @Test("a raise that rang does not ring again when a later one, which was not accepted, is undone")
  func undone() async throws {
    let world = try PushWorld()
    try world.register()
    try world.like("bo", "p1")
    #expect(try await alerts(world).count == 1)
    world.pass(seconds: 1)
    try world.like("cy", "p1")
    let claim = try #require(try await world.turn().first)
    world.outbox.note(Answered(claim, .answer(.retry(after: .seconds(60))), at: world.now))
    #expect(try await world.turn().isEmpty)
    try world.apply(.unlike("cy", "p1", of: "ann"))
    world.pass(seconds: 100)
    #expect(try await alerts(world).isEmpty)
  }

  @Test("what was read is removed from all of a hundred devices that show more")
  func hundredDevices() async throws {
    let world = try PushWorld(capacity: 2000, bounds: PushBounds(alertsAMinute: 100))
    for number in 0..<100 {
      try world.register("phone \(number)", token: "abcdef\(1_000_000 + number)")
    }
    for number in 0..<6 {
      try world.like("bo", "p\(number)")
      #expect(try await alerts(world).count == 100)
      world.pass(seconds: 1)
    }
    let id = try world.admin.query(
      "SELECT notification_id::text FROM push_claims ORDER BY claimed_at LIMIT 1"
    ).only.text(0)
    try world.apply(.alarmRead(.with { ($0.user, $0.notification) = ("ann", id) }))
    #expect(try await world.push().count { $0.message.purpose == .removal } == 100)
  }

  @Test(
    "a person whose devices wait for the rate takes one turn of others, not one for each device")
  func turns() async throws {
    let world = try PushWorld(capacity: 2000, rate: 2)
    for number in 0..<30 {
      try world.register("phone \(number)", token: "abcdef\(1_000_000 + number)")
    }
    try world.like("bo", "p1")
    var pushed = 0
    for _ in 0..<40 {
      for claim in try await world.turn() {
        pushed += claim.message.purpose == .alert ? 1 : 0
        world.outbox.note(Answered(claim, .answer(.accepted), at: world.now))
      }
      world.pass(seconds: 1)
    }
    #expect(pushed == 30)
  }
}
