public import Events
public import Schedules

/// A person's quiet hours: a part of each day without alerts, in local time.
public struct QuietHours: Sendable, Hashable {
  /// Seconds after midnight, 0..<86400. Never equal; `until` is before `from` if midnight is
  /// between.
  public var from: Int
  public var until: Int

  /// - Returns: nil if a time is out of bounds, or both are equal.
  public init?(from: Int, until: Int) {
    guard 0..<86_400 ~= from, 0..<86_400 ~= until, from != until else { return nil }
    (self.from, self.until) = (from, until)
  }

  /// The end of the current quiet hours.
  ///
  /// An end that a change of clocks skips is resolved as in reminders' schedules. Of an end that
  /// occurs twice, the first is used, unless it has passed.
  ///
  /// - Returns: nil outside the quiet hours.
  public func end(at now: EventTime, in zone: Zone) -> EventTime? {
    let seconds = now.microseconds / 1_000_000
    let local = zone.local(at: seconds)
    let time = local.secondsOfDay
    let isQuiet = from < until ? from..<until ~= time : time >= from || time < until
    guard isQuiet else { return nil }
    let day = time < until ? local.day : local.day + 1
    let end = zone.instant(of: LocalTime(day: day, secondsOfDay: until))
    // In a repeated hour the local time can be before the end although the end's first instant has
    // passed.
    return EventTime(microseconds: max(end, seconds + 1) * 1_000_000)
  }
}
