import Schedules
import Testing

@Suite struct CycleKeyTests {
  static let key = CycleTests.key
  static let items = (0..<40).map { "item-\($0)" }

  @Test("the derivation is that of HMAC-SHA256, and stays")
  func stable() throws {
    // Python: hmac.new(b"secret", b"".join(len(f).to_bytes(8, "big") + f for f in
    //   (b"cycle", b"user", b"cycle")), "sha256").hexdigest()
    let digits = Self.key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    #expect(digits == "d33edd0d72230580ea8e4227946d6a3e0fc81c5b14a75f42ee3e41e5550571d5")
    let cycle = try Cycle(from: 9 * 3600, to: 21 * 3600, times: 3, period: .day)
    #expect(
      cycle.moments(in: 20_780, key: Self.key).map(\.description) == [
        "2026-11-23T10:21:47", "2026-11-23T14:24:27", "2026-11-23T19:27:48",
      ])
    #expect(
      Cycle.order(of: ["a", "b", "c", "d"], round: 3, key: Self.key) == ["c", "b", "a", "d"])
  }

  @Test("different fields are different keys, even if their concatenation is the same")
  func prefixes() {
    let secret: [UInt8] = [1, 2, 3]
    let keys = [
      Cycle.key(secret: secret, user: "ab", cycle: "c"),
      Cycle.key(secret: secret, user: "a", cycle: "bc"),
      Cycle.key(secret: secret, user: "", cycle: "abc"),
      Cycle.key(secret: secret, user: "abc", cycle: ""),
      Cycle.key(secret: [1, 2, 4], user: "ab", cycle: "c"),
      // Canonically equivalent ids are different people.
      Cycle.key(secret: secret, user: "\u{E9}", cycle: "c"),
      Cycle.key(secret: secret, user: "e\u{301}", cycle: "c"),
    ]
    #expect(Set(keys).count == keys.count)
    #expect(keys.allSatisfy { $0.count == 32 })
  }

  @Test("moments depend on the key and the period")
  func independent() throws {
    let cycle = try Cycle(from: 0, to: 86_400, times: 20, period: .day)
    let other = Cycle.key(secret: Array("secret".utf8), user: "user", cycle: "other")
    let times = [(20_000, Self.key), (20_001, Self.key), (20_000, other)].map { day, key in
      cycle.moments(in: day, key: key).map(\.secondsOfDay)
    }
    #expect(Set(times).count == 3)
    for (first, second) in [(0, 1), (0, 2), (1, 2)] {
      #expect(zip(times[first], times[second]).count { $0 == $1 } < 3)
    }
  }

  @Test("an order has every item, and is another one in each round")
  func rounds() {
    let orders = (0..<50).map { Cycle.order(of: Self.items, round: $0, key: Self.key) }
    #expect(orders.allSatisfy { $0.sorted() == Self.items.sorted() })
    #expect(Set(orders).count == 50)
    // Every item is first now and then, so none is left out for long: 40 items in 400 rounds.
    let firsts = (0..<400).map { Cycle.order(of: Self.items, round: $0, key: Self.key)[0] }
    #expect(Set(firsts).count == 40)
  }

  @Test("adding or removing an item keeps the order of the others")
  func additions() {
    for round in 0..<20 {
      let order = Cycle.order(of: Self.items, round: round, key: Self.key)
      for item in Self.items.prefix(10) {
        let others = Self.items.filter { $0 != item }
        let expected = order.filter { $0 != item }
        #expect(Cycle.order(of: others, round: round, key: Self.key) == expected)
        #expect(Cycle.order(of: others.reversed() + [item], round: round, key: Self.key) == order)
      }
    }
  }

  @Test("equal items, none and extreme rounds")
  func corners() {
    #expect(Cycle.order(of: [], round: 0, key: Self.key) == [])
    #expect(Cycle.order(of: ["a", "a"], round: .min, key: []) == ["a", "a"])
    #expect(Cycle.order(of: ["a", ""], round: .max, key: Self.key).count == 2)
  }
}
