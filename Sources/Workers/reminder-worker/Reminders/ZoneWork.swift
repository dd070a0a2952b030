import Events
import Handling
import Postgres
import Schedules

/// Applies events of the topic `profiles`. The newest event that carries a zone sets the person's
/// zone and moves the future occurrences of reminders that follow it. Occurrences that have rung
/// are unaffected.
///
/// - Throws: `EventError` for an unknown zone.
func zonesWork(_ events: [Event], _ surroundings: Surroundings, isRinging: Bool) throws -> Work {
  let changes = newest(events) { event in zone(event).map { BytewiseString($0.user) } }
  guard !changes.isEmpty else { return Work([]) }
  for event in changes {
    if let zone = zone(event)?.zone, !zone.isEmpty { _ = try surroundings.zone(zone) }
  }
  let people = changes.map(\.key)
  var work = Work([planByKey(keepsPlans: false), insertPeople(people)])
  let locked = work.add(lockPeople(people))
  work.add(changeZones(changes))
  let moved = work.add(readMoved(people))
  var times: [BytewiseString: Int64] = [:]
  for event in changes { times[BytewiseString(event.key)] = event.time.microseconds }
  work.finish = { [times] results in
    guard results[locked].count == people.count else {
      // A sweep has deleted a row after it was found.
      return Outcome(further: try zonesWork(events, surroundings, isRinging: isRinging))
    }
    let rows = results[moved]
    if rows.count > movedMax, events.count > 1 { throw BatchTooLarge(halving: events.count) }
    let computing = ComputingTime(events: events.count, surroundings)
    var reminders: [Reminder] = []
    var rings: [Ring] = []
    for row in rows {
      try computing.check()
      var reminder = try Reminder(row)
      // What was due in the old zone before the change rings.
      let changed = times[BytewiseString(reminder.user)] ?? surroundings.now
      let time = min(changed, surroundings.now)
      var taken: Set<LocalTime> = []
      while let ring = reminder.takeDue(at: time, surroundings) {
        taken.insert(ring.occurrence.local)
        rings.append(ring)
      }
      try reminder.move(to: try row.text("person_zone"), at: changed, surroundings)
      // Occurrences that the new zone has already passed count as late only from the change on.
      while let late = reminder.takeDue(at: time, lateSince: time, surroundings) {
        if taken.insert(late.occurrence.local).inserted { rings.append(late) }
      }
      reminders.append(reminder)
    }
    guard !reminders.isEmpty else { return Outcome() }
    return Outcome(
      statements: [advanceReminders(reminders, zoneData: surroundings.zoneData)]
        + (isRinging && !rings.isEmpty ? [try addRings(rings, now: surroundings.now)] : []),
      counts: ["reminders_moved": reminders.count])
  }
  return work
}

/// The maximum number of reminders that a transaction moves; a single event may exceed it.
private let movedMax = 20_000

/// The zone that an event sets; nil if the event sets none.
func zone(_ event: Event) -> (user: String, zone: String)? {
  switch event.payload {
  case .profileChanged(let data): (data.user, data.zone)
  case .profileEdited(let data): data.hasZone ? (data.user, data.zone) : nil
  default: nil
  }
}

private func changeZones(_ events: [Event]) -> Statement {
  Statement(
    """
    UPDATE reminder_people p SET
      zone = e.zone, version_time = e.version_time, version_id = e.version_id
    FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[])
      AS e (user_id, zone, version_time, version_id)
    WHERE p.user_id = e.user_id
      AND (p.version_time, p.version_id) < (e.version_time, e.version_id)
    """,
    [
      .textArray(events.map(\.key)), .textArray(events.map { zone($0)?.zone ?? "" }),
      .timestamptzArray(events.map(\.time.microseconds)), .textArray(events.map(\.id)),
    ])
}

/// The reminders that follow their person's zone but are still in another one.
func readMoved(_ people: [String]) -> Statement {
  Statement(
    """
    SELECT \(reminderColumns), \(unseenColumn), p.zone AS person_zone
    FROM (
      SELECT r.* FROM reminders r
      JOIN reminder_people p ON p.user_id = r.user_id
      WHERE r.user_id = ANY ($1) AND r.definition ->> 'zone' = '' AND r.zone <> p.zone
        AND NOT \(isForgottenReminder)
      ORDER BY r.user_id, r.reminder_id
      FOR UPDATE OF r
    ) r
    JOIN reminder_people p ON p.user_id = r.user_id
    """, [.textArray(people)])
}
