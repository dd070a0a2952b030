-- compatible-from: 9
-- push-worker reads the states of hundreds of due alarms at once. Each call of alarm_state and badge sets seven planner
-- settings and resets them, which costs more than what it reads.

-- alarm_state of an alarm whose recipient has no reviews (see has_reviews). Part of the caller's plan, so the caller's
-- planner settings apply.
CREATE FUNCTION settled_alarm_state(user_id text, notification uuid)
RETURNS TABLE (version bigint, shown boolean, unread boolean, unseen boolean, image_url text)
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT coalesce(a.version, 0), s.notification_id IS NOT NULL, s.unread, s.unseen,
    CASE WHEN s.notification_id IS NOT NULL
      THEN coalesce(nullif(s.thumbnail, ''), nullif(f.image_url, ''), p.image_url, '') END
  FROM (SELECT) one
  LEFT JOIN alarms a ON a.notification_id = $2 AND a.recipient = $1
  LEFT JOIN settled_alarms s ON s.notification_id = $2 AND s.recipient = $1
  LEFT JOIN profiles p ON p.user_id = s.actor
  LEFT JOIN post_facts f ON f.post_id = s.post_id AND NOT f.deleted
$$;

-- badge of somebody without reviews, likewise. A table, because PostgreSQL inlines no other function that reads one.
CREATE FUNCTION settled_badge(user_id text) RETURNS TABLE (badge bigint)
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT count(*) FROM (
    SELECT FROM settled_alarms a
    WHERE a.recipient = $1 AND a.unseen AND a.raised_at > (
      SELECT greatest(r.deleted_all_at, r.read_all_at, r.seen_all_at)
      FROM notification_recipients r WHERE r.user_id = $1)
    LIMIT 1000
  ) n
$$;

-- The two functions read the settled half from these.
DO $do$
DECLARE
  change record;
  old text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      ('alarm_state(text, uuid)', 'RETURN QUERY SELECT * FROM settled_alarm_state($1, $2);'),
      ('badge(text)', 'RETURN (SELECT s.badge FROM settled_badge($1) s);')
    ) AS c (routine, settled)
  LOOP
    old := pg_get_functiondef(change.routine::regprocedure);
    IF old !~ 'ELSE\s+RETURN[^;]*settled_alarms[^;]*;\s+END IF;' THEN
      RAISE EXCEPTION '% does not read settled_alarms as expected', change.routine;
    END IF;
    EXECUTE regexp_replace(
      old, 'ELSE\s+RETURN[^;]*;\s+END IF;', format(E'ELSE\n    %s\n  END IF;', change.settled));
  END LOOP;
END
$do$;
