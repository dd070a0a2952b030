import Events
import Pushing
import TestSupport
import Testing

@Suite struct RateTests {
  private static func at(_ microseconds: Int64) -> EventTime {
    EventTime(microseconds: noon.microseconds + microseconds)
  }

  @Test("no span of time has more messages than the rate and the burst allow")
  func allowance() {
    var generator = SeededGenerator()
    for _ in 0..<30 {
      let rate = Int64.random(in: 1...1000, using: &generator)
      let burst = Int64.random(in: 1...50, using: &generator)
      var allowance = Allowance(rate: rate, burst: burst, now: noon)
      var (now, taken) = (Int64(0), [Int64]())
      for _ in 0..<200 {
        if allowance.take(now: Self.at(now)) { taken.append(now) }
        now += Int64.random(in: 0...2_000_000 / rate, using: &generator)
      }
      let isExceeded = taken.indices.contains { first in
        taken[first...].indices.contains { last in
          let allowed = burst + ((taken[last] - taken[first]) * rate + 999_999) / 1_000_000
          return Int64(last - first + 1) > allowed
        }
      }
      #expect(!isExceeded, "seed \(generator.seed)")
    }
  }

  @Test("who is refused gets a turn, one after the other, at the rate")
  func turns() {
    var allowance = Allowance(rate: 100, burst: 1, now: noon)
    let turns = (0..<1000).map { _ in allowance.turn(after: noon) }
    #expect(turns.first == Self.at(10_000) && turns.last == later(10))
    #expect(turns == turns.sorted() && Set(turns).count == 1000)
    #expect(allowance.turn(after: later(60)) == Self.at(60_010_000), "an open breaker's end")
    #expect(allowance.turn(after: noon) > later(60))
  }

  @Test(
    "a breaker opens after ten failures in a row, for longer each time, and tries one at a time")
  func breaker() {
    var breaker = Breaker()
    func fail(_ claimed: EventTime, _ now: EventTime, demanded: Int64 = 0) {
      breaker.fail(sentAt: claimed, demandedMicroseconds: demanded, now: now)
    }
    for _ in 0..<9 { fail(noon, noon, demanded: 60_000_000) }
    #expect(breaker.permits(underWay: 100, now: noon))
    breaker.succeed(sentAt: noon)
    for _ in 0..<9 { fail(noon, noon) }
    #expect(breaker.permits(underWay: 100, now: noon))
    fail(noon, noon)
    #expect(!breaker.permits(underWay: 0, now: noon))
    #expect(breaker.permits(underWay: 0, now: later(1)))
    #expect(!breaker.permits(underWay: 1, now: later(1)))
    // What was sent before it opened, such as the streams of a broken connection, neither opens it for longer nor
    // closes it.
    for _ in 0..<100 { fail(EventTime(microseconds: noon.microseconds - 1), later(1)) }
    breaker.succeed(sentAt: EventTime(microseconds: noon.microseconds - 1))
    #expect(breaker.openUntil == later(1))
    fail(later(1), later(1))
    #expect(breaker.openUntil == later(3))
    var now = later(3)
    for _ in 0..<20 {
      fail(now, now)
      now = breaker.openUntil ?? now
    }
    fail(now, now)
    #expect(breaker.openUntil == EventTime(microseconds: now.microseconds + 900_000_000))
    now = breaker.openUntil ?? now
    breaker.succeed(sentAt: now)
    #expect(breaker == Breaker())
    for _ in 0..<10 { fail(now, now, demanded: .max) }
    #expect(breaker.openUntil == EventTime(microseconds: now.microseconds + 86_400_000_000))
  }

  @Test("a breaker takes one person's refusals as one failure, and opens after those of ten people")
  func refusals() {
    var breaker = Breaker()
    func refuse(_ people: Range<Int>) {
      for number in people { breaker.refuse("u\(number)", sentAt: noon, now: noon) }
    }
    for _ in 0..<100 { refuse(0..<9) }
    #expect(breaker.openUntil == nil && breaker.failures == 9)
    breaker.succeed(sentAt: noon)
    #expect(breaker == Breaker())
    refuse(0..<9)
    #expect(breaker.openUntil == nil)
    refuse(9..<10)
    #expect(breaker.openUntil == later(1))
    // What was sent before it opened.
    refuse(10..<100)
    #expect(breaker.openUntil == later(1))
  }

  @Test("a refusal of what an open breaker tried keeps the pause; the tenth person's doubles it")
  func refusedTrials() {
    var breaker = Breaker()
    for _ in 0..<10 { breaker.fail(sentAt: noon, demandedMicroseconds: 60_000_000, now: noon) }
    #expect(breaker.openUntil == later(60))
    breaker.fail(sentAt: later(60), demandedMicroseconds: 0, now: later(60))
    #expect(breaker.openUntil == later(62))
    var seconds: Int64 = 62
    for number in 0..<9 {
      for _ in 0..<3 {
        breaker.refuse("u\(number)", sentAt: later(seconds), now: later(seconds))
        seconds += 2
        #expect(breaker.openUntil == later(seconds))
        #expect(!breaker.permits(underWay: 1, now: later(seconds)))
      }
    }
    breaker.refuse("u9", sentAt: later(seconds), now: later(seconds))
    #expect(breaker.openUntil == later(seconds + 4))
    breaker.refuse("u0", sentAt: later(seconds + 4), now: later(seconds + 4))
    #expect(breaker.openUntil == later(seconds + 8), "they are counted anew")
    breaker.succeed(sentAt: later(seconds + 8))
    #expect(breaker == Breaker())
  }

  @Test("after the clock was set back, turns and pauses begin at its new time")
  func setBack() {
    var allowance = Allowance(rate: 100, burst: 1, now: later(3600))
    _ = allowance.turn(after: later(3600))
    allowance.setBack(to: noon)
    #expect(allowance.turn(after: noon) == Self.at(10_000))
    let taken = [noon, noon, Self.at(10_000)].map { allowance.take(now: $0) }
    #expect(taken == [true, false, true])
    var breaker = Breaker()
    for _ in 0..<10 {
      breaker.fail(sentAt: later(3600), demandedMicroseconds: 60_000_000, now: later(3600))
    }
    breaker.setBack(to: noon)
    #expect(breaker.openUntil == later(60))
    breaker.setBack(to: later(1))
    #expect(breaker.openUntil == later(60))
    breaker.succeed(sentAt: later(60))
    #expect(breaker == Breaker())
  }

  @Test("a refusal ends what the provider demanded")
  func demandedBefore() {
    var breaker = Breaker()
    for _ in 0..<10 { breaker.fail(sentAt: noon, demandedMicroseconds: 60_000_000, now: noon) }
    breaker.refuse("ann", sentAt: later(60), now: later(60))
    #expect(breaker.openUntil == later(61))
  }
}
