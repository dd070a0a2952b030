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

/// More than any change of a zone's offset.
private let slackSeconds: Int64 = 86_400

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

  /// The local time before the first occurrence that is due after an instant (in microseconds).
  func start(after instant: Int64) -> LocalTime {
    // A clock that is set back shows the same times twice, and one that is set forward skips some.
    var time = LocalTime(seconds: local(instant).seconds - slackSeconds)
    while let next = next(after: time), next.dueAt <= instant { time = next.local }
    return time
  }

  /// The newest occurrence after `start` that is due at an instant (in microseconds).
  func newest(after start: LocalTime, dueAt instant: Int64) -> Occurrence? {
    var end = LocalTime(seconds: local(instant).seconds + slackSeconds)
    while let newest = timetable.newest(after: start, through: end, in: zone) {
      let occurrence = occurrence(newest)
      if occurrence.dueAt <= instant { return occurrence }
      end = LocalTime(seconds: newest.seconds - 1)
    }
    return nil
  }

  private func local(_ instant: Int64) -> LocalTime {
    // Rounded down, for times before 1970, too.
    zone.local(at: instant >= 0 ? instant / 1_000_000 : (instant - 999_999) / 1_000_000)
  }
}
