import Events
import Handling
import Postgres

private let sweptPeopleMax = 20
private let sweptNotificationsMax = 500

/// Deletes and retracts notifications whose recipients deleted everything.
///
/// `alarm.all-deleted` itself only raises a watermark, however many notifications are below it, and
/// hides them immediately. The sweep deletes their rows later, so that the same events in any order
/// end in the same rows, and frees their space.
func sweepWork() -> Work {
  var work = Work()
  let locked = work.add(
    Statement(
      """
      SELECT set_config('magpie.swept_people', coalesce(array_agg(l.user_id)::text, '{}'), true),
        count(*)
      FROM (
        SELECT r.user_id FROM notification_recipients r WHERE r.deleted_all_at > r.swept_at
        ORDER BY r.user_id LIMIT $1
        FOR UPDATE SKIP LOCKED
      ) l
      """, [.int8(Int64(sweptPeopleMax))]))
  let removed = work.add(
    Statement(
      """
      WITH hidden AS MATERIALIZED (
        SELECT n.notification_id, r.deleted_all_at
        FROM unnest(current_setting('magpie.swept_people')::text[]) AS p (user_id)
        JOIN notification_recipients r ON r.user_id = p.user_id
        JOIN notifications n ON n.recipient = r.user_id AND n.raised_at <= r.deleted_all_at
        LIMIT $1
      )
      DELETE FROM notifications n USING hidden h
      WHERE n.notification_id = h.notification_id
      RETURNING n.notification_id::text, n.recipient,
        (SELECT max(g.generation) FROM notification_generations g),
        nextval('notification_counter'),
        h.deleted_all_at
      """, [.int8(Int64(sweptNotificationsMax))]))
  work.add(
    Statement(
      """
      UPDATE notification_recipients r SET swept_at = r.deleted_all_at
      WHERE r.user_id = ANY (current_setting('magpie.swept_people')::text[])
        AND NOT EXISTS (
          SELECT FROM notifications n
          WHERE n.recipient = r.user_id AND n.raised_at <= r.deleted_all_at)
      """))
  work.finish = { results in
    let removed = results[removed]
    return Outcome(
      events: try removed.map { row in
        retraction(
          notification: try row.text(0), recipient: try row.text(1), generation: try row.int8(2),
          counter: try row.int8(3),
          cause: Cause(time: EventTime(microseconds: try row.timestamptz(4))))
      },
      counts: ["notifications_swept": removed.count],
      hasMore: try removed.count == sweptNotificationsMax
        || results[locked].only.int(1) == sweptPeopleMax)
  }
  return work
}
