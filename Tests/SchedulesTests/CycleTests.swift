import Schedules
import Testing

@Suite struct CycleTests {
  static let key = Cycle.key(secret: Array("secret".utf8), user: "user", cycle: "cycle")
  static let cycles: [Cycle] = [(9, 21), (22, 6), (0, 24), (0, 0), (23, 23)].flatMap { from, to in
    [(1, Cycle.Period.day), (3, .day), (100, .day), (1, .week), (5, .week), (100, .week)].compactMap
    {
      try? Cycle(from: from * 3600, to: to * 3600, times: $0, period: $1)
    }
  }

  /// The seconds of the period's windows before a moment; nil if it is in none.
  static func position(_ moment: LocalTime, _ cycle: Cycle, _ period: Int) -> Int? {
    let seconds = moment.seconds - LocalTime(day: period, secondsOfDay: cycle.from).seconds
    let (day, time) = Int(seconds).quotientAndRemainder(dividingBy: 86_400)
    guard seconds >= 0, day < (cycle.period == .day ? 1 : 7), time < cycle.window else {
      return nil
    }
    return day * cycle.window + time
  }

  @Test("moments are in their windows and slots, and a gap apart, also across periods")
  func bounds() throws {
    #expect(Self.cycles.count == 30)
    // 2026-11-23 is a Monday.
    let monday = try LocalTime("2026-11-23T00:00").day
    for cycle in Self.cycles {
      let days = cycle.period == .day ? 1 : 7
      let slot = cycle.window * days / cycle.times
      #expect(cycle.minimumGap * 4 >= slot)
      var previous: Int?
      for period in 0..<4 {
        let first = monday + period * days
        let moments = cycle.moments(in: first + days - 1, key: Self.key)
        #expect(moments == cycle.moments(in: first, key: Self.key))
        #expect(moments.count == cycle.times)
        for (index, moment) in moments.enumerated() {
          let inPeriod = try #require(Self.position(moment, cycle, first))
          #expect(inPeriod * cycle.times / (cycle.window * days) == index)
          let position = inPeriod + period * cycle.window * days
          if let previous { #expect(position - previous >= cycle.minimumGap) }
          previous = position
        }
      }
    }
  }

  @Test("a moment is anywhere in the middle of its slot, equally often")
  func spread() throws {
    let cycle = try Cycle(from: 0, to: 86_400, times: 6, period: .day)
    // A slot is 14,400 seconds; 20 bins in the middle 10,800.
    var bins = [Int](repeating: 0, count: 20)
    for day in 20_000..<20_500 {
      for (index, moment) in cycle.moments(in: day, key: Self.key).enumerated() {
        let position = moment.secondsOfDay - index * 14_400 - 1800
        bins[min(position / 540, 19)] += 1
      }
    }
    // Chi-squared with 19 degrees of freedom: above 43.8 in one of a thousand; the key is fixed.
    let chiSquared = bins.reduce(0.0) { $0 + (Double($1) - 150) * (Double($1) - 150) / 150 }
    #expect(chiSquared < 43.8, "\(bins)")
    #expect(chiSquared > 4, "\(bins)")
  }

  @Test("next and last walk through all moments")
  func walk() throws {
    let start = try LocalTime("2026-11-20T12:00")
    for cycle in Self.cycles where cycle.times < 10 {
      let days = start.day - 8...start.day + 30
      let all = Set(days.flatMap { cycle.moments(in: $0, key: Self.key) }).sorted()
      let expected = all.filter { $0 > start }.prefix(8)
      var time = start
      var found: [LocalTime] = []
      while found.count < expected.count, let next = cycle.next(after: time, key: Self.key) {
        #expect(cycle.last(notAfter: next, key: Self.key) == next)
        let before = LocalTime(seconds: next.seconds - 1)
        #expect(cycle.last(notAfter: before, key: Self.key) == all.last { $0 < next })
        found.append(next)
        time = next
      }
      #expect(found == Array(expected))
    }
  }

  @Test("there are none outside two centuries")
  func ends() throws {
    for cycle in Self.cycles {
      #expect(cycle.next(after: LocalTime(seconds: .max), key: Self.key) == nil)
      #expect(cycle.last(notAfter: LocalTime(seconds: .min), key: Self.key) == nil)
      let first = try #require(cycle.next(after: LocalTime(seconds: .min), key: Self.key))
      #expect(first.date.year == 2000)
      let last = try #require(cycle.last(notAfter: LocalTime(seconds: .max), key: Self.key))
      #expect(last.seconds > LocalTime.latest.seconds - 14 * 86_400)
      for day in [Int.min, -1, .max] { #expect(cycle.moments(in: day, key: Self.key) == []) }
    }
  }

  @Test(
    "values out of bounds are errors",
    arguments: [
      (-1, 10, 1), (86_400, 10, 1), (0, -1, 1), (0, 86_401, 1), (0, 3600, 0), (0, 86_400, 101),
      (0, 3600, 61), (0, 59, 1), (86_399, 0, 1), (.min, .max, .max), (.max, .min, .min),
    ])
  func invalid(_ from: Int, _ to: Int, _ times: Int) {
    #expect(throws: ScheduleError.self) {
      try Cycle(from: from, to: to, times: times, period: .day)
    }
  }

  @Test("a minute for each moment suffices")
  func shortest() throws {
    let cycle = try Cycle(from: 0, to: 3600, times: 60, period: .day)
    #expect(cycle.minimumGap == 16)
    #expect(Set(cycle.moments(in: 20_000, key: Self.key)).count == 60)
    _ = try Cycle(from: 0, to: 60, times: 7, period: .week)
  }
}
