import Events
import Handling
public import Postgres

/// One piece of due work: publishes what an earlier piece decided and committed, decides what is
/// due now, and recomputes due times that were computed with older time zone data. Nothing is
/// published before it is committed, and a piece that is repeated after a crash publishes the same
/// events again.
func dueWork(_ turn: Turn, _ surroundings: Surroundings) -> Work {
  let limit = Parameter.int8(Int64(max(100, pieceMax / max(1, turn.partitions.count))))
  let partitions = Parameter.int4Array(turn.partitions)
  let now = Parameter.timestamptz(surroundings.now)
  var work = Work([planByKey(keepsPlans: true)])
  // Reading and marking the rows in one statement avoids a second lookup of each row.
  let decided = work.add(
    Statement(
      """
      UPDATE reminder_rings r SET is_published = true
      FROM unnest($1::int[]) AS p (partition)
      CROSS JOIN LATERAL (
        SELECT r.ctid FROM reminder_rings r
        WHERE r.partition = p.partition AND NOT r.is_published AND NOT \(isForgottenRing)
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
    let end = ContinuousClock.now + decidingMax
    for index in reminders.indices {
      guard .now < end else {
        // The next piece decides about the rest, after what this one has decided is committed.
        reminders.removeSubrange(index...)
        break
      }
      while let ring = reminders[index].takeDue(at: surroundings.now, surroundings) {
        rings.append(ring)
      }
    }
    for var reminder in moved {
      // If the zone is unknown, leave the reminder unchanged; `takeDue` handles it when it is due.
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

/// How long a piece computes what rings: a cycle with many moments takes milliseconds, and the transaction is open.
private let decidingMax = Duration.milliseconds(500)

/// The maximum number of reminders that one piece rings.
private let pieceMax = 2500

/// Locks and returns the reminders of each partition that meet a condition. `$1` is the array of
/// partitions, `$2` the maximum number of rows per partition. Skips rows that another lane has
/// locked.
private func lockedReminders(_ condition: String, _ parameters: [Parameter]) -> Statement {
  Statement(
    """
    SELECT \(reminderColumns) FROM unnest($1::int[]) AS p (partition)
    CROSS JOIN LATERAL (
      SELECT r.* FROM reminders r
      WHERE r.partition = p.partition AND NOT \(isForgottenReminder) AND \(condition)
      LIMIT $2
      FOR UPDATE SKIP LOCKED
    ) r
    """, parameters)
}

/// Counts the reminders that were due by `instant` (microseconds since 1970) and are not published
/// yet. Counts per partition, because every index begins with the partition.
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
