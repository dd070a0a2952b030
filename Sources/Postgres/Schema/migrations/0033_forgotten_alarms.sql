-- compatible-from: 9
-- Alarm-worker and reminder-worker forget people: see docs/decisions/0040.

-- The alarms of a person that are retracted, which no other index has.
CREATE INDEX alarms_retracted ON alarms (recipient) WHERE retracted;

-- When the reminder was set that rang: what a person set before they were erased is not theirs any more, however late
-- it was due. NULL: rung by a worker of an older version, before every erasure.
ALTER TABLE reminder_rings ADD COLUMN set_at timestamptz;

-- The items that a cycle has shown, without those of a cycle that is being forgotten.
CREATE OR REPLACE FUNCTION cycle_shown(user_id text, reminder_id text)
RETURNS TABLE (round int, items text[])
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT r.round, array_agg(r.item)
  FROM (
    SELECT (r.content ->> 'round')::int AS round, r.content ->> 'item' AS item
    FROM reminder_rings r
    WHERE r.user_id = $1 AND r.reminder_id = $2 AND r.state = 'rung' AND r.content ? 'item'
      AND NOT EXISTS (
        SELECT FROM reminder_erasures e
        WHERE e.user_id = $1 AND coalesce(r.set_at, '-infinity') <= e.erased_at)
    ORDER BY r.occurrence DESC
    LIMIT 50
  ) r
  GROUP BY r.round
  ORDER BY r.round DESC
  LIMIT 1
$$;

-- Readers see nothing of who is being erased. (Search does so with is_blocked, alarm_state with shown_alarms.)
DO $do$
DECLARE
  change record;
  old text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      (
        'profile(text, text)', 'b.blocker = $2 AND b.blocked = $1 AND b.active)',
        '
    AND NOT EXISTS (SELECT FROM erasures e WHERE e.user_id IN ($1, $2))'
      ),
      (
        'reminder_page(text, text, int)', 'WHERE r.user_id = $1 AND r.due_at IS NOT NULL',
        '
    AND NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = $1)'
      ),
      (
        'reminder_history(text, text, int)', 'WHERE r.user_id = $1 AND r.due_at <= before_time',
        '
    AND NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = $1)'
      ),
      (
        'digest_setting(text)', 'r.definition IS NOT NULL',
        '
    AND NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = $1)'
      )
    ) AS c (function, condition, further)
  LOOP
    old := pg_get_functiondef(change.function::regprocedure);
    IF strpos(old, change.condition) = 0 THEN
      RAISE EXCEPTION '% does not contain % as expected', change.function, change.condition;
    END IF;
    EXECUTE replace(old, change.condition, change.condition || change.further);
  END LOOP;
END
$do$;

GRANT DELETE ON profiles, profile_edits, alarms TO magpie_alarm;
GRANT DELETE ON reminders, reminder_people, reminder_rings TO magpie_reminder;
