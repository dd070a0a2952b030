-- What every worker shares: database roles, consumer offsets with their fence, dead letters.

-- One role per worker, granted what that worker owns; magpie_reader for the backends that read.
-- Roles belong to the whole cluster, so another database's migration may create them meanwhile.
DO $$
DECLARE
  role_name text;
BEGIN
  FOREACH role_name IN ARRAY
    ARRAY['magpie_fanout', 'magpie_notification', 'magpie_alarm', 'magpie_reader']
  LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;
      END;
    END IF;
  END LOOP;
END
$$;

-- The next offset of each partition, moved in the same transaction as the results of the records
-- before it. owner_epoch grows by one at each assignment; only the newest owner can move the offset.
CREATE TABLE consumer_offsets (
  consumer_group text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  partition int NOT NULL,
  next_offset bigint NOT NULL CHECK (next_offset >= 0),
  owner_epoch bigint NOT NULL CHECK (owner_epoch > 0),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (consumer_group, topic, partition)
) WITH (fillfactor = 50);

-- Makes the caller the owner of the partitions: inserts missing rows at start_offsets, bumps the
-- epoch of the others. Waits for a transaction of the previous owner that is under way.
CREATE FUNCTION fence_claim(
  consumer_group text, topics text[], partitions int[], start_offsets bigint[]
) RETURNS TABLE (topic text, partition int, next_offset bigint, owner_epoch bigint)
LANGUAGE sql AS $$
  INSERT INTO consumer_offsets AS c (consumer_group, topic, partition, next_offset, owner_epoch)
  SELECT $1, claim.topic, claim.partition, claim.start_offset, 1
  FROM unnest(topics, partitions, start_offsets) AS claim (topic, partition, start_offset)
  ORDER BY claim.topic, claim.partition
  ON CONFLICT ON CONSTRAINT consumer_offsets_pkey DO UPDATE
    SET owner_epoch = c.owner_epoch + 1, updated_at = now()
  RETURNING c.topic, c.partition, c.next_offset, c.owner_epoch
$$;

-- The compare-and-set that opens every batch's transaction. It raises when the caller is not the
-- owner any more: in a pipeline an UPDATE of no rows would let the COMMIT behind it succeed.
CREATE FUNCTION fence_advance(
  consumer_group text, topics text[], partitions int[],
  expected_offsets bigint[], next_offsets bigint[], owner_epochs bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  moved int;
BEGIN
  PERFORM FROM consumer_offsets c
  JOIN unnest(topics, partitions) AS f (topic, partition)
    ON c.topic = f.topic AND c.partition = f.partition
  WHERE c.consumer_group = fence_advance.consumer_group
  ORDER BY c.topic, c.partition
  FOR UPDATE OF c;

  UPDATE consumer_offsets c
  SET next_offset = f.next_offset, updated_at = now()
  FROM unnest(topics, partitions, expected_offsets, next_offsets, owner_epochs)
    AS f (topic, partition, expected_offset, next_offset, owner_epoch)
  WHERE c.consumer_group = fence_advance.consumer_group
    AND c.topic = f.topic
    AND c.partition = f.partition
    AND c.next_offset = f.expected_offset
    AND c.owner_epoch = f.owner_epoch;
  GET DIAGNOSTICS moved = ROW_COUNT;

  IF moved <> cardinality(partitions) THEN
    RAISE EXCEPTION 'fenced: % of % partitions of consumer group % have another owner or offset',
      cardinality(partitions) - moved, cardinality(partitions), consumer_group
      USING ERRCODE = 'MG001',
        HINT = 'Another process was assigned the partition, or its offset was reset.';
  END IF;
END
$$;

-- Records that could not be applied, written in the transaction that moves the offset past them.
-- A topic that two workers consume can leave one row for each: what the one cannot apply the other
-- may. Key, value and header values are raw bytes, as they came.
CREATE TABLE dead_letters (
  consumer_group text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  partition int NOT NULL,
  record_offset bigint NOT NULL,
  record_time timestamptz,
  key bytea,
  value bytea,
  header_names text[] NOT NULL,
  header_values bytea[] NOT NULL,
  reason_code text NOT NULL,
  reason text NOT NULL,
  attempts int NOT NULL DEFAULT 1,
  code_version text NOT NULL,
  dead_lettered_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (consumer_group, topic, partition, record_offset)
);

GRANT SELECT, INSERT, UPDATE ON consumer_offsets, dead_letters
  TO magpie_fanout, magpie_notification, magpie_alarm;
GRANT SELECT ON consumer_offsets, dead_letters TO magpie_reader;
