import Events
import Handling
import Postgres

/// What alarm-worker forgets with a person: what they said of themselves, and what they received.
///
/// Alarms of others that named the person change as always, by snapshots. Notification-worker has
/// published them when this sweep begins, and the sweep waits until they are applied.
let alarmErasures = ErasureSweep(
  worker: "alarm", after: ["notification"],
  stages: [
    forgetProfile, forgetReceived, { awaitSnapshots($0) },
    // Retractions that were awaited have left rows.
    forgetReceived,
    forgetEmptyProfile,
  ])

/// The first stage that waits for snapshots. It and those after it forget what the others have not left.
let firstWaitingStage = 3

/// The most alarms in one piece of the sweep.
private let pieceMax = 2_000

/// One piece of the sweep, or the renderings: both lock alarms, and the sweep's locks on profiles come before. A piece
/// that only waits takes no such locks.
func alarmBacklog(renderings: Work) -> Work {
  alarmErasures.backlog(or: renderings, isBesideWaiting: true)
}

/// Leaves only later edits of the profile, and queues the alarms that show it for rendering.
@Sendable private func forgetProfile(_ person: ErasureSweep.Person) -> Work {
  func kept(_ field: ProfileField) -> String {
    "coalesce((SELECT k.value FROM kept k WHERE k.field = '\(field.rawValue)'), '')"
  }
  return Work([
    planByKey(keepsPlans: false),
    lockProfilesToChange([BytewiseString(person.id)]),
    // A statement of its own, because the trigger profiles_keep_edits reads what is left.
    Statement(
      "DELETE FROM profile_edits WHERE user_id = $1 AND version_time <= $2", person.parameters),
    Statement(
      """
      WITH kept AS MATERIALIZED (
        SELECT e.field, e.value FROM profile_edits e WHERE e.user_id = $1
      ),
      changed AS (
        UPDATE profiles p SET
          nickname = \(kept(.nickname)), locale = \(kept(.locale)),
          image_url = \(kept(.imageURL)), name = \(kept(.name)),
          major = \(kept(.major)), bio = \(kept(.bio)),
          version_time = DEFAULT, version_id = DEFAULT
        FROM profiles previous
        WHERE previous.user_id = p.user_id AND p.user_id = $1 AND p.version_time <= $2
        RETURNING p.user_id, p.shown_name <> previous.shown_name AS is_renamed,
          p.locale <> previous.locale AS has_other_locale
      ),
      \(queueRenderings)
      SELECT count(*) FROM changed
      """, person.parameters),
    Statement(
      """
      UPDATE profiles p
      SET has_edits = EXISTS (SELECT FROM profile_edits e WHERE e.user_id = p.user_id)
      WHERE p.user_id = $1 AND p.has_edits
      """, [.text(person.id)]),
  ])
}

/// Deletes the alarms that the person received, and all rows of retracted ones: whether these are from
/// before the erasure is not known, and their notifications are gone.
@Sendable private func forgetReceived(_ person: ErasureSweep.Person) -> Work {
  var work = Work([planByKey(keepsPlans: false)])
  let found = work.add(
    Statement(
      """
      WITH found AS MATERIALIZED (
        (
          SELECT a.notification_id FROM alarms a
          WHERE a.recipient = $1 AND NOT a.retracted AND a.raised_at <= $2 LIMIT \(pieceMax)
        )
        UNION ALL
        (
          SELECT a.notification_id FROM alarms a
          WHERE a.recipient = $1 AND a.retracted LIMIT \(pieceMax)
        )
      ),
      locked AS MATERIALIZED (
        SELECT a.notification_id FROM alarms a
        WHERE a.notification_id IN (SELECT f.notification_id FROM found f)
          AND (a.retracted OR a.raised_at <= $2)
        ORDER BY a.notification_id
        FOR UPDATE
      ),
      deleted AS (
        DELETE FROM alarms a USING locked l WHERE a.notification_id = l.notification_id
      )
      SELECT count(*) FROM found
      """, person.parameters))
  // What was found may have changed before it was locked.
  work.finish = { Outcome(hasMore: try $0[found].only.int(0) >= pieceMax) }
  return work
}

