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
        let next = allowance.take(now: Self.at(now))
        if let next {
          #expect(next > Self.at(now))
          if Bool.random(using: &generator) {
            now = next.microseconds - noon.microseconds
            // What it promises, it keeps.
            let refused = allowance.take(now: next)
            #expect(refused == nil, "seed \(generator.seed)")
            taken.append(now)
          }
        } else {
          taken.append(now)
        }
        now += Int64.random(in: 0...2_000_000 / rate, using: &generator)
      }
      for (first, start) in taken.enumerated() {
        for (last, end) in taken.enumerated().dropFirst(first) {
          let allowed = burst + ((end - start) * rate + 999_999) / 1_000_000
          #expect(Int64(last - first + 1) <= allowed, "seed \(generator.seed)")
        }
      }
    }
  }

  @Test("a breaker opens after ten failures, or when the provider says so, and tries one at a time")
  func breaker() {
    var breaker = Breaker()
    for _ in 0..<9 { breaker.fail(demandedMicroseconds: 0, now: noon) }
    #expect(breaker.permits(underWay: 100, now: noon))
    breaker.fail(demandedMicroseconds: 0, now: noon)
    #expect(!breaker.permits(underWay: 0, now: noon))
    #expect(breaker.permits(underWay: 0, now: later(1)))
    #expect(!breaker.permits(underWay: 1, now: later(1)))
    for _ in 0..<100 { breaker.fail(demandedMicroseconds: 0, now: noon) }
    #expect(breaker.openUntil == later(900))
    breaker.succeed()
    #expect(breaker.permits(underWay: 100, now: noon) && breaker.failures == 0)
    breaker.fail(demandedMicroseconds: 60_000_000, now: noon)
    #expect(!breaker.permits(underWay: 0, now: later(59)))
    #expect(breaker.permits(underWay: 0, now: later(60)))
    breaker.fail(demandedMicroseconds: .max, now: noon)
    #expect(breaker.openUntil == later(86_400))
  }
}
