-- compatible-from: 9
-- Which record was the last applied in each partition, by which a worker recognizes the log when it
-- goes on there. Null where it is unknown: such a log is taken for the right one.
ALTER TABLE consumer_offsets
  ADD COLUMN last_offset bigint,
  -- The record's time in milliseconds and a checksum, as the workers compute them.
  ADD COLUMN last_identity text COLLATE "C",
  ADD CHECK ((last_offset IS NULL) = (last_identity IS NULL)),
  ADD CHECK (last_offset < next_offset);

-- Whoever moves an offset without saying what the last record is (a worker of the version before, an
-- operator's UPDATE) leaves none: that of another offset would be wrong.
CREATE FUNCTION last_record_forget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.last_offset := NULL;
  NEW.last_identity := NULL;
  RETURN NEW;
END
$$;

CREATE TRIGGER last_record_forget BEFORE UPDATE ON consumer_offsets
  FOR EACH ROW
  WHEN (
    OLD.last_offset IS NOT NULL
    AND NEW.next_offset <> OLD.next_offset AND NEW.last_offset IS NOT DISTINCT FROM OLD.last_offset)
  EXECUTE FUNCTION last_record_forget();

-- As the one of migration 0001, which workers of the version before go on calling, with what the last
-- record of each partition is.
CREATE FUNCTION fence_advance(
  consumer_group text, topics text[], partitions int[],
  expected_offsets bigint[], next_offsets bigint[], owner_epochs bigint[],
  last_offsets bigint[], last_identities text[]
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
  SET next_offset = f.next_offset, updated_at = now(),
    last_offset = f.last_offset, last_identity = f.last_identity
  FROM unnest(
      topics, partitions, expected_offsets, next_offsets, owner_epochs, last_offsets,
      last_identities)
    AS f (
      topic, partition, expected_offset, next_offset, owner_epoch, last_offset, last_identity)
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

COMMENT ON COLUMN consumer_offsets.last_offset IS
  'the last record applied; null where it is unknown';
COMMENT ON COLUMN consumer_offsets.last_identity IS
  'the time of that record in milliseconds, and a checksum of its key, value and headers';
