import Handling
import Postgres

/// What reminder-worker forgets with a person: their zone, their reminders, and what has rung.
///
/// From the commit of the erasure on, nothing rings that the person set before: every statement leaves
/// out what `isForgotten`. What had rung already may have been due after the erasure's time. Its events say when it was
/// set (`Event.causedAt`).
func erasing(_ surroundings: Surroundings) -> ErasureSweep {
  ErasureSweep(
    worker: "reminder",
    stages: [{ forgetZone($0, surroundings) }, forgetReminders, forgetLock])
}

/// SQL: whether what a person set at a time is being forgotten.
///
/// - Parameter time: a column; NULL counts as before every erasure.
func isForgotten(_ time: String, of person: String) -> String {
  """
  EXISTS (
    SELECT FROM reminder_erasures f
    WHERE f.user_id = \(person) AND coalesce(\(time), '-infinity') <= f.erased_at)
  """
}

/// SQL: whether the row of `reminders r` is being forgotten.
let isForgottenReminder = isForgotten("r.version_time", of: "r.user_id")
/// SQL: whether the row of `reminder_rings r` is being forgotten.
let isForgottenRing = isForgotten("r.set_at", of: "r.user_id")

/// The most rows of a table that one piece of the sweep deletes.
private let pieceMax = 2_000

/// Without the zone, later reminders that follow it are due in UTC, as if they were set without it.
private func forgetZone(_ person: ErasureSweep.Person, _ surroundings: Surroundings) -> Work {
  var work = Work([
    planByKey(keepsPlans: false), lockPeople([person.id]),
    Statement(
      """
      UPDATE reminder_people p SET zone = DEFAULT, version_time = DEFAULT, version_id = DEFAULT
      WHERE p.user_id = $1 AND p.version_time <= $2
      """, person.parameters),
  ])
  let moved = work.add(readMoved([person.id]))
  work.finish = { results in
    let reminders = try results[moved].map { row in
      var reminder = try Reminder(row)
      try reminder.move(
        to: try row.text("person_zone"), at: person.erasedAt.microseconds, surroundings)
      return reminder
    }
    guard !reminders.isEmpty else { return Outcome() }
    return Outcome(statements: [advanceReminders(reminders, zoneData: surroundings.zoneData)])
  }
  return work
}

@Sendable private func forgetReminders(_ person: ErasureSweep.Person) -> Work {
  var work = Work([planByKey(keepsPlans: false), lockPeople([person.id])])
  let deleted = [("reminders", "version_time"), ("reminder_rings", "set_at")].map { table, time in
    work.add(
      Statement(
        """
        DELETE FROM \(table) WHERE ctid = ANY (ARRAY(
          SELECT r.ctid FROM \(table) r
          WHERE r.user_id = $1 AND coalesce(r.\(time), '-infinity') <= $2 LIMIT \(pieceMax)
        ))
        """, person.parameters))
  }
  work.finish = { results in
    Outcome(hasMore: deleted.contains { results[$0].affectedRows == pieceMax })
  }
  return work
}

/// Deletes the row that is the lock of the person's reminders, unless there are later ones.
@Sendable private func forgetLock(_ person: ErasureSweep.Person) -> Work {
  Work([
    planByKey(keepsPlans: false), lockPeople([person.id]),
    Statement(
      """
      DELETE FROM reminder_people p
      WHERE p.user_id = $1 AND p.version_time = '-infinity'
        AND NOT EXISTS (SELECT FROM reminders r WHERE r.user_id = p.user_id)
      """, [.text(person.id)]),
  ])
}