/// Waits until each alarm that names the person does so in its notification, too, and until these
/// alarms are rendered without the former name.
///
/// - Parameters:
///   - first: run before it looks, in the same transaction.
///   - last: run when there is nothing to wait for.
private func awaitSnapshots(
  _ person: ErasureSweep.Person, after first: [Statement] = [], then last: [Statement] = []
) -> Work {
  func named(as column: String, _ condition: String = "") -> String {
    """
    (
      SELECT a.notification_id, a.raised_at, a.generation, a.counter, a.recipient FROM alarms a
      WHERE a.\(column) = $1 AND NOT a.retracted \(condition)
        AND (a.raised_at, a.notification_id) < (unix_cursor_time(nullif($2, '')),
          coalesce(
            nullif(feeds_cursor_id(nullif($2, '')), ''), 'ffffffff-ffff-ffff-ffff-ffffffffffff'
          )::uuid)
      ORDER BY a.raised_at DESC, a.notification_id DESC LIMIT \(pieceMax)
    )
    """
  }
  var work = Work([planByKey(keepsPlans: false)] + first)
  let looked = work.add(
    Statement(
      """
      WITH named AS MATERIALIZED (
        SELECT DISTINCT a.* FROM (
          \(named(as: "actor"))
          UNION ALL
          \(named(as: "second_actor"))
          UNION ALL
          \(named(as: "recipient"))
        ) a
        ORDER BY a.raised_at DESC, a.notification_id DESC LIMIT \(pieceMax)
      )
      SELECT
        EXISTS (
          SELECT FROM named a
          WHERE NOT EXISTS (
            SELECT FROM notifications n
            WHERE n.notification_id = a.notification_id
              AND $1 IN (n.recipient, n.actor, n.second_actor)
              AND (a.recipient = $1 OR (n.generation, n.counter) <= (a.generation, a.counter)))
        ),
        (SELECT count(*) FROM named),
        (
          SELECT unix_cursor(a.raised_at, a.notification_id::text) FROM named a
          ORDER BY a.raised_at, a.notification_id LIMIT 1
        ),
        EXISTS (SELECT FROM pending_renders r WHERE r.user_id = $1)
      """, [.text(person.id), .text(person.position)]))
  work.finish = { results in
    let row = try results[looked].only
    let isLast = try row.int(1) < pieceMax
    var outcome = Outcome()
    outcome.isWaiting = try row.bool(0) || isLast && row.bool(3)
    outcome.hasMore = outcome.isWaiting || !isLast
    if !outcome.isWaiting {
      outcome.statements = try isLast ? last : [person.moved(to: row.text(2))]
    }
    return outcome
  }
  return work
}

/// Deletes the row by which others locked the profile while they rendered the person's name. If a snapshot from before
/// has named the person since, waits for the one that replaced it: nothing else would find the row then.
@Sendable private func forgetEmptyProfile(_ person: ErasureSweep.Person) -> Work {
  func isNamed(as column: String) -> String {
    "EXISTS (SELECT FROM alarms a WHERE a.\(column) = p.user_id AND NOT a.retracted)"
  }
  return awaitSnapshots(
    person,
    // Whoever renders the name has ended, or comes later.
    after: [lockProfilesToChange([BytewiseString(person.id)])],
    then: [
      Statement(
        """
        DELETE FROM profiles p
        WHERE p.user_id = $1 AND p.version_time = '-infinity' AND NOT p.has_edits
          AND NOT \(isNamed(as: "actor")) AND NOT \(isNamed(as: "second_actor"))
          AND NOT \(isNamed(as: "recipient"))
        """, [.text(person.id)])
    ])
}
