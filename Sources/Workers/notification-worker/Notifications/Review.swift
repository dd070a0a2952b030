import Events
import Handling
import Postgres

private let reviewedPeopleMax = 20
/// The maximum number of limited reviews in one piece.
private let scopedReviewsMax = 100
/// The maximum number of contributions checked in one piece, and so of notifications published.
private let reviewedContributionsMax = 1_000

/// Processes a piece of the contributions that `notification_reviews` and `notification_scoped_reviews`
/// name, in key order, and sets their `muted` according to the timelines and blocks.
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
          (SELECT v.recipient FROM notification_reviews v ORDER BY v.turn LIMIT $1)
          UNION
          (SELECT v.recipient FROM notification_scoped_reviews v ORDER BY v.turn LIMIT $1))
        ORDER BY r.user_id
        FOR UPDATE SKIP LOCKED
      ) l
      """, [.int8(Int64(reviewedPeopleMax))]))
  let reviews = work.add(
    Statement(
      """
      SELECT v.recipient, v.type, v.caused_at, v.trace
      FROM notification_reviews v WHERE v.recipient = ANY (\(reviewedPeople))
      UNION ALL
      SELECT v.recipient, t.type, v.caused_at, v.trace
      FROM notification_scoped_reviews v
      CROSS JOIN LATERAL contribution_types(v.recipient) t
      WHERE v.recipient = ANY (\(reviewedPeople)) AND v.type IN (-1, t.type)
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
    taken_scoped AS MATERIALIZED (
      SELECT v.* FROM notification_scoped_reviews v WHERE v.recipient = ANY (\(reviewedPeople))
      ORDER BY v.turn LIMIT $2
    ),
    -- The maximum number of contributions per review.
    share AS MATERIALIZED (
      SELECT greatest($1 / greatest(count(*), 1), 1) AS size
      FROM (SELECT v.turn FROM taken v UNION ALL SELECT v.turn FROM taken_scoped v) v
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
    scoped_piece AS MATERIALIZED (
      SELECT v.turn, a.*, a.active AND a.first_at > v.after_time AS is_reached,
        a.active AND contribution_muted(a.recipient, a.type, a.subject, a.actor, a.first_at)
          AS is_muted
      FROM taken_scoped v
      CROSS JOIN LATERAL (
        (
          SELECT a.ctid AS place, a.* FROM notification_actors a
          WHERE v.scope = 'actor' AND a.actor = v.value AND a.recipient = v.recipient
            AND a.notification_id >= v.notification_id
            AND (a.notification_id, a.source) > (v.notification_id, v.source)
          ORDER BY a.notification_id, a.source
          LIMIT (SELECT s.size FROM share s)
        )
        UNION ALL
        (
          SELECT a.ctid, a.* FROM notification_actors a
          WHERE v.scope = 'subject' AND a.recipient = v.recipient AND a.type = v.type
            AND a.subject = v.value AND a.source > v.source
          ORDER BY a.source
          LIMIT (SELECT s.size FROM share s)
        )
      ) a
    ),
    changed AS (
      UPDATE notification_actors a SET muted = NOT a.muted
      WHERE a.ctid = ANY (ARRAY(
        SELECT p.place FROM piece p WHERE p.is_reached AND p.muted <> p.is_muted
        UNION ALL
        SELECT p.place FROM scoped_piece p WHERE p.is_reached AND p.muted <> p.is_muted))
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
    ),
    scoped_last AS MATERIALIZED (
      SELECT v.turn, l.notification_id, l.source
      FROM taken_scoped v
      CROSS JOIN LATERAL (
        SELECT p.notification_id, p.source FROM scoped_piece p WHERE p.turn = v.turn
        ORDER BY CASE v.scope WHEN 'actor' THEN p.notification_id END DESC, p.source DESC
        LIMIT 1
      ) l
      WHERE (SELECT count(*) FROM scoped_piece p WHERE p.turn = v.turn)
        = (SELECT s.size FROM share s)
    ),
    scoped_unfinished AS (
      UPDATE notification_scoped_reviews v
      SET notification_id = coalesce(l.notification_id, v.notification_id), source = l.source,
        turn = DEFAULT
      FROM scoped_last l
      WHERE v.turn = l.turn
    ),
    scoped_finished AS (
      DELETE FROM notification_scoped_reviews v
      WHERE v.turn IN (SELECT t.turn FROM taken_scoped t)
        AND v.turn NOT IN (SELECT l.turn FROM scoped_last l)
    )
    SELECT (SELECT count(*) FROM piece) + (SELECT count(*) FROM scoped_piece),
      \(rememberNotifications)
    FROM (
      SELECT p.notification_id, p.recipient, p.type, p.subject FROM piece p WHERE p.is_reached
      UNION
      SELECT p.notification_id, p.recipient, p.type, p.subject FROM scoped_piece p
      WHERE p.is_reached
    ) t
    """, [.int8(Int64(reviewedContributionsMax)), .int8(Int64(scopedReviewsMax))])
}
