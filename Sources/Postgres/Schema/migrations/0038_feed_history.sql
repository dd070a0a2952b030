-- compatible-from: 9
-- How far back feeds are stored, and how far ahead, and the first half of partitions by time: see docs/decisions/0045.
-- Migration 39 makes them. To make them of a table in use within moments, it needs to know that no entry is later than the
-- first of them; this migration forbids such entries, so that migration 39 can look for earlier ones beside readers and
-- workers.

CREATE TABLE feed_history (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  floor bigint NOT NULL CHECK (floor >= 0),
  raised_at timestamptz NOT NULL,
  made_to bigint NOT NULL CHECK (made_to >= floor),
  tried_at timestamptz NOT NULL DEFAULT '-infinity'
);
COMMENT ON TABLE feed_history IS
  'One row: the floor of every feed whose own is lower, and how far partitions of feed_entries are made.';
COMMENT ON COLUMN feed_history.raised_at IS
  'When the floor was raised. What is below it is dropped later, when nobody can have seen a lower one.';
COMMENT ON COLUMN feed_history.made_to IS
  'The first key of the last partition, which has no end. It is for workers of an older version; later posts are pulled.';
COMMENT ON COLUMN feed_history.tried_at IS
  'When a partition could last not be made, because feed_entries was in use.';
COMMENT ON TABLE feeds IS
  'Below floor, or that of feed_history if it is higher, nothing is stored and reads join follows and posts. No row '
  'means floor 0; 9223372036854775807 means that nothing is stored at all.';

-- An older worker that meets a post of more than a week ahead before migration 39 is applied writes a dead letter.
INSERT INTO feed_history (floor, raised_at, made_to)
SELECT 0, '-infinity',
  feeds_time_key(
    CASE WHEN EXISTS (SELECT FROM feed_entries) THEN now() + interval '7 days' ELSE date_trunc('hour', now()) END);
DO $$
BEGIN
  EXECUTE format(
    'ALTER TABLE feed_entries ADD CONSTRAINT feed_entries_before CHECK (post_key < %s) NOT VALID',
    (SELECT made_to FROM feed_history));
END
$$;

GRANT SELECT ON feed_history TO magpie_fanout, magpie_reader;
