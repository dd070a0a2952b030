-- compatible-from: 9
-- While somebody was being erased, each alarm page read all alarms of its reader, and looked each of them up for each
-- person who was being erased. Now a page takes as many alarms as it shows from either half of shown_alarms, and looks
-- up first whose erasure concerns the reader at all.

-- Of the people who are being erased, those who contributed to the person's notifications.
CREATE FUNCTION erasing_contributors(recipient text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ARRAY(
    SELECT e.user_id FROM erasing_people() e
    WHERE EXISTS (SELECT FROM notification_actors a WHERE a.actor = e.user_id AND a.recipient = $1)
      OR EXISTS (
        SELECT FROM notification_actors a
        WHERE a.source = e.user_id AND a.recipient = $1
          AND a.grouped IS NOT NULL AND a.type <> 13 AND a.actor IS DISTINCT FROM a.source));
END
$$;

-- Whether one of these people contributed to the notification.
CREATE FUNCTION has_contribution(people text[], recipient text, notification uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN cardinality($1) > 0 AND (
    EXISTS (
      SELECT FROM unnest($1) p (person)
      JOIN notification_actors a ON a.actor = p.person AND a.recipient = $2 AND a.notification_id = $3)
    OR EXISTS (
      SELECT FROM unnest($1) p (person)
      JOIN notification_actors a ON a.source = p.person AND a.recipient = $2 AND a.notification_id = $3
      WHERE a.grouped IS NOT NULL AND a.type <> 13 AND a.actor IS DISTINCT FROM a.source));
END
$$;

-- The two halves of shown_notifications, before contributions of people who are being erased are left out: what no
-- review concerns, and what is computed anew. Neither has what readers do not see of somebody who is being erased
-- whatever they contributed: their own notifications, and mentions in comments on their posts.
CREATE VIEW unreviewed_notifications AS
SELECT s.*
FROM settled_notifications s
WHERE NOT EXISTS (
    SELECT FROM notification_reviews v
    WHERE v.recipient = s.recipient AND v.type = s.type
      AND s.raised_at >= v.from_day AND s.raised_at < v.to_day AND s.subject >= v.subject)
  AND NOT EXISTS (
    SELECT FROM notification_scoped_reviews v
    WHERE v.recipient = s.recipient AND v.scope = 'subject' AND v.type = s.type
      AND v.value = s.subject)
  AND NOT EXISTS (
    SELECT FROM notification_scoped_reviews v
    JOIN notification_actors a ON a.actor = v.value AND a.recipient = v.recipient
    WHERE v.recipient = s.recipient AND v.scope = 'actor' AND a.recipient = s.recipient
      AND a.notification_id = s.notification_id AND s.notification_id >= v.notification_id
    -- OFFSET, so that it is a look-up for each notification and never a join.
    OFFSET 0)
  AND NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = s.recipient OFFSET 0)
  AND NOT (s.type = 4 AND EXISTS (
    SELECT FROM comments c JOIN erasures e ON e.user_id = c.post_owner WHERE c.comment_id = s.comment_id OFFSET 0));

CREATE VIEW recomputed_notifications AS
SELECT r.*
FROM reviewed_notifications r
WHERE NOT (r.type = 4 AND EXISTS (
  SELECT FROM comments c JOIN erasures e ON e.user_id = c.post_owner WHERE c.comment_id = r.comment_id OFFSET 0));

CREATE OR REPLACE VIEW shown_notifications AS
SELECT s.* FROM unreviewed_notifications s
WHERE NOT (has_erasing() AND has_contribution(erasing_contributors(s.recipient), s.recipient, s.notification_id))
UNION ALL
SELECT r.* FROM recomputed_notifications r;

-- Their alarms, each as in migration 0036.
DO $do$
DECLARE
  half text;
BEGIN
  FOREACH half IN ARRAY ARRAY['unreviewed', 'recomputed'] LOOP
    EXECUTE format($view$
CREATE VIEW %I AS
SELECT n.notification_id, n.recipient, n.raised_at, n.unread, a.type, a.actor, a.second_actor, a.actor_count,
  a.contribution_count, n.post_id, n.comment_id, a.locale, a.text, a.segments, a.spans, a.legacy_message,
  a.legacy_head_text, a.legacy_from_nick_name, a.deep_link, a.badge_icon, a.highlight_style, n.unseen,
  a.image_url AS thumbnail, a.arguments ->> 'station' AS station
FROM %I n
JOIN rendered_alarms a ON a.notification_id = n.notification_id AND NOT a.retracted
WHERE NOT EXISTS (SELECT FROM erasures e WHERE e.user_id IN (a.actor, a.second_actor) OFFSET 0)
  AND (a.actor_count <= n.actor_count OR NOT has_erasing())$view$,
      half || '_alarms', half || '_notifications');
  END LOOP;
END
$do$;

CREATE OR REPLACE VIEW shown_alarms AS
SELECT u.* FROM unreviewed_alarms u
WHERE NOT (has_erasing() AND has_contribution(erasing_contributors(u.recipient), u.recipient, u.notification_id))
UNION ALL
SELECT r.* FROM recomputed_alarms r;

GRANT SELECT ON unreviewed_notifications, recomputed_notifications, unreviewed_alarms, recomputed_alarms
  TO magpie_reader, magpie_reminder, magpie_push, magpie_fanout, magpie_notification, magpie_alarm;

-- What people under review, or concerned by an erasure, read.
DO $do$
DECLARE
  routine text;
  half CONSTANT text := $half$(SELECT * FROM %s a
        WHERE a.recipient = $1 AND %s
          -- The view says so too; here it is where the index stops.
          AND a.raised_at > deleted_all
          AND (a.raised_at, a.notification_id) < (before_time, before_id)
        ORDER BY a.raised_at DESC, a.notification_id DESC
        LIMIT size)$half$;
  -- The sub-select is evaluated once.
  kept CONSTANT text := 'NOT has_contribution((SELECT erasing_contributors($1)), $1, a.notification_id)';
  change record;
  old text;
BEGIN
  FOR change IN
    SELECT c.routine, E'shown_alarms a\n      WHERE a.recipient = $1' AS was, format(
      '(
        SELECT * FROM unreviewed_alarms a WHERE a.recipient = $1 AND %s
        UNION ALL
        SELECT * FROM recomputed_alarms a WHERE a.recipient = $1
      ) a
      WHERE a.recipient = $1', kept) AS becomes
    FROM unnest(ARRAY['has_unread(text)', 'unread_count(text)', 'has_unseen(text)', 'badge(text)',
      'digest_content(text, timestamptz, timestamptz, uuid[], smallint[], smallint)']) AS c (routine)
    UNION ALL
    SELECT 'alarm_page(text, text, int)', 'SELECT * FROM shown_alarms a
      WHERE a.recipient = $1
        -- The view says so too; here it is where the index stops.
        AND a.raised_at > deleted_all
        AND (a.raised_at, a.notification_id) < (before_time, before_id)',
      format(E'SELECT * FROM (\n        %s\n        UNION ALL\n        %s\n      ) a',
        format(half, 'unreviewed_alarms', kept), format(half, 'recomputed_alarms', 'true'))
  LOOP
    old := pg_get_functiondef(change.routine::regprocedure);
    IF cardinality(string_to_array(old, change.was)) <> 2 THEN
      RAISE EXCEPTION '% does not contain % as expected', change.routine, change.was;
    END IF;
    EXECUTE replace(old, change.was, change.becomes);
  END LOOP;
END
$do$;
