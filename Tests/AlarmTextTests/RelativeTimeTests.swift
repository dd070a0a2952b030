import Testing

@testable import AlarmText

/// The naive calendar: counts years and months one by one.
private struct ModelDate: Comparable {
  var year = 1970
  var month = 1
  var day = 1

  static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  static func length(year: Int, month: Int) -> Int {
    [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
  }

  /// - Parameter number: days since 1970-01-01.
  init(number: Int) {
    var left = number
    func days(_ year: Int) -> Int { Self.isLeap(year) ? 366 : 365 }
    while left < 0 {
      year -= 1
      left += days(year)
    }
    while left >= days(year) {
      left -= days(year)
      year += 1
    }
    while left >= Self.length(year: year, month: month) {
      left -= Self.length(year: year, month: month)
      month += 1
    }
    day += left
  }

  static func < (a: ModelDate, b: ModelDate) -> Bool {
    (a.year, a.month, a.day) < (b.year, b.month, b.day)
  }

  /// How often the month can be advanced, keeping the day's number, without passing `later`.
  func completeMonths(to later: ModelDate) -> Int {
    var date = self
    var months = -1
    repeat {
      months += 1
      date.month += 1
      if date.month > 12 { (date.year, date.month) = (date.year + 1, 1) }
    } while date <= later
    return months
  }
}

@Suite("How long ago")
struct RelativeTimeTests {
  static let second: Int64 = 1_000_000
  static let day: Int64 = 86_400 * second

  /// The documented table, for times within centuries.
  private static func model(from time: LocalTime, to now: LocalTime) -> RelativeTime {
    if time.microseconds > now.microseconds {
      let past = model(from: now, to: time)
      return RelativeTime(unit: past.unit, amount: -past.amount)
    }
    func localDay(_ time: LocalTime) -> Int {
      let local = Double(time.microseconds) / 1e6 + Double(time.utcOffset)
      return Int((local / 86_400).rounded(.down))
    }
    func past(_ unit: RelativeTime.Unit, _ count: Int) -> RelativeTime {
      RelativeTime(unit: unit, amount: -count)
    }
    let minutes = Int((now.microseconds - time.microseconds) / (60 * second))
    let (first, last) = (localDay(time), localDay(now))
    if minutes == 0 { return past(.second, 0) }
    if minutes < 60 { return past(.minute, minutes) }
    if minutes < 360 || last <= first { return past(.hour, minutes / 60) }
    if last - first < 7 { return past(.day, last - first) }
    let months = ModelDate(number: first).completeMonths(to: ModelDate(number: last))
    if months == 0 { return past(.week, (last - first) / 7) }
    return months < 12 ? past(.month, months) : past(.year, months / 12)
  }

  /// Two times, mostly at a threshold or a few microseconds from one.
  private static func pair(_ random: inout Seeded, offset: Int? = nil) -> (LocalTime, LocalTime) {
    let offsets = [0, 0, 32_400, -36_000, 20_700, 50_400, -43_200, 64_800, -64_800]
    func pick(_ values: [Int64]) -> Int64 { values.randomElement(using: &random) ?? 0 }
    let here = offset ?? offsets.randomElement(using: &random) ?? 0
    let there =
      offset ?? (Bool.random(using: &random) ? here : offsets.randomElement(using: &random) ?? 0)
    // Mostly at the beginning or end of a local day between 1850 and 2150.
    var now = Int64.random(in: -43_800...65_700, using: &random) * day - Int64(here) * second
    now += pick([0, 1, -1, 6 * 3600 * second, .random(in: 0..<day, using: &random)])
    var elapsed =
      pick([
        0, 60, 120, 3600, 7200, 6 * 3600, 23 * 3600, 86_400, 2 * 86_400, 6 * 86_400, 7 * 86_400,
        8 * 86_400, 14 * 86_400, 27 * 86_400, 28 * 86_400, 29 * 86_400, 30 * 86_400, 31 * 86_400,
        59 * 86_400, 62 * 86_400, 365 * 86_400, 366 * 86_400, 1461 * 86_400,
        .random(in: 0..<3600, using: &random), .random(in: 0..<86_400, using: &random),
        .random(in: 0..<40, using: &random) * 86_400, .random(in: 0..<800, using: &random) * 86_400,
        .random(in: 0..<100_000, using: &random) * 86_400,
      ]) * second
    elapsed += pick([0, 0, 1, -1, second, -second, .random(in: -day...day, using: &random)])
    return (
      LocalTime(microseconds: now - elapsed, utcOffset: there),
      LocalTime(microseconds: now, utcOffset: here)
    )
  }

  @Test("generated times around every threshold agree with a naive calendar")
  func thresholds() throws {
    var random = Seeded(2026)
    var seen: Set<RelativeTime> = []
    for _ in 0..<15_000 {
      var (time, now) = Self.pair(&random)
      if Bool.random(using: &random) { swap(&time, &now) }
      let relative = RelativeTime(from: time, to: now)
      try #require(relative == Self.model(from: time, to: now), "\(time) \(now)")
      seen.insert(relative)
    }
    // Both directions of every unit, and every week, day and month.
    for unit in RelativeTime.Unit.allCases.dropFirst() {
      let range =
        switch unit {
        case .day: 1...6
        case .week: 1...4
        case .month: 1...11
        default: 1...2
        }
      for amount in range {
        #expect(seen.contains(RelativeTime(unit: unit, amount: -amount)))
        #expect(seen.contains(RelativeTime(unit: unit, amount: amount)))
      }
    }
    #expect(seen.contains(RelativeTime(unit: .second, amount: 0)))
  }

