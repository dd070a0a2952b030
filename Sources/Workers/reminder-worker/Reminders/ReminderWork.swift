import Events
import Handling
import Kinds
import Postgres
import Schedules

/// Applies events of the topic `reminders`. Each reminder, cycle and digest is a register: the
/// newest event wins. An occurrence of the older version that was due before the newer event's time
/// rings first. An occurrence of the older version that was due after that time but rang because
/// the newer event arrived late is withdrawn.
///
/// - Parameter isRinging: false while a rebuild fills tables that nobody reads yet: nothing rings.
/// - Throws: `EventError` for an event that cannot be applied.
func remindersWork(
  _ events: [Event], kinds: AlarmKinds, _ surroundings: Surroundings, isRinging: Bool
) throws -> Work {
  var changes: [[BytewiseString]: [Change]] = [:]
  for event in events {
    guard let change = try Change(event, kinds: kinds) else { continue }
    changes[[BytewiseString(change.user), BytewiseString(change.reminder)], default: []].append(
      change)
  }
  guard !changes.isEmpty else { return Work([]) }
  let keys = changes.keys.sorted { $0.lexicographicallyPrecedes($1) }
  let (users, ids) = (keys.map(\.[0].string), keys.map(\.[1].string))
  let people = Set(keys.map(\.[0])).sorted().map(\.string)
  let earliest = keys.map { changes[$0]?.map(\.version.time.microseconds).min() }

  var work = Work([planByKey(keepsPlans: false), insertPeople(people)])
  let zones = work.add(lockPeople(people))
  let rows = work.add(readReminders(users, ids))
  let rung = work.add(readRings(users, ids, dueAfter: earliest))
  // Not of everybody: in a rebuild, that would read all that a person was ever reminded of, for each batch.
  let counted = changes.values.joined().filter { $0.canBeToCome(after: surroundings.now) }
  let live = work.add(
    countLive(Set(counted.map { BytewiseString($0.user) }).map(\.string), after: surroundings.now))
  work.finish = { [changes] results in
    guard results[zones].count == people.count else {
      // A sweep has deleted a row after it was found.
      return Outcome(
        further: try remindersWork(events, kinds: kinds, surroundings, isRinging: isRinging))
    }
    let time = ComputingTime(events: events.count, surroundings)
    var known: [[BytewiseString]: Reminder] = [:]
    for row in results[rows] {
      let reminder = try Reminder(row)
      known[[BytewiseString(reminder.user), BytewiseString(reminder.id)]] = reminder
    }
    var rings: [[BytewiseString]: [Ring]] = [:]
    for row in results[rung] {
      let ring = try Ring(row)
      rings[[BytewiseString(ring.user), BytewiseString(ring.reminder)], default: []].append(ring)
    }
    let zones = try texts(results[zones])
    var batch = Changed(live: try counts(results[live]), time: time)
    for key in keys {
      try batch.apply(
        changes[key] ?? [], to: known[key], rings: rings[key] ?? [],
        personZone: zones[key[0]] ?? "", surroundings)
    }
    return try batch.outcome(surroundings, isRinging: isRinging)
  }
  return work
}

/// The rows that a batch changes.
private struct Changed {
  /// The number of reminders and cycles with a future occurrence, by person; 0 if nothing is added to it.
  var live: [BytewiseString: Int]
  let time: ComputingTime
  var reminders: [Reminder] = []
  var rings: [Ring] = []
  var withdrawn: [Ring] = []

  init(live: [BytewiseString: Int], time: ComputingTime) {
    (self.live, self.time) = (live, time)
  }

