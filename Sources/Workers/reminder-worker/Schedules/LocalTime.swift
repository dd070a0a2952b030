import Events

/// A date and a time of day without a zone, in whole seconds: what a wall clock shows.
///
/// A zone's rules turn it into an instant; see `Zone.instant(of:)`. Parsed times are in the years
/// 2000 to 2199; computed ones may lie outside.
public struct LocalTime: Hashable, Comparable, Sendable {
  /// Seconds since 1970-01-01T00:00:00, read as if the time were UTC.
  public var seconds: Int64

  public init(seconds: Int64) {
    self.seconds = seconds
  }

  /// A time on a day. Saturates instead of overflowing.
  ///
  /// - Parameters:
  ///   - day: days since 1970-01-01.
  ///   - secondsOfDay: seconds since midnight; 86,400 and more mean a later day.
  public init(day: Int, secondsOfDay: Int = 0) {
    let limit = Int(Self.bound)
    let day = min(max(day, -limit / 86_400), limit / 86_400)
    seconds = Int64(day * 86_400 + min(max(secondsOfDay, -limit), limit))
  }

  /// Nil unless the date exists, the year is 2000 to 2199 and the time is 00:00:00 to 23:59:59.
  public init?(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
    guard Self.years ~= year else { return nil }
    self.init(anyYear: year, month: month, day: day, hour: hour, minute: minute, second: second)
  }

  /// As above, but for any year from 0 to 9999: the UNTIL of a rule may lie beyond 2199.
  init?(anyYear year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
    guard 0...9999 ~= year, 1...12 ~= month,
      day >= 1, day <= CivilDate.days(inMonth: month, of: year),
      0...23 ~= hour, 0...59 ~= minute, 0...59 ~= second
    else { return nil }
    self.init(
      day: CivilDate(year: year, month: month, day: day).dayNumber,
      secondsOfDay: hour * 3600 + minute * 60 + second)
  }

  /// The years that parsed times and all occurrences lie in.
  public static let years = 2000...2199
  /// 2000-01-01T00:00:00.
  public static let earliest = LocalTime(
    day: CivilDate(year: years.lowerBound, month: 1, day: 1).dayNumber)
  /// 2199-12-31T23:59:59.
  public static let latest = LocalTime(
    day: CivilDate(year: years.upperBound, month: 12, day: 31).dayNumber, secondsOfDay: 86_399)

  /// Larger than any computed time, and small enough that adding or subtracting days does not
  /// overflow.
  static let bound: Int64 = 1 << 55

  /// Days since 1970-01-01.
  public var day: Int { Int(seconds).quotient(86_400) }

  /// Seconds since midnight, 0 to 86,399.
  public var secondsOfDay: Int { Int(seconds).modulo(86_400) }

  public var weekday: Weekday { Weekday(day: day) }

  /// The year, the month (1 to 12) and the day of the month (1 to 31).
  public var date: (year: Int, month: Int, day: Int) {
    let date = CivilDate(dayNumber: day)
    return (date.year, date.month, date.day)
  }

  public static func < (first: LocalTime, second: LocalTime) -> Bool {
    first.seconds < second.seconds
  }
}
