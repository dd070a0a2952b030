import Events

/// The days on which a schedule has occurrences, as days since 1970-01-01. Applies COUNT but not
/// UNTIL.
struct OccurrenceDays {
  var start: Int
  var rule: RecurrenceRule?

  private static let latest = LocalTime.latest.day

  /// The first day of the schedule that is `day` or later.
  func first(from day: Int) -> Int? {
    guard let rule else { return day <= start ? start : nil }
    guard let first = first(from: day, rule) else { return nil }
    if let count = rule.count, let end = self.day(number: count, rule), end < first { return nil }
    return first
  }

  /// The last day of the schedule that is `day` or earlier.
  func last(through day: Int) -> Int? {
    guard day >= start else { return nil }
    guard let rule else { return start }
    var day = min(day, Self.latest)
    if let count = rule.count, let end = self.day(number: count, rule) { day = min(day, end) }
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
    var number = number - 1
    var period = 0
    let last = self.period(of: Self.latest, rule)
    while period <= last {
      let days = days(ofPeriod: period, rule).filter { $0 >= start }
      if number < days.count { return days[number] }
      number -= days.count
      period += 1
      // Every period selects the same number of days, except for months and for the first period,
      // which the start may cut short. So whole periods are skipped by division.
      if rule.frequency != .monthly, period == 1 {
        let size = max(1, rule.weekdays.count)
        period += number / size
        number %= size
      }
    }
    return nil
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
      let (year, number) = (month.quotient(12), month.modulo(12) + 1)
      let length = CivilDate.days(inMonth: number, of: year)
      let first = CivilDate(year: year, month: number, day: 1).dayNumber
      let monthDays = rule.monthDays.isEmpty ? [CivilDate(dayNumber: start).day] : rule.monthDays
      let days = Set(monthDays.map { $0 > 0 ? $0 : length + 1 + $0 })
      return days.filter { 1...length ~= $0 }.sorted().map { first + $0 - 1 }
    }
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