  /// Applies those changes of one reminder that are newer than its row.
  mutating func apply(
    _ changes: [Change], to row: Reminder?, rings known: [Ring], personZone: String,
    _ surroundings: Surroundings
  ) throws {
    var reminder = row
    var rung = known
    var added: Set<LocalTime> = []
    var isAdded = false
    for change in changes.sorted(by: { $0.version < $1.version }) {
      try self.time.check()
      var current =
        reminder
        ?? Reminder(user: change.user, id: change.reminder, partition: change.partition, zone: "")
      if let version = current.version, change.version <= version { continue }
      let time = min(change.version.time.microseconds, surroundings.now)
      while let ring = current.takeDue(at: time, surroundings) {
        let local = ring.occurrence.local
        if !rung.contains(where: { $0.occurrence.local == local }), added.insert(local).inserted {
          rings.append(ring)
        }
      }
      let wasToCome = current.next != nil
      let before = current.definition
      try current.apply(change, personZone: personZone, surroundings)
      for ring in rung where ring.occurrence.dueAt > change.version.time.microseconds {
        guard try !current.has(ring.occurrence, of: before, surroundings) else { continue }
        withdrawn.append(ring)
        rung.removeAll { $0.occurrence.local == ring.occurrence.local }
      }
      reminder = current
      // Each counts at its own event's time, so that batches make no difference.
      if !wasToCome, current.next != nil { isAdded = true }
    }
    guard let reminder, reminder.version != row?.version else { return }
    if !reminder.id.isEmpty {
      let user = BytewiseString(reminder.user)
      let isToCome = reminder.isToCome(after: surroundings.now)
      let isCounted = row?.isToCome(after: surroundings.now) ?? false
      live[user, default: 0] += (isToCome ? 1 : 0) - (isCounted ? 1 : 0)
      guard !isToCome || !isAdded || live[user, default: 0] <= liveRemindersMax else {
        throw EventError(
          .quota,
          "The person has \(liveRemindersMax) reminders to come already; at most \(liveRemindersMax) are allowed.",
          field: "user")
      }
    }
    reminders.append(reminder)
  }

  func outcome(_ surroundings: Surroundings, isRinging: Bool) throws -> Outcome {
    var statements: [Statement] = []
    if !reminders.isEmpty {
      statements.append(try writeReminders(reminders, zoneData: surroundings.zoneData))
    }
    // Withdraw first, then add: an occurrence that was withdrawn may be set again and ring again.
    if isRinging, !withdrawn.isEmpty {
      statements.append(withdrawRings(withdrawn, now: surroundings.now))
    }
    if isRinging, !rings.isEmpty {
      statements.append(try addRings(rings, now: surroundings.now))
    }
    return Outcome(statements: statements, counts: ["reminders": reminders.count])
  }
}

/// The maximum number of a person's reminders and cycles with a future occurrence.
public let liveRemindersMax = 1000

private func readReminders(_ users: [String], _ ids: [String]) -> Statement {
  Statement(
    """
    SELECT \(reminderColumns), \(unseenColumn)
    FROM (
      SELECT r.* FROM reminders r
      JOIN unnest($1::text[], $2::text[]) AS k (user_id, reminder_id)
        ON r.user_id = k.user_id AND r.reminder_id = k.reminder_id
      WHERE NOT \(isForgottenReminder)
      ORDER BY r.user_id, r.reminder_id
      FOR UPDATE OF r
    ) r
    """, [.textArray(users), .textArray(ids)])
}

private func readRings(_ users: [String], _ ids: [String], dueAfter times: [Int64?]) -> Statement {
  Statement(
    """
    SELECT \(Ring.columns)
    FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS k (user_id, reminder_id, due_after)
    JOIN reminder_rings r ON r.user_id = k.user_id AND r.reminder_id = k.reminder_id
      AND r.due_at > k.due_after AND r.state = 'rung' AND NOT \(isForgottenRing)
    """, [.textArray(users), .textArray(ids), .timestamptzArray(times)])
}

/// Counts the reminders and cycles of which `Reminder.isToCome(after:)` is true.
private func countLive(_ people: [String], after instant: Int64) -> Statement {
  Statement(
    """
    SELECT r.user_id, count(*) FROM reminders r
    WHERE r.user_id = ANY ($1) AND r.due_at IS NOT NULL AND r.reminder_id <> ''
      AND (r.due_at > $2 OR \(isEndless)) AND NOT \(isForgottenReminder)
    GROUP BY r.user_id
    """, [.textArray(people), .timestamptz(instant)])
}

private func counts(_ rows: Rows) throws -> [BytewiseString: Int] {
  var result: [BytewiseString: Int] = [:]
  for row in rows { result[BytewiseString(try row.text(0))] = try row.int(1) }
  return result
}

/// The rows' second column, keyed by the first.
func texts(_ rows: Rows) throws -> [BytewiseString: String] {
  var result: [BytewiseString: String] = [:]
  for row in rows { result[BytewiseString(try row.text(0))] = try row.text(1) }
  return result
}
