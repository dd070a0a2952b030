/// Random moments: a fixed number in every day or week, within a window of the day.
///
/// The moments of a period are nominal local times. They are a pure function of a key and the
/// period, so recomputing them gives the same times, and nobody without the key can predict them.
public struct Cycle: Hashable, Sendable {
  public enum Period: String, CaseIterable, Sendable {
    case day
    /// The ISO 8601 week, which begins on Monday.
    case week

    /// 1 or 7.
    var days: Int { self == .day ? 1 : 7 }
  }

  /// The window's start, in seconds of the day, 0 to 86,399.
  public let from: Int
  /// The window's end, exclusive, in seconds of the day, 0 to 86,400; if it is not after `from`, the
  /// window ends on the next day. A window belongs to the day on which it starts.
  public let to: Int
  /// The number of moments in a period, 1 to 100.
  public let times: Int
  public let period: Period

  public static let timesLimit = 100
  /// The minimum time per moment, in seconds, of a window or of a week's windows together.
  public static let secondsPerMoment = 60

  /// - Throws: `ScheduleError` for a value outside its bounds, and for a window that has less than 60
  ///   seconds for each moment.
  public init(from: Int, to: Int, times: Int, period: Period) throws(ScheduleError) {
    guard 0..<86_400 ~= from, 0...86_400 ~= to else {
      throw ScheduleError(
        part: "window",
        message: "its ends are seconds of the day: 0 to 86399 for the start, 0 to 86400 for the end"
      )
    }
    guard 1...Self.timesLimit ~= times else {
      throw ScheduleError(part: "times", message: "it must be 1 to \(Self.timesLimit)")
    }
    self.from = from
    self.to = to
    self.times = times
    self.period = period
    guard total / times >= Self.secondsPerMoment else {
      throw ScheduleError(
        part: "window",
        message: "it has \(total) seconds for \(times) moments; each needs "
          + "\(Self.secondsPerMoment)")
    }
  }

  /// The window's length in seconds, up to a day.
  public var window: Int { to > from ? to - from : to + 86_400 - from }

  /// The total length of a period's windows, in seconds.
  private var total: Int { window * period.days }

  /// The minimum distance between two moments in seconds, also across periods; the hours between
  /// windows do not count. It is a quarter of a slot, which is one moment's share of the windows.
  ///
  /// This holds for local times. If the clocks change between two moments, the distance between
  /// their instants differs.
  public var minimumGap: Int { 2 * Self.margin(of: total / times) }

  /// An eighth of a slot, rounded up: the part at each end of a slot in which no moment falls.
  private static func margin(of slot: Int) -> Int { (slot + 7) / 8 }

  /// The first day of the period that contains a day; both as days since 1970-01-01.
  public func period(of day: Int) -> Int {
    period == .day ? day : day - Weekday(day: day).days(since: .monday)
  }

  /// The moments of a period, ascending and distinct. With a window that ends on the next day, the
  /// last one may be after the period's last midnight.
  ///
  /// A period's windows are divided into as many equal slots, to the second, as it has moments.
  /// Each is uniformly random in the middle three quarters of its slot.
  ///
  /// - Parameters:
  ///   - day: any day of the period, as days since 1970-01-01.
  ///   - key: see `key(secret:user:cycle:)`.
  /// - Returns: an empty array if the period does not begin and end in the years 2000 to 2199.
  public func moments(in day: Int, key: [UInt8]) -> [LocalTime] {
    guard LocalTime.earliest.day...LocalTime.latest.day ~= day else { return [] }
    let first = period(of: day)
    guard first >= LocalTime.earliest.day, first + period.days - 1 <= LocalTime.latest.day else {
      return []
    }
    let bits = KeyedBits(key: key)
    return (0..<times).map { index in
      let start = index * total / times
      let end = (index + 1) * total / times
      let margin = Self.margin(of: end - start)
      let choices = end - margin - (start + margin) + 1
      let choice = bits.number(below: choices, for: "moment", first, index)
      let (day, time) = (start + margin + choice).quotientAndRemainder(dividingBy: window)
      return LocalTime(day: first + day, secondsOfDay: from + time)
    }
  }

  /// The first moment strictly after a nominal time; nil after the year 2199.
  public func next(after time: LocalTime, key: [UInt8]) -> LocalTime? {
    moments(around: time, key: key).first { $0 > time }
  }

  /// The newest moment at or before a nominal time; nil before the year 2000.
  public func last(notAfter time: LocalTime, key: [UInt8]) -> LocalTime? {
    moments(around: time, key: key).last { $0 <= time }
  }

  /// The moments of the period of `time`, the next one and the two before, ascending. These
  /// suffice: each period has at least one moment, at most a day after the period's end. So the
  /// last moment of the previous period may still be ahead, but that of the one before it is not.
  private func moments(around time: LocalTime, key: [UInt8]) -> [LocalTime] {
    // Times outside the supported years have the same neighbors as its first or last second.
    let time = min(max(time, LocalTime.earliest), LocalTime.latest)
    let day = period(of: time.day)
    return (-2...1).flatMap { moments(in: day + $0 * period.days, key: key) }
  }
}
