import Events
import Handling
import Postgres

/// The maximum number of contributions checked in one piece.
private let checkedMax = 2_000

/// Checks a piece of the contributions that an older version wrote, until `contribution_check` is
/// empty. That version notified everybody whom any event of a like or message named, and did not
/// write message facts. Adds these facts and withdraws contributions that contradict the facts.
///
/// Locks facts, then recipients, as a batch of events does.
func checkWork() -> Work {
  let suspects = """
    SELECT s.recipient COLLATE "C" AS recipient, s.type, s.subject COLLATE "C" AS subject,
      s.source COLLATE "C" AS source
    FROM unnest(
      current_setting('magpie.suspect_recipients')::text[],
      current_setting('magpie.suspect_types')::smallint[],
      current_setting('magpie.suspect_subjects')::text[],
      current_setting('magpie.suspect_sources')::text[]
    ) AS s (recipient, type, subject, source)
    """
  let wrong = """
    FROM (\(suspects)) s
    CROSS JOIN LATERAL (
      SELECT a.ctid, a.version_time, a.version_id FROM notification_actors a
      WHERE a.recipient = s.recipient AND a.type = s.type AND a.subject = s.subject
        AND a.source = s.source AND a.active
      LIMIT 1
    ) a
    WHERE NOT contribution_stands(
      s.recipient, s.type, s.subject, s.source, a.version_time, a.version_id)
    """
  var work = Work()
  let piece = work.add(
    Statement(
      """
      WITH progress AS MATERIALIZED (
        SELECT c.* FROM contribution_check c FOR UPDATE SKIP LOCKED
      ),
      piece AS MATERIALIZED (
        SELECT a.* FROM progress c
        CROSS JOIN LATERAL (
          SELECT a.recipient, a.type, a.subject, a.source, a.active, a.version_time, a.version_id
          FROM notification_actors a
          WHERE (a.recipient, a.type, a.subject, a.source)
            > (c.recipient, c.type, c.subject, c.source)
          ORDER BY a.recipient, a.type, a.subject, a.source
          LIMIT $1
        ) a
      ),
      written AS (
        INSERT INTO message_facts AS f (message_id, receiver, sender, version_time, version_id)
        SELECT DISTINCT ON (p.source) p.source, p.recipient, p.subject, p.version_time, p.version_id
        FROM piece p WHERE p.type = 3
        ORDER BY p.source, p.version_time DESC, p.version_id DESC
        \(mergeMessageFact)
      ),
      moved AS (
        UPDATE contribution_check c SET
          recipient = l.recipient, type = l.type, subject = l.subject, source = l.source
        FROM (
          SELECT p.* FROM piece p
          ORDER BY p.recipient DESC, p.type DESC, p.subject DESC, p.source DESC LIMIT 1
        ) l
        WHERE (SELECT count(*) FROM piece) = $1
      ),
      finished AS (
        DELETE FROM contribution_check c
        WHERE EXISTS (SELECT FROM progress) AND (SELECT count(*) FROM piece) < $1
      ),
      suspects AS (
        SELECT p.recipient, p.type, p.subject, p.source FROM piece p
        WHERE p.active AND p.type IN (0, 3)
        UNION
        SELECT o.recipient, 3, o.subject, o.source
        FROM (\(overruledMessages)) AS o (recipient, subject, source)
      )
      SELECT (SELECT count(*) FROM piece) = $1,
        set_config('magpie.suspect_recipients', coalesce(array_agg(recipient)::text, '{}'), true),
        set_config('magpie.suspect_types', coalesce(array_agg(type)::text, '{}'), true),
        set_config('magpie.suspect_subjects', coalesce(array_agg(subject)::text, '{}'), true),
        set_config('magpie.suspect_sources', coalesce(array_agg(source)::text, '{}'), true)
      FROM suspects
      """, [.int8(Int64(checkedMax))]))
  work.add(
    Statement(
      """
      SELECT set_config('magpie.wronged_people', coalesce(array_agg(l.user_id)::text, '{}'), true)
      FROM (
        SELECT r.user_id FROM notification_recipients r
        WHERE r.user_id = ANY (ARRAY(SELECT s.recipient \(wrong)))
        ORDER BY r.user_id
        FOR UPDATE
      ) l
      """))
  work.add(
    Statement(
      """
      UPDATE notification_actors a SET
        active = false, muted = false, also_touched = a.notification_id
      WHERE a.ctid = ANY (ARRAY(
        SELECT a.ctid \(wrong)
          AND s.recipient = ANY (current_setting('magpie.wronged_people')::text[])))
      """))
  let recomputed = work.add(
    recomputeNotifications(
      recipients: [], and: "current_setting('magpie.wronged_people')::text[]",
      touched: "SELECT NULL::uuid, ''::text COLLATE \"C\", 0::smallint, ''::text COLLATE \"C\"",
      []))
  work.finish = { results in
    var outcome = try snapshots(results[recomputed], causes: Causes([], otherwise: .now))
    outcome.hasMore = try results[piece].only.bool(0)
    return outcome
  }
  return work
}
