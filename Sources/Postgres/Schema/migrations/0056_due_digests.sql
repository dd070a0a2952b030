-- compatible-from: 9
-- Digests that are due do not hold up reminders, a cycle goes on with its round after an edit to a zone further west, and
-- magpie verify accepts reminders whose zone the worker lacks.

-- The digests and the reminders that are due, which reminder-worker finds apart.
CREATE INDEX IF NOT EXISTS reminders_digests_due ON reminders (partition, due_at)
  WHERE reminder_id = '' AND due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS reminders_not_digests_due ON reminders (partition, due_at)
  WHERE reminder_id <> '' AND due_at IS NOT NULL;

-- As in migration 0033, but what a cycle rang last is not always last by name: names go back when it is moved to a zone
-- further west. So of the names after those that are decided, which are of the time before, the last ones count, too. A
-- round has up to 50 items, and names go back by up to 26 hours, which are up to 110 moments.
CREATE OR REPLACE FUNCTION cycle_shown(user_id text, reminder_id text)
RETURNS TABLE (round int, items text[])
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT r.round, array_agg(r.item)
  FROM reminders c
  CROSS JOIN LATERAL (VALUES
    (timestamp '-infinity', c.decided_through),
    (c.decided_through, timestamp 'infinity')
  ) AS names (above, upto)
  CROSS JOIN LATERAL (
    SELECT (r.content ->> 'round')::int AS round, r.content ->> 'item' AS item
    FROM reminder_rings r
    WHERE r.user_id = $1 AND r.reminder_id = $2 AND r.state = 'rung' AND r.content ? 'item'
      AND r.occurrence > names.above AND r.occurrence <= names.upto
      AND NOT EXISTS (
        SELECT FROM reminder_erasures e
        WHERE e.user_id = $1 AND coalesce(r.set_at, '-infinity') <= e.erased_at)
    ORDER BY r.occurrence DESC
    LIMIT 160
  ) r
  WHERE c.user_id = $1 AND c.reminder_id = $2
  GROUP BY r.round
  ORDER BY r.round DESC
  LIMIT 1
$$;

-- A reminder whose zone the worker lacks is looked at later, at a time that is no occurrence's: it is no whole second.
-- A ring that replaces one of another kind may not have been published, or its withdrawal not applied, for as long as grace.
DO $do$
DECLARE
  change record;
  old text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      ($$JOIN pg_timezone_names z ON z.name = coalesce(nullif(r.zone, ''), 'UTC')$$,
        $$%s AND date_trunc('second', r.due_at) = r.due_at$$),
      ($$r.definition ? 'window' AND (r.next_at <= r.decided_through + interval '15 days') IS NOT TRUE$$,
        $$%s AND (date_trunc('second', r.due_at) = r.due_at) IS NOT FALSE$$),
      ($$substr(r.content ->> 'kind', 2)::smallint = a.type$$, $$(%s OR r.decided_at >= now() - grace)$$)
    ) AS c (condition, becomes)
  LOOP
    old := pg_get_functiondef('verify_reminders(interval)'::regprocedure);
    IF cardinality(string_to_array(old, change.condition)) <> 2 THEN
      RAISE EXCEPTION 'verify_reminders does not contain % as expected', change.condition;
    END IF;
    EXECUTE replace(old, change.condition, format(change.becomes, change.condition));
  END LOOP;
END
$do$;
