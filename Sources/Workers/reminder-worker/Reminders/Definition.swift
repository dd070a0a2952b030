import Events
import Schedules

/// The definition of a reminder, a cycle or a digest, as of its newest event. Stored as JSON.
struct Definition: Codable, Equatable, Sendable {
  enum Form: String, Codable { case reminder, cycle, digest }

  /// What is shown when an occurrence rings.
  struct Item: Codable, Equatable, Sendable {
    /// Empty for a reminder, which has a single item.
    var id = ""
    var title: String
    var memo: String
    var symbol: String
    var link: String
  }

  var form: Form
  /// The kind of the alarm, such as `F39`.
  var kind: String
  /// An IANA time zone; empty to follow the zone in the person's profile.
  var zone: String
  /// The first local time of a reminder, `2026-11-23T07:00:00`, or a digest's time of day, `08:00`.
  var at: String?
  /// An RFC 5545 recurrence rule; nil for a reminder that rings once.
  var repeats: String?
  /// A reminder has one item, a digest none.
  var items: [Item] = []
  /// A cycle's window, in seconds of the local day, and the number of its moments per period.
  var window: Window?
  /// The weekdays of a digest (`mo`, …); empty for every day.
  var days: [String]?
  /// The numbers of the kinds that a digest counts; empty for all kinds.
  var kinds: [Int16]?
  /// Whether alarms of these kinds are held for the digest instead of ringing on their own.
  var holds: Bool?

  struct Window: Codable, Equatable, Sendable {
    var from: Int
    var to: Int
    var times: Int
    var isWeekly: Bool
  }
}

extension Definition {
  /// Whether it repeats without an end, as `isEndless` in SQL.
  var isEndless: Bool {
    guard let repeats = repeats?.uppercased() else { return window != nil }
    return !repeats.contains("COUNT") && !repeats.contains("UNTIL")
  }
}

extension Change {
  /// Whether a reminder or cycle may have an occurrence after an instant (in microseconds), in any time zone.
  func canBeToCome(after instant: Int64) -> Bool {
    guard let definition, !reminder.isEmpty else { return false }
    guard definition.repeats == nil, definition.window == nil else { return true }
    guard let at = definition.at, let local = try? LocalTime(at) else { return true }
    return local.seconds > instant.quotient(1_000_000) - 2 * 86_400
  }
}

/// SQL: whether the row of `reminders r` repeats without an end.
let isEndless =
  "(r.definition ? 'window' OR r.definition ->> 'repeats' !~* 'COUNT|UNTIL')"

/// The local times at which a definition rings.
enum Timetable: Sendable {
  case schedule(Schedule)
  case cycle(Cycle, key: [UInt8])

  /// The first occurrence after a local time.
  func next(after time: LocalTime, in zone: Zone) -> LocalTime? {
    switch self {
    case .schedule(let schedule): schedule.next(after: time, in: zone)
    case .cycle(let cycle, let key): cycle.next(after: time, key: key)
    }
  }

  func contains(_ time: LocalTime, in zone: Zone) -> Bool {
    next(after: LocalTime(seconds: time.seconds - 1), in: zone) == time
  }

  /// The last occurrence at or before a local time.
  func last(notAfter time: LocalTime, in zone: Zone) -> LocalTime? {
    switch self {
    case .schedule(let schedule): schedule.last(notAfter: time, in: zone)
    case .cycle(let cycle, let key): cycle.last(notAfter: time, key: key)
    }
  }
}

extension Definition {
  /// - Parameter key: the key from which a cycle's random moments are derived.
  /// - Throws: `ScheduleError` for a time, a rule or a window that is not supported.
  func timetable(key: @autoclosure () -> [UInt8]) throws(ScheduleError) -> Timetable {
    if let window {
      let cycle = try Cycle(
        from: window.from, to: window.to, times: window.times,
        period: window.isWeekly ? .week : .day)
      return .cycle(cycle, key: key())
    }
    let start = at ?? ""
    var rule: RecurrenceRule?
    if let repeats { rule = try RecurrenceRule(repeats) }
    // A digest has only a time of day; its rule selects the days. 2000-01-03 is a Monday.
    let first = try LocalTime(form == .digest ? "2000-01-03T\(start)" : start)
    return .schedule(try Schedule(start: first, rule: rule))
  }
}
