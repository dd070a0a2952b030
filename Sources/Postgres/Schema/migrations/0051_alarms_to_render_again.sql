-- compatible-from: 9
-- While somebody is being erased, readers do not see an alarm that names or counts them before it is rendered again: see
-- docs/decisions/0040. push-worker took it for one that was read or withdrawn, and removed it from other people's devices.

-- Whether an alarm that is not shown (see alarm_state) waits for that only: its notification is shown without whoever is
-- being erased, and unread.
CREATE FUNCTION alarm_awaits_rendering(user_id text, notification uuid) RETURNS boolean
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_bitmapscan = off SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET max_parallel_workers_per_gather = 0 SET jit = off
AS $$
BEGIN
  -- First, so that nothing else is planned or read while nobody is.
  IF NOT has_erasing() THEN RETURN false; END IF;
  RETURN EXISTS (
      SELECT FROM alarms a WHERE a.notification_id = $2 AND a.recipient = $1 AND NOT a.retracted)
    AND EXISTS (
      SELECT FROM shown_notifications n WHERE n.notification_id = $2 AND n.recipient = $1 AND n.unread);
END
$$;
