import Events

/// The offsets after a TZif file's last transition, from the file's footer, a POSIX TZ string.
struct YearlyRule: Sendable, Equatable {
  /// Seconds east of UTC in standard time.
  var standard: Int
  /// Daylight saving time, if the zone has it.
  var daylight: Daylight?

  struct Daylight: Sendable, Equatable {
    /// Seconds east of UTC.
    var offset: Int
    var start: Change
    var end: Change
  }

  /// When the clocks change each year: a day, and a local time by the clocks before the change.
  struct Change: Sendable, Equatable {
    var day: Day
    /// Seconds after the day's midnight: -167 hours to 167 hours (RFC 9636 section 3.3.2).
    var time: Int

    enum Day: Sendable, Equatable {
      /// `Jn`: day 1 to 365, February 29 not counted.
      case dayWithoutLeap(Int)
      /// `n`: day 0 to 365, February 29 counted.
      case day(Int)
      /// `Mm.w.d`: month 1 to 12; week 1 to 5, 5 being the last; day 0 to 6, 0 being Sunday.
      case weekday(month: Int, week: Int, day: Int)
    }
  }

  /// Seconds east of UTC at an instant.
  func offset(at instant: Int64) -> Int {
    guard daylight != nil else { return standard }
    // A change lies at most a week and two days outside its year, so the last change before the
    // instant is in one of these years.
    let year = Self.year(of: instant)
    return changes(in: year - 2...year + 1).last { $0.instant <= instant }?.offset ?? standard
  }

  /// The offset changes after `start`, up to and including `end`, ascending. Both are in seconds
  /// since 1970-01-01T00:00:00Z.
  func changes(after start: Int64, through end: Int64) -> [OffsetChange] {
    guard daylight != nil, start < end else { return [] }
    return changes(in: Self.year(of: start) - 1...Self.year(of: end) + 1)
      .filter { start < $0.instant && $0.instant <= end }
  }

  private static func year(of instant: Int64) -> Int {
    CivilDate(dayNumber: Int(instant).quotient(86_400)).year
  }

  private func changes(in years: ClosedRange<Int>) -> [OffsetChange] {
    guard let daylight else { return [] }
    var changes: [OffsetChange] = []
    for year in years {
      let start = daylight.start.secondsOfUTC(in: year, offset: standard)
      let end = daylight.end.secondsOfUTC(in: year, offset: daylight.offset)
      changes.append(OffsetChange(instant: Int64(start), offset: daylight.offset))
      changes.append(OffsetChange(instant: Int64(end), offset: standard))
    }
    // All-year daylight saving time ends at the instant at which it starts (RFC 9636 section
    // 3.3.2), so of two simultaneous changes the start wins: it is sorted last.
    let offset = daylight.offset
    changes.sort {
      ($0.instant, $0.offset == offset ? 1 : 0) < ($1.instant, $1.offset == offset ? 1 : 0)
    }
    return changes
  }
}

extension YearlyRule.Change {
  /// Seconds since 1970-01-01T00:00:00Z.
  ///
  /// - Parameter offset: the offset before the change, in seconds east of UTC.
  func secondsOfUTC(in year: Int, offset: Int) -> Int {
    dayNumber(in: year) * 86_400 + time - offset
  }

  /// Days since 1970-01-01.
  private func dayNumber(in year: Int) -> Int {
    let newYear = CivilDate(year: year, month: 1, day: 1).dayNumber
    switch day {
    case .day(let day): return newYear + day
    case .dayWithoutLeap(let day):
      return newYear + day - 1 + (day > 59 && CivilDate.isLeap(year) ? 1 : 0)
    case .weekday(let month, let week, let day):
      let first = CivilDate(year: year, month: month, day: 1).dayNumber
      // 1970-01-01 was a Thursday, day 4.
      let firstMatch = (day - (first + 4)).modulo(7)
      let length = CivilDate.days(inMonth: month, of: year)
      let match = firstMatch + (week - 1) * 7
      return first + (match < length ? match : match - 7)
    }
  }
}