  @Test("an earlier time is never described as later, and neither exceeds the elapsed time")
  func monotone() throws {
    func rank(_ time: RelativeTime) -> (Int, Int) {
      (RelativeTime.Unit.allCases.firstIndex(of: time.unit) ?? 0, -time.amount)
    }
    var random = Seeded(7)
    for _ in 0..<8_000 {
      let offset = [0, 32_400, -36_000].randomElement(using: &random) ?? 0
      let (a, now) = Self.pair(&random, offset: offset)
      let step = Self.pair(&random, offset: offset)
      let b = LocalTime(
        microseconds: a.microseconds - abs(step.1.microseconds - step.0.microseconds),
        utcOffset: offset)
      guard a.microseconds <= now.microseconds else { continue }
      let (later, earlier) = (RelativeTime(from: a, to: now), RelativeTime(from: b, to: now))
      try #require(rank(later) <= rank(earlier), "\(a) \(b) \(now)")
      // A day counts dates, so it may be a day less.
      let lengths: [RelativeTime.Unit: Int64] = [
        .second: 1, .minute: 60, .hour: 3600, .day: 86_400, .week: 7 * 86_400,
        .month: 28 * 86_400, .year: 365 * 86_400,
      ]
      let least = Int64(-earlier.amount) * (lengths[earlier.unit] ?? 0) * Self.second
      let slack = rank(earlier).0 >= 3 ? Self.day : 0
      try #require(least <= now.microseconds - b.microseconds + slack)
    }
  }

  @Test("the future mirrors the past")
  func mirror() throws {
    var random = Seeded(9)
    for _ in 0..<5000 {
      let (a, b) = Self.pair(&random)
      let (there, back) = (RelativeTime(from: a, to: b), RelativeTime(from: b, to: a))
      try #require(there.unit == back.unit && there.amount == -back.amount, "\(a) \(b)")
    }
  }

  @Test("any two times and offsets have a text in every locale")
  func extremes() throws {
    let times: [Int64] = [
      .min, .min + 1, -(1 << 62), -Self.day, -1, 0, 1, Self.day, 1 << 62, .max - 1, .max,
    ]
    let offsets = [Int.min, -64_801, -1, 0, 1, 64_801, .max]
    let engine = AlarmTextEngine.builtIn
    for locale in engine.locales {
      let id = engine.localeID(locale)
      for (from, to) in times.flatMap({ time in times.map { (time, $0) } }) {
        for (there, here) in offsets.flatMap({ offset in offsets.map { (offset, $0) } }) {
          let time = LocalTime(microseconds: from, utcOffset: there)
          let now = LocalTime(microseconds: to, utcOffset: here)
          #expect(!engine.timeAgo(from: time, to: now, locale: id).isEmpty)
        }
      }
      for unit in RelativeTime.Unit.allCases {
        for amount in [Int.min, .max] {
          #expect(!engine.text(RelativeTime(unit: unit, amount: amount), locale: id).isEmpty)
        }
      }
    }
    #expect(
      engine.timeAgo(
        from: LocalTime(microseconds: .min), to: LocalTime(microseconds: .max), locale: "en")
        == "584,554 years ago")
  }

  @Test(
    "yesterday is the previous date on the reader's calendar",
    arguments: [
      // In March 2026, UTC: now, the time; and the UTC offset then and now, in hours. The 0th is
      // February 28th.
      ("02T00:30", "01T23:50", 0, 0, "40 minutes ago"),
      ("02T00:30", "01T22:10", 0, 0, "2 hours ago"),
      ("02T09:00", "01T23:00", 0, 0, "yesterday"), ("02T23:59", "02T00:01", 0, 0, "23 hours ago"),
      ("02T23:59", "01T00:00", 0, 0, "yesterday"), ("02T01:00", "00T23:00", 0, 0, "2 days ago"),
      // In Seoul: 18:00 and 08:00 of one date, then 03:00 and 20:00 of two dates.
      ("02T09:00", "01T23:00", 9, 9, "10 hours ago"), ("02T18:00", "02T11:00", 9, 9, "yesterday"),
      // Flown from Seoul to Honolulu, where it is still the date before.
      ("02T09:00", "01T23:00", 9, -10, "10 hours ago"),
    ] as [(String, String, Int, Int, String)])
  func yesterday(now: String, time: String, there: Int, here: Int, expected: String) throws {
    func local(_ text: String, _ offset: Int) throws -> LocalTime {
      let day = try #require(Int64(text.prefix(2)))
      let hour = try #require(Int64(text.dropFirst(3).prefix(2)))
      let minute = try #require(Int64(text.suffix(2)))
      // 2026-03-01 is day 20,513.
      let days = 20_512 + day
      return LocalTime(
        microseconds: ((days * 24 + hour) * 60 + minute) * 60 * Self.second,
        utcOffset: offset * 3600)
    }
    let text = AlarmTextEngine.builtIn.timeAgo(
      from: try local(time, there), to: try local(now, here), locale: "en-US")
    #expect(text == expected)
  }
}
