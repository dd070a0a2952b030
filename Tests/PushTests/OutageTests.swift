import Events
import Postgres
import Providers
import TestSupport
import Testing

@testable import Pushes

/// Providers that do not work, and how much is sent to them.
@Suite("Outages")
struct OutageTests {
  /// A world of people with a phone each.
  private func world(_ people: Int, rate: Int64 = 1_000_000, capacity: Int = 100) throws
    -> PushWorld
  {
    let world = try PushWorld(capacity: capacity, rate: rate)
    for number in 0..<people {
      try world.register(of: "u\(number)", token: "abcdef\(1_000_000 + number)")
    }
    return world
  }

  @Test("an outage of an hour costs few requests, loses nothing and ends without a stampede")
  func outage() async throws {
    let world = try world(30, rate: 10)
    for number in 0..<30 { try world.like("bo", "p\(number)", of: "u\(number)") }
    var requests = 0
    for _ in 0..<3600 {
      for claim in try await world.turn() {
        requests += 1
        let broken = ProviderAnswer.providerBroken(reason: "http-503", after: .seconds(10))
        world.outbox.note(Answered(claim, .answer(broken), at: world.now))
      }
      world.pass(seconds: 1)
    }
    #expect(requests < 600, "of 30 people in an hour")
    var (accepted, most, seconds) = (0, 0, 0)
    while accepted < 30, seconds < 7200 {
      let claims = try await world.turn()
      for claim in claims { world.outbox.note(Answered(claim, .answer(.accepted), at: world.now)) }
      (accepted, most) = (accepted + claims.count, max(most, claims.count))
      world.pass(seconds: 1)
      seconds += 1
    }
    #expect(accepted == 30 && most <= 10, "\(accepted) accepted, \(most) at once")
    #expect(try await world.push().isEmpty)
    #expect(try world.claims() == Array(repeating: "phone alert accepted", count: 30))
  }

  @Test("no more is claimed than there is room for, and one app has half of it")
  func capacity() async throws {
    let world = try world(20, capacity: 14)
    for number in 0..<20 { try world.like("bo", "p\(number)", of: "u\(number)") }
    let first = try await world.turn()
    #expect(first.count == 7)
    #expect(try await world.turn().isEmpty)
    for claim in first { world.outbox.note(Answered(claim, .answer(.accepted), at: world.now)) }
    #expect(try await world.push().count == 13)
  }

  @Test("wrong credentials keep every token")
  func credentials() async throws {
    let world = try world(20)
    for number in 0..<20 { try world.like("bo", "p\(number)", of: "u\(number)") }
    for claim in try await world.turn() {
      let broken = ProviderAnswer.providerBroken(
        reason: "InvalidProviderToken", after: .seconds(60))
      world.outbox.note(Answered(claim, .answer(broken), at: world.now))
    }
    #expect(try await world.turn().isEmpty)
    let active = try world.admin.query("SELECT count(*) FROM push_active_devices").only.int(0)
    #expect(active == 20)
  }

  @Test("a person's 101st device is refused, and no error quotes a token")
  func manyDevices() throws {
    let world = try PushWorld()
    for number in 0..<100 { try world.register("i\(number)", token: "feed\(10_000 + number)") }
    #expect {
      try world.register("one-more", token: "deadbeefdeadbeef")
    } throws: { error in
      (error as? EventError)?.code == .quota && "\(error)".contains("100 devices")
        && !"\(error)".contains("deadbeef")
    }
    #expect {
      try world.register("one-more", token: "not hexadecimal")
    } throws: { error in
      (error as? EventError)?.code == .badToken && "\(error)".contains("apns")
        && !"\(error)".contains("hexadecimal")
    }
    try world.register("i7", token: "deadbeefdeadbeef")
  }

  @Test("somebody who has more than 100 devices may change and remove them, but adds none")
  func tooManyDevices() throws {
    let world = try PushWorld()
    for number in 0..<100 { try world.register("i\(number)", token: "feed\(10_000 + number)") }
    try world.register("j1", of: "bo", token: "deadbeef00000001")
    try world.register("j2", of: "cy", token: "deadbeef00000002")
    // As erasures give tokens back.
    try world.admin.script(
      "UPDATE push_devices SET user_id = 'ann'; UPDATE push_tokens SET user_id = 'ann'")
    world.pass(seconds: 1)
    try world.register("i7", token: "deadbeef00000007")
    try world.apply(.deviceRemoved(.with { ($0.user, $0.installation) = ("ann", "i8") }))
    world.pass(seconds: 1)
    #expect { try world.register("i8", token: "feed10008") } throws: {
      ($0 as? EventError)?.code == .quota
    }
    let active = try world.admin.query("SELECT count(*) FROM push_active_devices").only.int(0)
    #expect(active == 101)
  }
}
