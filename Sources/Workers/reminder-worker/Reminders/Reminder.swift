import Events
import Handling
import Kinds
import Schedules

/// What decisions depend on besides the rows.
struct Surroundings: Sendable {
  var zones: ZoneDirectory
  /// Of random moments; unknown to others.
  var secret: [UInt8]
  var bounds: LateBounds
  /// Microseconds since 1970.
  var now: Int64

  /// The version of the time zone data; empty if it is unknown.
  var zoneData: String { zones.version ?? "" }

  /// The zone of this name.
  ///
  /// - Throws: `EventError` if it is not known.
  func zone(_ name: String) throws(EventError) -> Zone {
    do throws(ZoneError) {
      return try zones.zone(name)
    } catch {
      throw EventError(.badValue, "\(error)", field: "zone")
    }
  }
}

/// When to try again to ring a reminder whose zone is not known.
private let postponedMicroseconds: Int64 = 3_600_000_000

/// A row of `reminders`: what a person asked for, and how far it has rung.
struct Reminder: Sendable {
  var user: String
  var id: String
  /// Nil while no event is known.
  var version: Version?
  /// Nil if it is cancelled.
  var definition: Definition?
  var partition: Int32
  /// The zone that occurrences are in: the definition's, or the person's.
  var zone: String
  /// All occurrences up to this local time have rung, or will not.
  var decidedThrough = LocalTime.earliest
  var next: Occurrence?
  var shown = Shown()
  var unseen = Unseen()

  /// Of a cycle: the items shown since all had been shown, and how often they had.
  struct Shown: Decodable {
    var round = 0
    var items: [String] = []
  }

  /// Of a digest: what it would say now.
  struct Unseen: Decodable {
    var alarms = 0
    var newest = ""
  }

  /// Nil if it is cancelled.
  ///
  /// - Throws: `EventError` for a zone or a rule that is not known.
  private func plan(_ surroundings: Surroundings) throws(EventError) -> Plan? {
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

  /// Replaces the definition. What is due after the change's time rings by the new one; after now, if the
  /// change comes from a clock that is ahead: else nothing would ring what is due between the two.
  ///
  /// - Parameter personZone: the person's.
  /// - Throws: `EventError` for a zone or a rule that is not known.
  mutating func apply(_ change: Change, personZone: String, _ surroundings: Surroundings)
    throws(EventError)
  {
    (version, definition, partition) = (change.version, change.definition, change.partition)
    zone = definition.map { $0.zone.isEmpty ? personZone : $0.zone } ?? ""
    guard let plan = try plan(surroundings) else {
      next = nil
      return
    }
    decidedThrough = plan.start(after: min(change.version.time.microseconds, surroundings.now))
    next = plan.next(after: decidedThrough)
  }

  /// Moves what is to come into another zone.
  ///
  /// - Parameter time: since when it is the person's zone, in microseconds since 1970. A definition that is
  ///   not older was set in that zone, and only arrived before it.
  mutating func move(to zone: String, at time: Int64, _ surroundings: Surroundings)
    throws(EventError)
  {
    self.zone = zone
    if let version, time <= version.time.microseconds, let plan = try plan(surroundings) {
      decidedThrough = plan.start(after: min(version.time.microseconds, surroundings.now))
    }
    try refresh(surroundings)
  }

  /// Computes when it is due with other time zone data.
  mutating func refresh(_ surroundings: Surroundings) throws(EventError) {
    next = try plan(surroundings)?.next(after: decidedThrough)
  }

  /// Whether an occurrence of the definition before this one is the same occurrence of this one. A person's
  /// new zone does not make it another one; another time does.
  func has(_ occurrence: Occurrence, of before: Definition?, _ surroundings: Surroundings)
    throws(EventError) -> Bool
  {
    guard let plan = try plan(surroundings),
      plan.timetable.contains(occurrence.local, in: plan.zone)
    else { return false }
    return before?.zone == "" && definition?.zone == ""
      || plan.occurrence(occurrence.local) == occurrence
  }

  /// Decides about everything that is due at `instant` (in microseconds): the newest occurrence rings, or was
  /// missed; older ones do not ring any more.
  ///
  /// - Parameter start: it is late since then at most, in microseconds since 1970.
  /// - Returns: nil if nothing rings and nothing that should have rung was missed.
  mutating func takeDue(
    at instant: Int64, lateSince start: Int64 = .min, _ surroundings: Surroundings
  ) -> Ring? {
    guard let definition, let next, next.dueAt <= instant else { return nil }
    guard let plan = try? plan(surroundings) else {
      // The zone data has lost the zone since. Others must not wait, and it must not be taken for another
      // zone.
      self.next?.dueAt = surroundings.now + postponedMicroseconds
      return nil
    }
    guard let newest = plan.newest(after: decidedThrough, dueAt: instant) else {
      // Newer zone data has moved it.
      self.next = plan.next(after: decidedThrough)
      return nil
    }
    decidedThrough = newest.local
    self.next = plan.next(after: newest.local)
    let lateSeconds = (surroundings.now - newest.dueAt) / 1_000_000
    var ring = Ring(
      user: user, reminder: id, occurrence: newest, state: .rung, zone: zone,
      content: .init(kind: definition.kind), partition: partition)
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
    let missedSeconds = (surroundings.now - max(start, newest.dueAt)) / 1_000_000
    if missedSeconds > surroundings.bounds.reminderSeconds { ring.state = .missed }
    if lateSeconds > LateBounds.punctualSeconds, definition.form == .reminder {
      ring.content.due = newest.local.description.prefix(16)
        .map { $0 == "T" ? " " : String($0) }.joined()
    }
    return ring
  }

  /// The next item of a cycle: the first in a random order that has not been shown since all had been.
  private mutating func takeItem(_ items: [Definition.Item], key: [UInt8]) -> Definition.Item? {
    let ids = items.map(\.id)
    func first() -> String? {
      Cycle.order(of: ids, round: shown.round, key: key).first { !shown.items.contains($0) }
    }
    var id = first()
    if id == nil {
      shown = Shown(round: shown.round + 1)
      id = first()
    }
    guard let id else { return nil }
    shown.items.append(id)
    return items.first { $0.id == id }
  }
}
