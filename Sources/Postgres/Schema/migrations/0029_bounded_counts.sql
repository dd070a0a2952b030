-- compatible-from: 9
-- unread_count and badge stop at 1,000, so that a person with a million unread alarms costs no more than one with a
-- thousand. Workers of an older version go on beside this schema; push-worker sends what badge says.

CREATE OR REPLACE FUNCTION unread_count(user_id text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_bitmapscan = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET max_parallel_workers_per_gather = 0
SET jit = off
AS $$
DECLARE
  seen_all CONSTANT timestamptz := (
    SELECT greatest(r.deleted_all_at, r.read_all_at)
    FROM notification_recipients r WHERE r.user_id = $1);
BEGIN
  IF has_reviews($1) THEN
    RETURN (
      SELECT count(*) FROM (
        SELECT FROM shown_alarms a
        WHERE a.recipient = $1 AND a.unread AND a.raised_at > seen_all
        LIMIT 1000) n);
  ELSE
    RETURN (
      SELECT count(*) FROM (
        SELECT FROM settled_alarms a
        WHERE a.recipient = $1 AND a.unread AND a.raised_at > seen_all
        LIMIT 1000) n);
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION badge(user_id text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_bitmapscan = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET max_parallel_workers_per_gather = 0
SET jit = off
AS $$
DECLARE
  seen_all CONSTANT timestamptz := (
    SELECT greatest(r.deleted_all_at, r.read_all_at, r.seen_all_at)
    FROM notification_recipients r WHERE r.user_id = $1);
BEGIN
  IF has_reviews($1) THEN
    RETURN (
      SELECT count(*) FROM (
        SELECT FROM shown_alarms a
        WHERE a.recipient = $1 AND a.unseen AND a.raised_at > seen_all
        LIMIT 1000) n);
  ELSE
    RETURN (
      SELECT count(*) FROM (
        SELECT FROM settled_alarms a
        WHERE a.recipient = $1 AND a.unseen AND a.raised_at > seen_all
        LIMIT 1000) n);
  END IF;
END
$$;
