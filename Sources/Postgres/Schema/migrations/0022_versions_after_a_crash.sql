-- compatible-from: 9
-- Versions that were published just before a crash of the server are not drawn again. See
-- docs/decisions/0004.

-- Skips more values of the sequence than can be drawn without a flush of the write-ahead log. A worker
-- calls it in a transaction of its own, after it has connected and before it draws a version: a crash ends
-- every connection, so each value drawn after the crash is above each one drawn before.
CREATE FUNCTION skip_versions(sequence text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  -- Two that set the same value would repeat what was drawn in between.
  PERFORM pg_advisory_xact_lock(1447383635, hashtext(sequence));
  -- Until the commit, which must be durable.
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  PERFORM setval(sequence::regclass, nextval(sequence::regclass) + (1 << 24));
END
$$;

GRANT UPDATE ON SEQUENCE notification_counter TO magpie_notification;
GRANT UPDATE ON SEQUENCE alarm_versions TO magpie_alarm;
