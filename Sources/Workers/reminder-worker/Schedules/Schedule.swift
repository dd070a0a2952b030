/// A start and an optional recurrence: a sequence of nominal times, at most one a day, all at the
/// start's time of day.
///
/// Nominal times are local; `Zone.instant(of:)` converts them to instants. They are at least a day
/// apart and a gap is at most a day, so the instants have the same order. Two instants are equal
/// where a zone skipped a whole day.
public struct Schedule: Hashable, Sendable {
  /// The earliest possible occurrence. It is one only if it matches the rule.
  public let start: LocalTime
  /// Nil if the schedule has the start as its only occurrence.
  public let rule: RecurrenceRule?
  private let days: OccurrenceDays

  /// - Throws: `ScheduleError` if the start is not in the years 2000 to 2199.
  public init(start: LocalTime, rule: RecurrenceRule? = nil) throws(ScheduleError) {
    guard LocalTime.earliest <= start, start <= LocalTime.latest else {
      throw ScheduleError(
        part: "start",
        message: "it must be in the years \(LocalTime.years.lowerBound) to "
          + "\(LocalTime.years.upperBound)")
    }
    self.start = start
    self.rule = rule
    days = OccurrenceDays(start: start.day, rule: rule)
  }

  /// The first occurrence strictly after a nominal time; nil if there is none by the end of the
  /// year 2199.
  ///
  /// - Parameters:
  ///   - time: nil for the very first occurrence.
  ///   - zone: matters only if the rule's UNTIL is an instant.
  public func next(after time: LocalTime?, in zone: Zone) -> LocalTime? {
    let day = time.map { $0.secondsOfDay < start.secondsOfDay ? $0.day : $0.day + 1 }
    guard let next = days.first(from: max(day ?? start.day, start.day)) else { return nil }
    let occurrence = LocalTime(day: next, secondsOfDay: start.secondsOfDay)
    return isBeforeEnd(occurrence, zone) ? occurrence : nil
  }

  /// The newest occurrence at or before a nominal time; nil if there is none.
  public func last(notAfter time: LocalTime, in zone: Zone) -> LocalTime? {
    var day = time.secondsOfDay < start.secondsOfDay ? time.day - 1 : time.day
    if let end = lastDay(in: zone) { day = min(day, end) }
    while let last = days.last(through: day) {
      let occurrence = LocalTime(day: last, secondsOfDay: start.secondsOfDay)
      if isBeforeEnd(occurrence, zone) { return occurrence }
      // The last day or two may be past the end of the rule, so this repeats for days, not years.
      day = last - 1
    }
    return nil
  }

  /// Whether a nominal time is an occurrence.
  public func contains(_ time: LocalTime, in zone: Zone) -> Bool {
    last(notAfter: time, in: zone) == time
  }

  private func isBeforeEnd(_ occurrence: LocalTime, _ zone: Zone) -> Bool {
    switch rule?.until {
    case nil: true
    case .local(let end): occurrence <= end
    case .instant(let end): zone.instant(of: occurrence) <= end
    }
  }

  /// An upper bound for the day of the last occurrence; nil if the rule has no UNTIL.
  private func lastDay(in zone: Zone) -> Int? {
    switch rule?.until {
    case nil: nil
    case .local(let end): end.day
    // Clocks that are set back at the end may show an earlier date than shortly before.
    case .instant(let end): zone.local(at: end).day + 1
    }
  }
}
