import Events
import Handling
import Kinds
import Schedules

/// The inputs of a decision other than the database rows.
struct Surroundings: Sendable {
  var zones: ZoneDirectory
  /// The secret from which cycles derive their random moments.
  var secret: [UInt8]
  var bounds: LateBounds
  /// Microseconds since 1970.
  var now: Int64
  /// How long the reminders of several events may be computed while their transaction is open. The
  /// server ends a session after 30 s, and the same batch would be tried for ever.
  var computingMax = Duration.seconds(5)

  /// The version of the time zone data; empty if it is unknown.
  var zoneData: String { zones.version ?? "" }

  /// Looks up a zone by its name.
  ///
  /// - Throws: `EventError` if it is not known; `TryAgain` if the machine's data cannot be read.
  func zone(_ name: String) throws -> Zone {
    do throws(ZoneError) {
      return try zones.zone(name)
    } catch {
      switch error {
      case .noData, .unreadable: throw TryAgain(reason: "zone-data", message: "\(error)")
      // Damaged data of one zone must not keep everybody waiting.
      case .invalidName, .unknown, .corrupt:
        throw EventError(.badValue, "\(error)", field: "zone")
      }
    }
  }
}

/// The time in which what a batch changes is computed.
struct ComputingTime {
  private let events: Int
  private let end: ContinuousClock.Instant

  /// Begins now.
  init(events: Int, _ surroundings: Surroundings) {
    self.events = events
    end = .now + surroundings.computingMax
  }

  /// - Throws: `BatchTooLarge` if it is over, unless there is one event.
  func check() throws {
    if events > 1, .now >= end { throw BatchTooLarge(halving: events) }
  }
}

/// How long to wait before retrying a reminder whose zone is unknown.
private let postponedMicroseconds: Int64 = 3_600_000_000
/// How long to wait before retrying one while no zone data can be read.
private let retriedMicroseconds: Int64 = 5_000_000

/// When a postponed reminder is looked at, in microseconds since 1970. Never a whole second, by which
/// `magpie verify` tells it from the due time of an occurrence.
private func postponed(_ surroundings: Surroundings, by pause: Int64) -> Int64 {
  (surroundings.now + pause - 1) | 1
}

/// A row of `reminders`: a definition, and how far its occurrences have been decided.
struct Reminder: Sendable {
  var user: String
  var id: String
  /// Nil until an event has been applied.
  var version: Version?
  /// Nil if it is cancelled.
  var definition: Definition?
  var partition: Int32
  /// The zone of the occurrences: the definition's, or else the person's.
  var zone: String
  /// The zone in which the text says when an instant was due, which is stored in UTC: that of the person's profile.
  var shownZone = ""
  /// Every occurrence up to this local time has been decided: it has rung or never will.
  var decidedThrough = LocalTime.earliest
  var next: Occurrence?
  var shown = Shown()
  var unseen = Unseen()

  /// For a cycle: the items shown in the current round, and the number of completed rounds. A round
  /// ends when every item has been shown once.
  struct Shown: Decodable {
    var round = 0
    var items: [String] = []
  }

  /// For a digest: what it would contain if it rang now.
  struct Unseen: Decodable {
    var alarms = 0
    var newest = ""
  }

  /// Nil if it is cancelled.
  ///
  /// - Throws: `EventError` for a zone or a rule that is not known.
  private func plan(_ surroundings: Surroundings) throws -> Plan? {
    guard let definition else { return nil }
    let timetable: Timetable
    do throws(ScheduleError) {
      timetable = try definition.timetable(key: key(surroundings))
    } catch {
      throw EventError(
        .badValue, "\(error)", field: definition.repeats == nil ? "at" : "repeat")
    }
    return Plan(timetable: timetable, zone: try surroundings.zone(zone.isEmpty ? "UTC" : zone))
  }

  private func key(_ surroundings: Surroundings) -> [UInt8] {
    Cycle.key(secret: surroundings.secret, user: user, cycle: id)
  }

  /// Replaces the definition. Occurrences due after the change's event time follow the new
  /// definition. If the producer's clock is ahead, the new definition applies from now on instead;
  /// otherwise nothing would ring between now and the event time.
  ///
  /// - Parameter personZone: the zone in the person's profile.
  /// - Throws: `EventError` for a zone or a rule that is not known.
  mutating func apply(_ change: Change, personZone: String, _ surroundings: Surroundings)
    throws
  {
    (version, definition, partition) = (change.version, change.definition, change.partition)
    zone = definition.map { $0.zone.isEmpty ? personZone : $0.zone } ?? ""
    shownZone = zone == "UTC" ? personZone : ""
    if definition != nil { decidedThrough = .earliest }
    do {
      try refresh(surroundings)
    } catch let error as EventError where isPersonsZoneUnknown(error) {
      // The installed zone data no longer has it, for which this event is not to blame.
      let time = min(change.version.time.microseconds, surroundings.now)
      let local = try surroundings.zone("UTC").local(at: time.quotient(1_000_000))
      next = Occurrence(local: local, dueAt: postponed(surroundings, by: postponedMicroseconds))
    }
  }

  private func isPersonsZoneUnknown(_ error: EventError) -> Bool {
    error.field == "zone" && definition?.zone == ""
  }

  /// If nothing is decided yet, decides what was before the event.
  private mutating func begin(_ plan: Plan, _ surroundings: Surroundings) {
    guard decidedThrough == .earliest, let version else { return }
    decidedThrough = plan.start(after: min(version.time.microseconds, surroundings.now))
  }

