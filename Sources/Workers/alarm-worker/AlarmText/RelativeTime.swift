/// A moment, and the UTC offset of the reader's clock at that moment. A zone with daylight saving
/// time has different offsets for two moments.
public struct LocalTime: Sendable, Hashable {
  /// Since 1970-01-01 UTC.
  public let microseconds: Int64
  /// Seconds east of UTC.
  public let utcOffset: Int

  /// No zone was ever further from UTC than this: 18 hours.
  static let offsetLimit = 18 * 3600

  /// - Parameters:
  ///   - microseconds: since 1970-01-01 UTC; any value.
  ///   - utcOffset: seconds east of UTC, limited to 18 hours in either direction.
  public init(microseconds: Int64, utcOffset: Int = 0) {
    self.microseconds = microseconds
    self.utcOffset = min(max(utcOffset, -Self.offsetLimit), Self.offsetLimit)
  }

  /// Days from 1970-01-01 to the date on the reader's calendar.
  var day: Int {
    let seconds = floorDivide(Int(microseconds), 1_000_000)
    return floorDivide(seconds + utcOffset, 86_400)
  }
}

/// How long ago a time was, or how far ahead it is, in the unit that a list shows.
///
/// | condition, the first that applies | result |
/// |---|---|
/// | less than a minute | zero seconds: "now" |
/// | less than an hour | minutes |
/// | less than 6 hours, or the same date | hours |
/// | less than 7 dates apart | days: "yesterday" for the previous date |
/// | less than a complete month | weeks of 7 dates |
/// | less than 12 complete months | months |
/// | otherwise | years of 12 complete months |
///
/// Seconds, minutes and hours are elapsed time. Days and longer units count dates of the proleptic
/// Gregorian calendar in the reader's zone. A month is complete on the date with the same number in
/// the next month, or on the first date after it: from January 31st, on March 1st. Incomplete units
/// are dropped. The same rules apply to future times.
public struct RelativeTime: Sendable, Hashable {
  /// The units, in ascending order.
  public enum Unit: String, Sendable, CaseIterable {
    case second, minute, hour, day, week, month, year
  }

  public let unit: Unit
  /// Negative in the past, as in ECMAScript's `Intl.RelativeTimeFormat`.
  public let amount: Int

  /// Up to this, "2 hours ago" says more than "yesterday", also just after midnight.
  private static let hoursAcrossMidnight = 6

  public init(unit: Unit, amount: Int) {
    self.unit = unit
    self.amount = amount
  }

  /// - Parameters:
  ///   - time: when it happened.
  ///   - now: the present.
  public init(from time: LocalTime, to now: LocalTime) {
    let isPast = time.microseconds <= now.microseconds
    let (earlier, later) = isPast ? (time, now) : (now, time)
    let (unit, count) = Self.span(from: earlier, to: later)
    self.init(unit: unit, amount: isPast ? -count : count)
  }

  private static func span(from earlier: LocalTime, to later: LocalTime) -> (Unit, Int) {
    // The difference of two Int64 fits in UInt64.
    let elapsed = UInt64(bitPattern: later.microseconds &- earlier.microseconds)
    let seconds = Int(elapsed / 1_000_000)
    if seconds < 60 { return (.second, 0) }
    if seconds < 3600 { return (.minute, seconds / 60) }
    let (firstDay, lastDay) = (earlier.day, later.day)
    let days = lastDay - firstDay
    // A journey across the date line can make `days` negative.
    if seconds < hoursAcrossMidnight * 3600 || days < 1 { return (.hour, seconds / 3600) }
    if days < 7 { return (.day, days) }
    let months = CalendarDate(day: firstDay).completeMonths(to: CalendarDate(day: lastDay))
    if months < 1 { return (.week, days / 7) }
    return months < 12 ? (.month, months) : (.year, months / 12)
  }
}

/// A date of the proleptic Gregorian calendar.
private struct CalendarDate {
  /// Months since March of year 0.
  let month: Int
  /// 0 to 30.
  let dayOfMonth: Int

  /// - Parameter day: days since 1970-01-01.
  init(day: Int) {
    // Years that begin in March end with the leap day. 146,097 days are 400 years, 719,468 days
    // lead from 0000-03-01 to 1970-01-01.
    let shifted = day + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    // Five months from March, and from August, have 153 days.
    let monthOfYear = (5 * dayOfYear + 2) / 153
    month = (era * 400 + yearOfEra) * 12 + monthOfYear
    dayOfMonth = dayOfYear - (153 * monthOfYear + 2) / 5
  }

  func completeMonths(to later: CalendarDate) -> Int {
    later.month - month - (later.dayOfMonth < dayOfMonth ? 1 : 0)
  }
}

/// The quotient, rounded towards negative infinity.
private func floorDivide(_ dividend: Int, _ divisor: Int) -> Int {
  let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
  return remainder < 0 ? quotient - 1 : quotient
}
