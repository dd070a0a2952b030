-- compatible-from: 9
-- A page of reminders takes its own cursors also from 2112-09-17 on, and magpie verify counts what a notification has.

DO $do$
DECLARE
  change record;
  old text;
BEGIN
  -- Reminders may be due until the end of 2199. As cursor_parts, to 2^53.
  old := pg_get_functiondef('cursor_parts(text)'::regprocedure);
  IF cardinality(string_to_array(old, '4503599627370496')) <> 2 THEN
    RAISE EXCEPTION 'cursor_parts does not contain its bound as expected';
  END IF;
  EXECUTE replace(replace(old, 'cursor_parts(', 'reminder_cursor_parts('), '4503599627370496', '9007199254740992');

  -- What changes in other functions: each text, which must be there once, and what replaces it.
  FOR change IN
    SELECT * FROM (VALUES
      ('reminder_page(text, text, int)', $$CASE WHEN $2 IS NULL THEN '-infinity' ELSE unix_cursor_time($2) END$$,
        $$coalesce(
    timestamptz '1970-01-01 00:00:00+00'
      + (SELECT p.microseconds FROM reminder_cursor_parts($2) p) * interval '1 microsecond',
    timestamptz '-infinity')$$),
      ('reminder_page(text, text, int)', 'feeds_cursor_id($2)', '(SELECT p.id FROM reminder_cursor_parts($2) p)'),
      -- As the triggers count, so this also holds while a muting is reviewed or somebody is being erased.
      ('verify_notifications()', $$  SELECT 'a like by somebody else is a contribution'$$,
        $$  SELECT 'notification_sizes = the active, unmuted contributions that are grouped', 'notification ' || notification_id,
    sum(real_contributions) || ' contributions, ' || sum(real_others) || ' of others',
    sum(contributions) || ' contributions, ' || sum(others) || ' of others'
  FROM (
    SELECT notification_id, 0 AS real_contributions, 0 AS real_others, contributions, others FROM notification_sizes
    UNION ALL
    SELECT a.notification_id, count(*), count(*) FILTER (WHERE a.actor IS DISTINCT FROM a.source AND a.type <> 3), 0, 0
    FROM notification_actors a WHERE a.active AND NOT a.muted AND is_grouped(a.grouped, a.type)
    GROUP BY a.notification_id
  ) sides
  GROUP BY notification_id
  HAVING sum(real_contributions) <> sum(contributions) OR sum(real_others) <> sum(others)

  UNION ALL
  SELECT 'a like by somebody else is a contribution'$$)
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
