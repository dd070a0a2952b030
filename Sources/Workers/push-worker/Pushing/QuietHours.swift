public import Events
public import Schedules

/// The hours of a day in which a person wants to be left alone, in local time.
public struct QuietHours: Sendable, Hashable {
  /// Seconds after midnight, 0..<86400. Different; the second may be before the first, across midnight.
  public var from: Int
  public var until: Int

  /// - Returns: nil if a time is out of bounds, or both are equal.
  public init?(from: Int, until: Int) {
    guard 0..<86_400 ~= from, 0..<86_400 ~= until, from != until else { return nil }
    (self.from, self.until) = (from, until)
  }

  /// The end of the quiet hours that are now.
  ///
  /// An end that a change of clocks skips is taken as the schedules of reminders take it. One that comes
  /// twice is the first, unless that is over.
  ///
  /// - Returns: nil if they are not now.
  public func end(at now: EventTime, in zone: Zone) -> EventTime? {
    let seconds = now.microseconds / 1_000_000
    let local = zone.local(at: seconds)
    let time = local.secondsOfDay
    let isQuiet = from < until ? from..<until ~= time : time >= from || time < until
    guard isQuiet else { return nil }
    let day = time < until ? local.day : local.day + 1
    let end = zone.instant(of: LocalTime(day: day, secondsOfDay: until))
    // In the repeated hour the local time is before the end, and its first instant is not.
    return EventTime(microseconds: max(end, seconds + 1) * 1_000_000)
  }
}
