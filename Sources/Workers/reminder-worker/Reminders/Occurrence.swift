import Events
import Schedules

/// An occurrence that has become due.
struct Occurrence: Equatable {
  /// The occurrence's name: its local time according to the timetable.
  var local: LocalTime
  /// Microseconds since 1970.
  var dueAt: Int64
}

/// How late an occurrence may still ring.
struct LateBounds: Sendable {
  /// A reminder that has been due for longer than this is recorded as missed; a digest is skipped.
  var reminderSeconds: Int64 = 86_400
  /// A moment of a cycle that has been due for longer than this is skipped: ringing it when the
  /// worker comes back would not be random. All others ring.
  static let cycleSeconds: Int64 = 300
  /// A reminder that rings later than this states when it was due.
  static let punctualSeconds: Int64 = 60
}

/// A timetable applied in a time zone.
struct Plan {
  var timetable: Timetable
  var zone: Zone

  /// The occurrence at `local`, with its instant in the zone.
  ///
  /// A cycle may have several moments near a gap. Those inside it are due when it ends, and so in order with those
  /// after it. Occurrences of a schedule are a day apart.
  func occurrence(_ local: LocalTime) -> Occurrence {
    let isCycle = if case .cycle = timetable { true } else { false }
    return Occurrence(
      local: local, dueAt: zone.instant(of: local, clampsGaps: isCycle) * 1_000_000)
  }

  /// The first occurrence after `local`.
  func next(after local: LocalTime) -> Occurrence? {
    timetable.next(after: local, in: zone).map(occurrence)
  }

  /// A local time such that exactly the occurrences after it are due after an instant (in
  /// microseconds).
  func start(after instant: Int64) -> LocalTime {
    newest(dueAt: instant) ?? earlier(than: local(instant), dueAfter: instant)
  }

  /// The newest occurrence after `start` that is due by an instant (in microseconds).
  func newest(after start: LocalTime, dueAt instant: Int64) -> Occurrence? {
    guard let newest = newest(dueAt: instant), newest > start else { return nil }
    return occurrence(newest)
  }

  private func newest(dueAt instant: Int64) -> LocalTime? {
    let now = local(instant)
    var newest = timetable.last(notAfter: now, in: zone)
    // A local time inside a gap is due only after the clocks have skipped it, so the newest local
    // time up to `now` may not be due yet.
    while let time = newest, occurrence(time).dueAt > instant {
      newest = timetable.last(notAfter: LocalTime(seconds: time.seconds - 1), in: zone)
    }
    // A local time that exists twice means its first instant, so local times after `now` may be due
    // already.
    while let next = next(after: newest ?? now), next.dueAt <= instant { newest = next.local }
    return newest
  }

  /// A local time before those occurrences at or before `time` that are due only after the instant.
  private func earlier(than time: LocalTime, dueAfter instant: Int64) -> LocalTime {
    var start = time
    while let last = timetable.last(notAfter: start, in: zone), occurrence(last).dueAt > instant {
      start = LocalTime(seconds: last.seconds - 1)
    }
    return start
  }

  private func local(_ instant: Int64) -> LocalTime {
    // Rounds down, also for times before 1970.
    zone.local(at: instant.quotient(1_000_000))
  }
}
