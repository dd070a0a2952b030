-- What becomes of a dead letter: it stays open until it is applied after all, discarded by somebody
-- who says why, or found applied by a rebuild. Nothing about it is forgotten on the way.

ALTER TABLE dead_letters
  ADD COLUMN state text COLLATE "C" NOT NULL DEFAULT 'open'
    CHECK (state IN ('open', 'redriven', 'discarded', 'rebuilt')),
  ADD COLUMN resolved_at timestamptz,
  ADD COLUMN resolved_by text,
  ADD COLUMN resolution text,
  ADD CHECK ((state = 'open') = (resolved_at IS NULL)),
  -- A record that is thrown away is thrown away for a reason.
  ADD CHECK (state <> 'discarded' OR coalesce(resolution, '') <> '');

-- The worker counts the open ones every few seconds.
CREATE INDEX dead_letters_open ON dead_letters (consumer_group, topic) WHERE state = 'open';

-- One row for each attempt to apply the record and for each decision about it, never changed. The
-- first is the worker's own failure; a later one keeps what the earlier ones said.
CREATE TABLE dead_letter_history (
  consumer_group text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  partition int NOT NULL,
  record_offset bigint NOT NULL,
  entry int NOT NULL,
  happened_at timestamptz NOT NULL DEFAULT now(),
  what text COLLATE "C" NOT NULL
    CHECK (what IN ('failed', 'redriven', 'discarded', 'rebuilt', 'reopened')),
  -- Of a failure; null otherwise.
  reason_code text,
  reason text,
  attempts int NOT NULL,
  code_version text NOT NULL,
  -- Who decided, and what they said; null for a failure.
  done_by text,
  note text,
  PRIMARY KEY (consumer_group, topic, partition, record_offset, entry),
  FOREIGN KEY (consumer_group, topic, partition, record_offset) REFERENCES dead_letters
    ON UPDATE CASCADE ON DELETE CASCADE
);

-- A trigger, so that no way of changing a dead letter goes around it. The row's lock, held by whoever
-- changes it, keeps the entries of one letter apart. The schema is the table's own: during a rebuild
-- two tables of this name exist.
CREATE FUNCTION dead_letter_remember() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  what text := CASE
    WHEN NEW.state <> 'open' AND (TG_OP = 'INSERT' OR OLD.state <> NEW.state) THEN NEW.state
    WHEN TG_OP = 'INSERT' OR NEW.attempts <> OLD.attempts THEN 'failed'
    WHEN OLD.state <> NEW.state THEN 'reopened'
  END;
BEGIN
  IF what IS NULL THEN
    RETURN NULL;
  END IF;
  EXECUTE format(
    'INSERT INTO %1$I.dead_letter_history
     SELECT $1, $2, $3, $4, coalesce(max(entry), 0) + 1, clock_timestamp(), $5, $6, $7, $8, $9, $10, $11
     FROM %1$I.dead_letter_history
     WHERE consumer_group = $1 AND topic = $2 AND partition = $3 AND record_offset = $4',
    TG_TABLE_SCHEMA)
  USING NEW.consumer_group, NEW.topic, NEW.partition, NEW.record_offset, what,
    CASE WHEN what = 'failed' THEN NEW.reason_code END,
    CASE WHEN what = 'failed' THEN NEW.reason END,
    NEW.attempts, NEW.code_version,
    CASE WHEN what <> 'failed' THEN NEW.resolved_by END,
    CASE WHEN what <> 'failed' THEN NEW.resolution END;
  RETURN NULL;
END
$$;

INSERT INTO dead_letter_history (
  consumer_group, topic, partition, record_offset, entry, happened_at, what, reason_code, reason,
  attempts, code_version)
SELECT consumer_group, topic, partition, record_offset, 1, dead_lettered_at, 'failed', reason_code,
  reason, attempts, code_version
FROM dead_letters;

CREATE TRIGGER dead_letter_remember AFTER INSERT OR UPDATE OF attempts, state ON dead_letters
  FOR EACH ROW EXECUTE FUNCTION dead_letter_remember();

GRANT SELECT, INSERT ON dead_letter_history
  TO magpie_fanout, magpie_notification, magpie_alarm;
GRANT SELECT ON dead_letter_history TO magpie_reader;

COMMENT ON TABLE dead_letters IS
  'records that could not be applied, and what became of them: magpie dead-letters';
COMMENT ON TABLE dead_letter_history IS
  'every attempt to apply a dead letter and every decision about it, in order';
