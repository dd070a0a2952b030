import Events

/// The days on which a schedule has occurrences, as days since 1970-01-01. Applies COUNT but not
/// UNTIL.
struct OccurrenceDays: Hashable, Sendable {
  let start: Int
  let rule: RecurrenceRule?
  /// Of a monthly rule, the days that it selects in a month of 28 days, of 29, of 30 and of 31, ascending.
  private let selected: [[Int]]
  /// The last day by COUNT; nil without a COUNT, or if that day is after the last supported year.
  private var end: Int?

  private static let latest = LocalTime.latest.day

  init(start: Int, rule: RecurrenceRule?) {
    (self.start, self.rule) = (start, rule)
    selected = rule.map { Self.selected(by: $0, start: start) } ?? []
    if let rule, let count = rule.count { end = day(number: count, rule) }
  }

  private static func selected(by rule: RecurrenceRule, start: Int) -> [[Int]] {
    guard rule.frequency == .monthly else { return [] }
    let numbers = rule.monthDays.isEmpty ? [CivilDate(dayNumber: start).day] : rule.monthDays
    return (28...31).map { length in
      let days = Set(numbers.map { $0 > 0 ? $0 : length + 1 + $0 })
      return days.filter { 1...length ~= $0 }.sorted()
    }
  }

  /// The first day of the schedule that is `day` or later.
  func first(from day: Int) -> Int? {
    guard let rule else { return day <= start ? start : nil }
    guard let first = first(from: day, rule) else { return nil }
    if let end, end < first { return nil }
    return first
  }

  /// The last day of the schedule that is `day` or earlier.
  func last(through day: Int) -> Int? {
    guard day >= start else { return nil }
    guard let rule else { return start }
    var day = min(day, Self.latest)
    if let end { day = min(day, end) }
    var period = period(of: day, rule)
    while period >= 0 {
      if let last = days(ofPeriod: period, rule).last(where: { start <= $0 && $0 <= day }) {
        return last
      }
      period -= 1
    }
    return nil
  }

  private func first(from day: Int, _ rule: RecurrenceRule) -> Int? {
    let day = max(day, start)
    var period = period(of: min(day, Self.latest), rule)
    let end = self.period(of: Self.latest, rule)
    while period <= end {
      if let first = days(ofPeriod: period, rule).first(where: { $0 >= day }) {
        return first <= Self.latest ? first : nil
      }
      period += 1
    }
    return nil
  }

  /// The schedule's day with this ordinal, counted from 1; nil if it is after the last supported
  /// year.
  private func day(number: Int, _ rule: RecurrenceRule) -> Int? {
    // The start may cut the first period short.
    let first = days(ofPeriod: 0, rule).filter { $0 >= start }
    var number = number - 1
    if number < first.count { return first[number] }
    number -= first.count
    var period = 1
    let last = self.period(of: Self.latest, rule)
    if rule.frequency == .monthly {
      // There may be thousands of months, so their days are counted without listing them.
      let month = Self.month(of: start)
      while period <= last {
        let size = monthDays(inMonth: month + period * rule.interval).count
        if number < size { break }
        number -= size
        period += 1
      }
    } else {
      // Every other period selects the same number of days, so whole periods are skipped by division.
      let size = max(1, rule.weekdays.count)
      period += number / size
      number %= size
    }
    return period <= last ? days(ofPeriod: period, rule)[number] : nil
  }

  /// A period is a day, week or month that the rule selects; the start's period is 0. Returns the
  /// last period that begins on `day` or earlier.
  private func period(of day: Int, _ rule: RecurrenceRule) -> Int {
    switch rule.frequency {
    case .daily: (day - start).quotient(rule.interval)
    case .weekly: ((day - firstWeek(rule)).quotient(7)).quotient(rule.interval)
    case .monthly: (Self.month(of: day) - Self.month(of: start)).quotient(rule.interval)
    }
  }

  /// The days of a period that the rule selects, ascending. Some may be before the start.
  private func days(ofPeriod period: Int, _ rule: RecurrenceRule) -> [Int] {
    let steps = period * rule.interval
    switch rule.frequency {
    case .daily: return [start + steps]
    case .weekly:
      let week = firstWeek(rule) + steps * 7
      let weekdays = rule.weekdays.isEmpty ? [Weekday(day: start)] : rule.weekdays
      return weekdays.map { week + $0.days(since: rule.weekStart) }.sorted()
    case .monthly:
      let month = Self.month(of: start) + steps
      let first = CivilDate(year: month.quotient(12), month: month.modulo(12) + 1, day: 1).dayNumber
      return monthDays(inMonth: month).map { first + $0 - 1 }
    }
  }

  /// The days of a month that the rule selects, 1 to 31.
  ///
  /// - Parameter month: counted since January of year 0.
  private func monthDays(inMonth month: Int) -> [Int] {
    selected[CivilDate.days(inMonth: month.modulo(12) + 1, of: month.quotient(12)) - 28]
  }

  /// The first day of the start's week.
  private func firstWeek(_ rule: RecurrenceRule) -> Int {
    start - Weekday(day: start).days(since: rule.weekStart)
  }

  /// Months since January of year 0.
  private static func month(of day: Int) -> Int {
    let date = CivilDate(dayNumber: day)
    return date.year * 12 + date.month - 1
  }
}