  /// Moves the undecided occurrences to another zone.
  ///
  /// - Parameter time: when it became the person's zone, in microseconds since 1970. A definition
  ///   whose version is not older than this was made for that zone and only arrived before the zone
  ///   change, so it is evaluated anew from its own event time.
  mutating func move(to zone: String, at time: Int64, _ surroundings: Surroundings)
    throws
  {
    self.zone = zone
    if definition != nil, let version, time <= version.time.microseconds {
      decidedThrough = .earliest
    }
    try refresh(surroundings)
  }

  /// Recomputes the next occurrence, for example with newer time zone data.
  mutating func refresh(_ surroundings: Surroundings) throws {
    guard let plan = try plan(surroundings) else {
      next = nil
      return
    }
    begin(plan, surroundings)
    next = plan.next(after: decidedThrough)
  }

  /// Whether an occurrence of the previous definition is also an occurrence of this one. It is if
  /// both follow the person's zone, even if that zone has changed; otherwise its instant must be
  /// the same, too.
  func has(_ occurrence: Occurrence, of before: Definition?, _ surroundings: Surroundings)
    throws -> Bool
  {
    let known: Plan?
    do {
      known = try plan(surroundings)
    } catch let error as EventError where isPersonsZoneUnknown(error) {
      return true
    }
    guard let plan = known, plan.timetable.contains(occurrence.local, in: plan.zone) else {
      return false
    }
    return before?.zone == "" && definition?.zone == ""
      || plan.occurrence(occurrence.local) == occurrence
  }

  /// Whether an occurrence is due after an instant (in microseconds), no matter what has rung: nothing rings in a
  /// rebuild, nor before a worker has read the log. Of a repetition that ends, only the next occurrence counts.
  func isToCome(after instant: Int64) -> Bool {
    guard let next, let definition else { return false }
    return next.dueAt > instant || definition.isEndless
  }

  /// Decides what is due by `instant` (in microseconds): the newest occurrence rings or is missed, and
  /// older ones never ring. Of a cycle, the oldest moment rings that is not too late, and the call is to be repeated.
  ///
  /// - Parameter start: the earliest instant from which lateness counts, in microseconds since
  ///   1970.
  /// - Returns: nil if no occurrence rings and none is recorded as missed.
  mutating func takeDue(
    at instant: Int64, lateSince start: Int64 = .min, _ surroundings: Surroundings
  ) -> Ring? {
    guard let definition, let next, next.dueAt <= instant else { return nil }
    let plan: Plan
    do {
      guard let known = try self.plan(surroundings) else { return nil }
      plan = known
    } catch {
      // The installed zone data no longer has the zone, or cannot be read now. Postpone this reminder, so that it
      // neither blocks others nor rings by another zone's rules.
      let pause = error is TryAgain ? retriedMicroseconds : postponedMicroseconds
      self.next?.dueAt = postponed(surroundings, by: pause)
      return nil
    }
    begin(plan, surroundings)
    guard var taken = plan.newest(after: decidedThrough, dueAt: instant) else {
      // Newer zone data has moved the occurrence to a later instant, or it was decided in the tables that a swap
      // has replaced.
      self.next = plan.next(after: decidedThrough)
      return nil
    }
    if definition.form == .cycle {
      let late = plan.start(after: surroundings.now - (LateBounds.cycleSeconds + 1) * 1_000_000)
      if let first = plan.next(after: max(decidedThrough, late)), first.dueAt <= instant {
        taken = first
      }
    }
    decidedThrough = taken.local
    self.next = plan.next(after: taken.local)
    let lateSeconds = (surroundings.now - taken.dueAt) / 1_000_000
    var ring = Ring(
      user: user, reminder: id, occurrence: taken, state: .rung, zone: zone,
      content: .init(kind: definition.kind), partition: partition,
      setAt: version?.time.microseconds)
    var item: Definition.Item?
    switch definition.form {
    case .reminder: item = definition.items.first
    case .cycle:
      guard lateSeconds <= LateBounds.cycleSeconds else { return nil }
      item = takeItem(definition.items, key: key(surroundings))
      ring.content.item = item?.id
      ring.content.round = shown.round
    case .digest:
      guard unseen.alarms > 0, lateSeconds <= surroundings.bounds.reminderSeconds else {
        return nil
      }
      (ring.content.alarms, ring.content.newest) = (unseen.alarms, unseen.newest)
      unseen = Unseen()
    }
    if let item {
      (ring.content.title, ring.content.memo) = (item.title, item.memo)
      (ring.content.symbol, ring.content.link) = (item.symbol, item.link)
    }
    let missedSeconds = (surroundings.now - max(start, taken.dueAt)) / 1_000_000
    if missedSeconds > surroundings.bounds.reminderSeconds { ring.state = .missed }
    if lateSeconds > LateBounds.punctualSeconds, definition.form == .reminder {
      let shown = try? surroundings.zone(shownZone).local(at: taken.dueAt.quotient(1_000_000))
      ring.content.due = (shown ?? taken.local).description.prefix(16)
        .map { $0 == "T" ? " " : String($0) }.joined()
    }
    return ring
  }

  /// The next item of a cycle: the first, in the round's random order, that the round has not shown
  /// yet.
  private mutating func takeItem(_ items: [Definition.Item], key: [UInt8]) -> Definition.Item? {
    let ids = items.map(\.id)
    func first() -> String? {
      Cycle.order(of: ids, round: shown.round, key: key).first { item in
        !shown.items.contains { $0.hasSameBytes(as: item) }
      }
    }
    var id = first()
    if id == nil {
      shown = Shown(round: shown.round + 1)
      id = first()
    }
    guard let id else { return nil }
    shown.items.append(id)
    return items.first { $0.id.hasSameBytes(as: id) }
  }
}
