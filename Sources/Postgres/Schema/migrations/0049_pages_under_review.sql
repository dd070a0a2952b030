-- compatible-from: 9
-- Pages read what they show, also under review: see docs/decisions/0033.

-- As in migration 0043, without counting the contributions of every notification under review: that a count is as large as
-- its alarm's matters only while somebody is being erased. The condition that selects one of the halves names a column,
-- because PostgreSQL joins what counts, although nothing uses it, below a condition that names none.
DO $do$
DECLARE
  half CONSTANT text := $view$
SELECT n.notification_id, n.recipient, n.raised_at, n.unread, a.type, a.actor, a.second_actor, a.actor_count,
  a.contribution_count, n.post_id, n.comment_id, a.locale, a.text, a.segments, a.spans, a.legacy_message,
  a.legacy_head_text, a.legacy_from_nick_name, a.deep_link, a.badge_icon, a.highlight_style, n.unseen,
  a.image_url AS thumbnail, a.arguments ->> 'station' AS station
FROM recomputed_notifications n
JOIN rendered_alarms a ON a.notification_id = n.notification_id AND NOT a.retracted
WHERE %s EXISTS (SELECT FROM erasures e WHERE e.user_id IS NOT NULL AND n.recipient IS NOT NULL OFFSET 0)$view$;
BEGIN
  EXECUTE 'CREATE OR REPLACE VIEW recomputed_alarms AS' || format(half, 'NOT') || E'\nUNION ALL' || format(half, '') || '
  AND NOT EXISTS (SELECT FROM erasures e WHERE e.user_id IN (a.actor, a.second_actor) OFFSET 0)
  AND a.actor_count <= n.actor_count';
END
$do$;

-- As in migration 0047, and the large plan, which is made for each digest, is only for people under review: see migration
-- 0024.
GRANT SELECT ON settled_alarms TO magpie_reminder;
DO $do$
DECLARE
  old CONSTANT text := pg_get_functiondef(
    'digest_content(text, timestamptz, timestamptz, uuid[], smallint[], smallint)'::regprocedure);
  asks CONSTANT text := substring(old FROM '  RETURN QUERY.*;\n(?=END)');
  settled CONSTANT text := regexp_replace(
    asks, '\(\s+SELECT \* FROM unreviewed_alarms.*recomputed_alarms[^)]*\)', 'settled_alarms');
BEGIN
  IF strpos(settled, 'FROM settled_alarms a') = 0 THEN
    RAISE EXCEPTION 'digest_content does not read alarms as expected';
  END IF;
  EXECUTE replace(old, asks, format(E'  IF has_reviews($1) THEN\n%s  ELSE\n%s  END IF;\n', asks, settled));
END
$do$;

-- What changes in other functions: each text, which must be there once, and what replaces it.
DO $do$
DECLARE
  change record;
  old text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      -- The digest's id is empty, as no cursor's may be, and no other id begins like those of former people.
      ('reminder_page(text, text, int)', 'unix_cursor(r.due_at, r.reminder_id)',
        $new$unix_cursor(r.due_at, coalesce(nullif(r.reminder_id, ''), 'erased:'))$new$),
      ('reminder_page(text, text, int)', ':= feeds_cursor_id($2)',
        $new$:= coalesce(nullif(feeds_cursor_id($2), 'erased:'), '')$new$),
      -- Somebody who is being erased sees nobody, so these read whole lists before they returned nothing.
      ('likers_page(text, text, text, int)', 'post_is_erasing($2)', '(is_erasing($1) OR post_is_erasing($2))'),
      ('comment_page(text, text, text, int)', 'post_is_erasing($2)', '(is_erasing($1) OR post_is_erasing($2))'),
      ('search_people(text, text, text, int)', E'BEGIN\n',
        E'BEGIN\n  IF hides AND is_erasing($2) THEN RETURN; END IF;\n')
    ) AS c (routine, was, becomes)
  LOOP
    old := pg_get_functiondef(change.routine::regprocedure);
    IF cardinality(string_to_array(old, change.was)) <> 2 THEN
      RAISE EXCEPTION '% does not contain % as expected', change.routine, change.was;
    END IF;
    EXECUTE replace(old, change.was, change.becomes);
  END LOOP;
END
$do$;

-- Whether somebody has blocked anybody read the blocks that they have ended. The plan is made for everybody: for somebody
-- with many blocks, of whom most have ended, it would read the table.
CREATE INDEX IF NOT EXISTS person_blocks_of_blocker ON person_blocks (blocker, blocked) WHERE active;
ALTER FUNCTION has_blocks(text) SET plan_cache_mode = force_generic_plan;

-- The notifications of a subject under review, without reading its contributions: as of a kind under review, those that
-- have a row, and those whose contributions were all muted.
DO $do$
DECLARE
  -- In one line, whatever the version of PostgreSQL writes.
  view CONSTANT text := regexp_replace(pg_get_viewdef('reviewed_notifications'::regclass), '\s+', ' ', 'g');
  was CONSTANT text := 'JOIN notification_actors a ON (((a.recipient = v.recipient) AND (a.type = v.type)'
    || ' AND (a.subject = v.value) AND (a.notification_id IS NOT NULL)))';
BEGIN
  IF cardinality(string_to_array(view, was)) <> 2 THEN
    RAISE EXCEPTION 'reviewed_notifications does not contain % as expected', was;
  END IF;
  EXECUTE 'CREATE OR REPLACE VIEW reviewed_notifications AS ' || replace(view, was, 'CROSS JOIN LATERAL (
    SELECT n.notification_id FROM notifications n
    WHERE n.recipient = v.recipient AND n.type = v.type AND n.subject = v.value
    UNION ALL
    SELECT h.notification_id FROM hidden_notifications(v.recipient, v.type) h WHERE h.subject = v.value) a');
END
$do$;

-- As in migration 0027: where statistics say that little has rung for a person, a page sorted all that had.
ALTER FUNCTION reminder_history(text, text, int) SET enable_sort = off;
