/// A start, and how it repeats: a sequence of nominal times, at most one a day, all at the start's
/// time of day.
///
/// Nominal times are local. `Zone.instant(of:)` tells when one is due. As they are a day apart or
/// more, and a gap is at most a day, their instants are in the same order, if not always distinct:
/// two are the same where a zone skipped a whole day.
public struct Schedule: Hashable, Sendable {
  /// The first time that may be an occurrence. It is one if it matches the rule.
  public let start: LocalTime
  /// Nil for the start alone.
  public let rule: RecurrenceRule?

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
  }

  /// The first occurrence strictly after a nominal time; nil if there is none. None is after the
  /// year 2199.
  ///
  /// - Parameters:
  ///   - time: nil for the first occurrence of all.
  ///   - zone: matters if the rule ends at an instant.
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
      // The end is in the middle of its day, so this repeats for days, not for years.
      day = last - 1
    }
    return nil
  }

  /// Whether a nominal time is an occurrence.
  public func contains(_ time: LocalTime, in zone: Zone) -> Bool {
    last(notAfter: time, in: zone) == time
  }

  private var days: OccurrenceDays { OccurrenceDays(start: start.day, rule: rule) }

  private func isBeforeEnd(_ occurrence: LocalTime, _ zone: Zone) -> Bool {
    switch rule?.until {
    case nil: true
    case .local(let end): occurrence <= end
    case .instant(let end): zone.instant(of: occurrence) <= end
    }
  }

  /// A day after which there is no occurrence, if the rule has an end: not always the last one.
  private func lastDay(in zone: Zone) -> Int? {
    switch rule?.until {
    case nil: nil
    case .local(let end): end.day
    // Clocks that were put back since may show an earlier day than before.
    case .instant(let end): zone.local(at: end).day + 1
    }
  }
}
