import Events
import Schedules

/// An occurrence that has become due.
struct Occurrence: Equatable {
  /// Its name: the local time that it has by its timetable.
  var local: LocalTime
  /// Microseconds since 1970.
  var dueAt: Int64
}

/// How late things may ring.
struct LateBounds: Sendable {
  /// A reminder or a digest that was due for longer is missed.
  var reminderSeconds: Int64 = 86_400
  /// A cycle's moment that was due for longer is skipped: it would not be random any more.
  static let cycleSeconds: Int64 = 300
  /// What rings later than this says when it was due.
  static let punctualSeconds: Int64 = 60
}

/// A timetable in a zone.
struct Plan {
  var timetable: Timetable
  var zone: Zone

  /// Where `local` is on the time line.
  func occurrence(_ local: LocalTime) -> Occurrence {
    Occurrence(local: local, dueAt: zone.instant(of: local) * 1_000_000)
  }

  /// The first occurrence after `local`.
  func next(after local: LocalTime) -> Occurrence? {
    timetable.next(after: local, in: zone).map(occurrence)
  }

  /// A local time such that the occurrences after it are those that are due after an instant (in
  /// microseconds).
  func start(after instant: Int64) -> LocalTime {
    newest(dueAt: instant) ?? earlier(than: local(instant), dueAfter: instant)
  }

  /// The newest occurrence after `start` that is due at an instant (in microseconds).
  func newest(after start: LocalTime, dueAt instant: Int64) -> Occurrence? {
    guard let newest = newest(dueAt: instant), newest > start else { return nil }
    return occurrence(newest)
  }

  private func newest(dueAt instant: Int64) -> LocalTime? {
    let now = local(instant)
    var newest = timetable.last(notAfter: now, in: zone)
    // A local time that does not exist is due after clocks have been set forward past it.
    while let time = newest, occurrence(time).dueAt > instant {
      newest = timetable.last(notAfter: LocalTime(seconds: time.seconds - 1), in: zone)
    }
    // Of a local time that exists twice the first counts, so later times may be due already.
    while let next = next(after: newest ?? now), next.dueAt <= instant { newest = next.local }
    return newest
  }

  /// The time before all occurrences at or before `time`, which are due only after the instant.
  private func earlier(than time: LocalTime, dueAfter instant: Int64) -> LocalTime {
    var start = time
    while let last = timetable.last(notAfter: start, in: zone), occurrence(last).dueAt > instant {
      start = LocalTime(seconds: last.seconds - 1)
    }
    return start
  }

  private func local(_ instant: Int64) -> LocalTime {
    // Rounded down, for times before 1970, too.
    zone.local(at: instant.quotient(1_000_000))
  }
}
