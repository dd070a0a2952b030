import Events
import Handling
import Postgres

private let reviewedPeopleMax = 20
/// The maximum number of contributions checked in one piece, and so of notifications published.
private let reviewedContributionsMax = 1_000

/// Processes a piece of the contributions that `notification_reviews` names, in key order, and sets
/// their `muted` according to the timeline of mutings.
///
/// Publishes every notification that has one of them, even an unchanged one: an attempt that
/// published and then failed may have left another state in the log, and only the review's row
/// guarantees that this piece is processed again.
func reviewWork() -> Work {
  var work = Work()
  let locked = work.add(
    Statement(
      """
      SELECT set_config('magpie.reviewed_people', coalesce(array_agg(l.user_id)::text, '{}'), true),
        count(*)
      FROM (
        SELECT r.user_id FROM notification_recipients r
        WHERE r.user_id IN (
          SELECT v.recipient FROM notification_reviews v ORDER BY v.turn LIMIT $1)
        ORDER BY r.user_id
        FOR UPDATE SKIP LOCKED
      ) l
      """, [.int8(Int64(reviewedPeopleMax))]))
  let reviews = work.add(
    Statement(
      """
      SELECT v.recipient, v.type, v.caused_at, v.trace
      FROM notification_reviews v WHERE v.recipient = ANY (\(reviewedPeople))
      """))
  let piece = work.add(reviewPiece())
  let recomputed = work.add(
    recomputeNotifications(
      recipients: [], and: reviewedPeople, touched: rememberedNotifications, []))
  work.finish = { results in
    var causes = Causes([])
    for row in results[reviews] {
      causes.add(
        recipient: try row.text(0), type: try row.int(1),
        Cause(
          time: EventTime(microseconds: try row.timestamptz(2)),
          trace: try row.textOrNil(3).flatMap { TraceContext($0) }))
    }
    var outcome = try snapshots(results[recomputed], causes: causes)
    outcome.counts["contributions_reviewed"] = try results[piece].only.int(0)
    outcome.hasMore = try results[locked].only.int(1) > 0
    return outcome
  }
  return work
}

private let reviewedPeople = "current_setting('magpie.reviewed_people')::text[]"

/// The recipients are locked. Returns the number of contributions checked.
private func reviewPiece() -> Statement {
  Statement(
    """
    WITH taken AS MATERIALIZED (
      SELECT v.* FROM notification_reviews v WHERE v.recipient = ANY (\(reviewedPeople))
    ),
    -- The maximum number of contributions per review.
    share AS MATERIALIZED (
      SELECT greatest($1 / greatest(count(*), 1), 1) AS size FROM taken
    ),
    -- is_reached: the review covers the contribution.
    piece AS MATERIALIZED (
      SELECT v.recipient, v.type, a.subject, a.source, a.place, a.notification_id, a.muted,
        a.active AND a.first_at > v.after_time AND a.first_at <= v.upto_time AS is_reached,
        a.active AND contribution_muted(v.recipient, v.type, a.subject, a.actor, a.first_at)
          AS is_muted
      FROM taken v
      CROSS JOIN LATERAL (
        SELECT a.ctid AS place, a.subject, a.source, a.actor, a.notification_id, a.active, a.muted,
          a.first_at
        FROM notification_actors a
        WHERE a.recipient = v.recipient AND a.type = v.type
          AND (a.subject, a.source) > (v.subject, v.source)
        ORDER BY a.subject, a.source
        LIMIT (SELECT s.size FROM share s)
      ) a
    ),
    changed AS (
      UPDATE notification_actors a SET muted = NOT a.muted
      WHERE a.ctid = ANY (ARRAY(
        SELECT p.place FROM piece p WHERE p.is_reached AND p.muted <> p.is_muted))
    ),
    -- The last contribution of each review that is not finished.
    last AS MATERIALIZED (
      SELECT DISTINCT ON (p.recipient, p.type) p.recipient, p.type, p.subject, p.source
      FROM (
        SELECT p.*, count(*) OVER (PARTITION BY p.recipient, p.type) AS found FROM piece p
      ) p
      WHERE p.found = (SELECT s.size FROM share s)
      ORDER BY p.recipient, p.type, p.subject DESC, p.source DESC
    ),
    unfinished AS (
      UPDATE notification_reviews v
      SET subject = l.subject, source = l.source, turn = DEFAULT
      FROM last l
      WHERE v.recipient = l.recipient AND v.type = l.type
    ),
    finished AS (
      DELETE FROM notification_reviews v
      WHERE v.recipient = ANY (\(reviewedPeople))
        AND NOT EXISTS (SELECT FROM last l WHERE l.recipient = v.recipient AND l.type = v.type)
    )
    SELECT (SELECT count(*) FROM piece), \(rememberNotifications)
    FROM (
      SELECT DISTINCT p.notification_id, p.recipient, p.type, p.subject FROM piece p
      WHERE p.is_reached
    ) t
    """, [.int8(Int64(reviewedContributionsMax))])
}
