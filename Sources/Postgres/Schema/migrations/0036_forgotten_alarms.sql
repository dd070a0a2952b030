-- compatible-from: 9
-- Readers see no alarm that follows from somebody who is being erased, also if they are not its actor: see
-- docs/decisions/0040. The indexes are built here, and block writes to their tables meanwhile.

-- The contributions whose source counts as a person, but is not their actor: alarms that were raised. (The source of a
-- subscriber's alarm, kind 13, is a post.) A worker of an older version looks for those without an actor only.
CREATE INDEX notification_actors_of_source ON notification_actors (source, recipient, notification_id)
  WHERE grouped IS NOT NULL AND type <> 13 AND actor IS DISTINCT FROM source;
DROP INDEX notification_actors_without_actor;

-- The comments that no contribution to their post's owner leads to: in migration 0032, those that were never made. A
-- removal may name another owner than the comment did.
CREATE INDEX comments_removed ON comments (post_owner) WHERE NOT active;
DROP INDEX comments_never_made;

-- Whether readers see nothing of a contribution, because its actor or source is being erased.
CREATE FUNCTION contribution_is_erasing(type smallint, actor text, source text, grouped boolean)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM erasures e WHERE e.user_id = $2)
    OR $4 IS NOT NULL AND $1 <> 13 AND EXISTS (SELECT FROM erasures e WHERE e.user_id = $3);
END
$$;

DO $do$
DECLARE
  -- In one line, whatever the version of PostgreSQL writes.
  view text := regexp_replace(pg_get_viewdef('reviewed_notifications'::regclass), '\s+', ' ', 'g');
  change record;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      (1, 'JOIN notification_actors a ON ((a.actor = e.user_id)))) p(recipient)',
        'JOIN notification_actors a ON ((a.actor = e.user_id)))
        UNION
        SELECT a.recipient FROM erasing_people() e
        JOIN notification_actors a ON a.source = e.user_id
        WHERE a.grouped IS NOT NULL AND a.type <> 13 AND a.actor IS DISTINCT FROM a.source) p(recipient)'),
      (1, 'WHERE ((a.type = k.type) AND (a.notification_id IS NOT NULL)) UNION',
        'WHERE ((a.type = k.type) AND (a.notification_id IS NOT NULL)) UNION
        SELECT a.notification_id FROM erasing_people() e
        JOIN notification_actors a ON a.source = e.user_id AND a.recipient = p.recipient
        WHERE a.grouped IS NOT NULL AND a.type <> 13 AND a.actor IS DISTINCT FROM a.source
          AND a.type = k.type AND a.notification_id IS NOT NULL
        UNION'),
      (3, 'is_erasing(a.actor)', 'contribution_is_erasing(a.type, a.actor, a.source, a.grouped)')
    ) AS c (times, was, becomes)
  LOOP
    IF cardinality(string_to_array(view, change.was)) <> change.times + 1 THEN
      RAISE EXCEPTION 'reviewed_notifications does not contain % as expected', change.was;
    END IF;
    view := replace(view, change.was, change.becomes);
  END LOOP;
  EXECUTE 'CREATE OR REPLACE VIEW reviewed_notifications AS ' || view;
END
$do$;

-- As in migration 0032, with contributions of other sources, and without mentions in comments on a post of somebody who
-- is being erased: the comment goes with the post. A mention has a notification of its own.
CREATE OR REPLACE VIEW shown_notifications AS
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
  AND NOT EXISTS (
    SELECT FROM erasures e
    WHERE e.user_id IS NOT NULL
      AND (e.user_id = s.recipient
        OR EXISTS (
          SELECT FROM notification_actors a
          WHERE a.actor = e.user_id AND a.recipient = s.recipient AND a.notification_id = s.notification_id
          OFFSET 0)
        OR EXISTS (
          SELECT FROM notification_actors a
          WHERE a.source = e.user_id AND a.recipient = s.recipient AND a.notification_id = s.notification_id
            AND a.grouped IS NOT NULL AND a.type <> 13 AND a.actor IS DISTINCT FROM a.source
          OFFSET 0)
        OR s.type = 4 AND EXISTS (
          SELECT FROM comments c WHERE c.comment_id = s.comment_id AND c.post_owner = e.user_id OFFSET 0))
    OFFSET 0)
UNION ALL
SELECT r.*
FROM reviewed_notifications r
WHERE NOT (r.type = 4 AND EXISTS (
  SELECT FROM comments c JOIN erasures e ON e.user_id = c.post_owner WHERE c.comment_id = r.comment_id OFFSET 0));

-- As in migration 0032. An alarm that counts more people than its notification counts somebody who is being erased, and
-- is left out, too.
CREATE OR REPLACE VIEW shown_alarms AS
SELECT n.notification_id, n.recipient, n.raised_at, n.unread, a.type, a.actor, a.second_actor, a.actor_count,
  a.contribution_count, n.post_id, n.comment_id, a.locale, a.text, a.segments, a.spans, a.legacy_message,
  a.legacy_head_text, a.legacy_from_nick_name, a.deep_link, a.badge_icon, a.highlight_style, n.unseen,
  a.image_url AS thumbnail, a.arguments ->> 'station' AS station
FROM shown_notifications n
JOIN alarms a ON a.notification_id = n.notification_id AND NOT a.retracted
WHERE NOT EXISTS (SELECT FROM erasures e WHERE e.user_id IN (a.actor, a.second_actor) OFFSET 0)
  AND (a.actor_count <= n.actor_count OR NOT has_erasing());

-- What changes in other functions: each text, as often as it must be there, and what replaces it.
DO $do$
DECLARE
  change record;
  old text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      ('alarm_people(text, uuid, text, int)', 2, 'is_erasing(c.actor)',
        'contribution_is_erasing(c.type, c.actor, c.source, c.grouped)'),
      -- No settings of or about somebody who is being erased.
      ('mutes(text)', 1, 'ORDER BY 1, 2, 3',
        $new$WHERE NOT EXISTS (
    SELECT FROM erasures e
    WHERE e.user_id = $1
      OR e.user_id = o.value AND (o.scope IN ('actor', 'block') OR o.scope = 'subject' AND o.kind = 'F03'))
  ORDER BY 1, 2, 3$new$),
      ('verify_notifications()', 1,
        'AND NOT EXISTS (SELECT FROM erasures u WHERE u.user_id IN (a.recipient, a.actor))',
        'AND NOT EXISTS (SELECT FROM erasures u WHERE u.user_id = a.recipient)
        AND NOT contribution_is_erasing(a.type, a.actor, a.source, a.grouped)
        AND NOT (a.type = 4 AND EXISTS (
          SELECT FROM comments c JOIN erasures u ON u.user_id = c.post_owner WHERE c.comment_id = a.comment_id))')
    ) AS c (routine, times, was, becomes)
  LOOP
    old := pg_get_functiondef(change.routine::regprocedure);
    IF cardinality(string_to_array(old, change.was)) <> change.times + 1 THEN
      RAISE EXCEPTION '% does not contain % as expected', change.routine, change.was;
    END IF;
    EXECUTE replace(old, change.was, change.becomes);
  END LOOP;
END
$do$;
