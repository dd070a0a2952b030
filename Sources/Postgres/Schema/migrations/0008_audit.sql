-- A record of every move of an offset, written in the move's own transaction, for runs that try to
-- refute what is promised about them (`make campaign`). Off unless audit_start() is called: nothing
-- is paid otherwise, and no code of the workers knows of it.

CREATE TABLE batch_audit (
  -- Given out under the lock of the offset's row, so of one partition they are in the order of the
  -- moves. Some are missing: of transactions that were rolled back.
  entry bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  consumer_group text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  partition int NOT NULL,
  -- Null when the row is new.
  from_offset bigint,
  to_offset bigint NOT NULL,
  from_epoch bigint,
  to_epoch bigint NOT NULL,
  -- The session's application_name, by which a campaign tells the processes apart.
  process text NOT NULL,
  backend int NOT NULL,
  written_at timestamptz NOT NULL
);

CREATE INDEX batch_audit_partition ON batch_audit (consumer_group, topic, partition, entry);

CREATE FUNCTION audit_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO batch_audit (
    consumer_group, topic, partition, from_offset, to_offset, from_epoch, to_epoch, process,
    backend, written_at)
  VALUES (
    NEW.consumer_group, NEW.topic, NEW.partition,
    CASE WHEN TG_OP = 'UPDATE' THEN OLD.next_offset END, NEW.next_offset,
    CASE WHEN TG_OP = 'UPDATE' THEN OLD.owner_epoch END, NEW.owner_epoch,
    current_setting('application_name'), pg_backend_pid(), clock_timestamp());
  RETURN NULL;
END
$$;

CREATE FUNCTION audit_start() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  CREATE OR REPLACE TRIGGER audit_write AFTER INSERT OR UPDATE ON consumer_offsets
    FOR EACH ROW EXECUTE FUNCTION audit_write();
END
$$;

CREATE FUNCTION audit_stop() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DROP TRIGGER IF EXISTS audit_write ON consumer_offsets;
END
$$;

GRANT INSERT ON batch_audit TO magpie_fanout, magpie_notification, magpie_alarm;
GRANT SELECT ON batch_audit TO magpie_reader;

COMMENT ON TABLE batch_audit IS
  'every move of an offset while audit_start() is in force; for fault campaigns';
