import Events
import Handling
public import Postgres

/// One piece of what is due: publishes what an earlier piece has decided and committed, decides what is due
/// now, and computes again what is to come if the time zone data is newer. So nothing is published that was
/// not committed, and a piece that is repeated after a crash publishes the same events again.
func dueWork(_ turn: Turn, _ surroundings: Surroundings) -> Work {
  let limit = Parameter.int8(Int64(max(100, pieceMax / max(1, turn.partitions.count))))
  let partitions = Parameter.int4Array(turn.partitions)
  let now = Parameter.timestamptz(surroundings.now)
  var work = Work([planByKey(keepsPlans: true)])
  // Marks them in the statement that reads them, which saves finding each of them again.
  let decided = work.add(
    Statement(
      """
      UPDATE reminder_rings r SET is_published = true
      FROM unnest($1::int[]) AS p (partition)
      CROSS JOIN LATERAL (
        SELECT r.ctid FROM reminder_rings r
        WHERE r.partition = p.partition AND NOT r.is_published
        ORDER BY r.due_at
        LIMIT $2
        FOR UPDATE SKIP LOCKED
      ) d
      WHERE r.ctid = d.ctid
      RETURNING \(Ring.columns)
      """, [partitions, limit]))
  let due = work.add(
    lockedReminders("r.due_at <= $3 ORDER BY r.due_at", [partitions, limit, now]))
  let outdated = work.add(
    lockedReminders(
      "r.due_at > $3 AND r.zone_data < $4",
      [partitions, limit, now, .text(surroundings.zoneData)]))
  work.finish = { results in
    let publish = try results[decided].map { try Ring($0) }
    var reminders = try results[due].map { try Reminder($0) }
    let moved = try results[outdated].map { try Reminder($0) }
    guard !publish.isEmpty || !reminders.isEmpty || !moved.isEmpty else { return Outcome() }
    var rings: [Ring] = []
    for index in reminders.indices {
      if let ring = reminders[index].takeDue(at: surroundings.now, surroundings) {
        rings.append(ring)
      }
    }
    for var reminder in moved {
      // Without the zone, it stays as it is until it is due.
      try? reminder.refresh(surroundings)
      reminders.append(reminder)
    }
    var statements = [turn.fence]
    if !reminders.isEmpty {
      statements.append(advanceReminders(reminders, zoneData: surroundings.zoneData))
    }
    if !rings.isEmpty { statements.append(try addRings(rings, now: surroundings.now)) }
    var outcome = Outcome(
      statements: statements, events: publish.map(\.event),
      counts: [
        "reminders_rung": publish.count { $0.state == .rung },
        "reminders_withdrawn": publish.count { $0.state == .withdrawn },
        "reminders_missed": rings.count { $0.state == .missed },
      ], hasMore: true)
    outcome.latenesses = publish.filter { $0.state == .rung && $0.revision == 0 }.map {
      max(0, Double(surroundings.now - $0.occurrence.dueAt) / 1_000_000)
    }
    return outcome
  }
  return work
}

/// The most reminders that a piece rings.
private let pieceMax = 2500

/// The reminders of each partition that meet a condition, locked. The first parameters are the partitions and the
/// most of each; reminders that another lane has locked are left to it.
private func lockedReminders(_ condition: String, _ parameters: [Parameter]) -> Statement {
  Statement(
    """
    SELECT \(reminderColumns) FROM unnest($1::int[]) AS p (partition)
    CROSS JOIN LATERAL (
      SELECT r.* FROM reminders r
      WHERE r.partition = p.partition AND \(condition)
      LIMIT $2
      FOR UPDATE SKIP LOCKED
    ) r
    """, parameters)
}

/// A query for the number of reminders that were due at an instant, in microseconds since 1970, and are not
/// published yet. Reads each partition's, because all indexes begin with it.
public func overdueReminders(at instant: Int64) -> Statement {
  Statement(
    """
    SELECT coalesce(sum(
      (SELECT count(*) FROM reminders r WHERE r.partition = p.partition AND r.due_at <= $1)
        + (
          SELECT count(*) FROM reminder_rings r
          WHERE r.partition = p.partition AND NOT r.is_published AND r.due_at <= $1
        )), 0)
    FROM (SELECT DISTINCT c.partition FROM consumer_offsets c WHERE c.topic LIKE '%reminders') p
    """, [.timestamptz(instant)])
}
