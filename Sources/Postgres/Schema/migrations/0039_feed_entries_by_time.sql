-- compatible-from: 9
-- Feed entries in partitions by key, which is time: see docs/decisions/0045. Readers and workers wait only for what begins
-- with RENAME; what reads all entries comes before it.

DO $$
DECLARE
  first_bound CONSTANT bigint := (SELECT made_to FROM feed_history);
  made_to CONSTANT bigint := first_bound + feeds_time_key('2000-01-09 00:00:00+00');
BEGIN
  -- Posts that are later than the first bound are pulled.
  INSERT INTO pull_authors (author, pulling)
  SELECT DISTINCT p.author, false FROM posts p WHERE p.post_key >= first_bound
  ON CONFLICT DO NOTHING;
  UPDATE posts SET delivery = 'pull' WHERE post_key >= first_bound;
  DELETE FROM feed_entries WHERE post_key >= first_bound;
  ALTER TABLE feed_entries VALIDATE CONSTRAINT feed_entries_before;

  ALTER TABLE feed_entries RENAME TO feed_entries_before;
  ALTER TABLE feed_entries_before RENAME CONSTRAINT feed_entries_pkey TO feed_entries_before_pkey;
  CREATE TABLE feed_entries (
    owner bigint NOT NULL,
    post_key bigint NOT NULL,
    PRIMARY KEY (owner, post_key)
  ) PARTITION BY RANGE (post_key);
  EXECUTE format(
    'ALTER TABLE feed_entries ATTACH PARTITION feed_entries_before FOR VALUES FROM (MINVALUE) TO (%1$s);
    CREATE TABLE feed_entries_from_%1$s PARTITION OF feed_entries FOR VALUES FROM (%1$s) TO (%2$s);
    CREATE TABLE feed_entries_from_%2$s PARTITION OF feed_entries FOR VALUES FROM (%2$s) TO (MAXVALUE)',
    first_bound, made_to);
  ALTER TABLE feed_entries_before DROP CONSTRAINT feed_entries_before;
  EXECUTE format('UPDATE feed_history SET made_to = %s', made_to);
END
$$;
REVOKE ALL ON feed_entries_before FROM magpie_fanout, magpie_reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON feed_entries TO magpie_fanout;
GRANT SELECT ON feed_entries TO magpie_reader;

-- The partitions of feed_entries, and the first key that is beyond each; NULL for the last.
CREATE FUNCTION feed_partitions() RETURNS TABLE (name regclass, ends_at bigint)
LANGUAGE sql STABLE AS $$
  SELECT c.oid::regclass, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''?(-?[0-9]+)')::bigint
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = to_regclass('feed_entries')
$$;

-- If partitions are made for less than an eighth of `history` from `at` on, makes one for another sixteenth, and raises the
-- floor of all feeds to the newest bound that is at least `history` before. Drops the partitions that are below the
-- floor of an hour ago, so that no reader can be looking for what they hold. True if it made one.
--
-- It waits a quarter of a second for those who read or write feed_entries, and keeps others waiting meanwhile; if that is too
-- short, it does nothing, also when it is called again within a minute. Call it in a transaction of its own.
--
-- SECURITY DEFINER, because only the owner of a table may make and drop its partitions.
CREATE FUNCTION feeds_keep_partitions(history interval, at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '250ms' AS $$
DECLARE
  part CONSTANT bigint := greatest(1, extract(epoch FROM history) * 1000000 / 16)::bigint << 11;
  known feed_history;
  last_partition regclass;
  bound bigint;
  latest bigint;
  expired record;
  dropped_to bigint;
BEGIN
  SELECT * INTO known FROM feed_history h
  WHERE h.made_to < feeds_time_key($2) + 2 * part
    AND h.tried_at < clock_timestamp() - least(interval '1 minute', $1 / 16)
  FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN false; END IF;
  LOCK TABLE ONLY feed_entries IN ACCESS EXCLUSIVE MODE;

  -- The last partition gets an end, and another one comes after it. It is empty, unless older workers write entries. None
  -- is moved: a reader whose snapshot is older would look for it where it was not.
  last_partition := (SELECT p.name FROM feed_partitions() p WHERE p.ends_at IS NULL);
  EXECUTE format('SELECT max(post_key) FROM %s', last_partition) INTO latest;
  bound := greatest(greatest(known.made_to, feeds_time_key($2)) + part, latest + 1);
  EXECUTE format(
    'ALTER TABLE feed_entries DETACH PARTITION %1$s;
    ALTER TABLE feed_entries ATTACH PARTITION %1$s FOR VALUES FROM (%2$s) TO (%3$s);
    CREATE TABLE feed_entries_from_%3$s PARTITION OF feed_entries FOR VALUES FROM (%3$s) TO (MAXVALUE)',
    last_partition, known.made_to, bound);
  UPDATE feed_history SET made_to = bound;

  IF known.raised_at < now() - interval '1 hour' THEN
    FOR expired IN SELECT p.* FROM feed_partitions() p WHERE p.ends_at <= known.floor ORDER BY p.ends_at LOOP
      EXECUTE format('DROP TABLE %s', expired.name);
      dropped_to := expired.ends_at;
    END LOOP;
    IF dropped_to IS NOT NULL THEN
      -- For older workers, which do not know the floor.
      EXECUTE format(
        'CREATE TABLE feed_entries_before PARTITION OF feed_entries FOR VALUES FROM (MINVALUE) TO (%s)', dropped_to);
    END IF;
    UPDATE feed_history h
    SET floor = e.floor, raised_at = now()
    FROM (
      SELECT max(p.ends_at) AS floor FROM feed_partitions() p WHERE p.ends_at <= feeds_time_key($2 - $1)
    ) e
    WHERE e.floor > h.floor;
  END IF;
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  UPDATE feed_history SET tried_at = clock_timestamp();
  RETURN false;
END
$$;

REVOKE ALL ON FUNCTION feeds_keep_partitions(interval, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION feeds_keep_partitions(interval, timestamptz) TO magpie_fanout;
DO $$
BEGIN
  EXECUTE format(
    'ALTER FUNCTION feeds_keep_partitions(interval, timestamptz) SET search_path = %I, pg_temp', current_schema());
END
$$;

-- A feed's floor is its own or that of all feeds. (And the highest cursors no longer overflow, which are computed for
-- every page now, to know which partitions it needs.)
DO $$
DECLARE
  change record;
  old text;
  new text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      ('feed_page(text, text, int)', 'coalesce(f.floor, 0)',
        'greatest(f.floor, (SELECT h.floor FROM feed_history h))'),
      ('feed_page(text, text, int)', 'before_key + 1048576', 'least(before_key, 9223372036853727231) + 1048576'),
      ('verify_feeds()', 'coalesce(b.floor, 0)', 'greatest(b.floor, (SELECT h.floor FROM feed_history h))'),
      ('verify_feeds()', 'coalesce(f.floor, 0)', 'greatest(f.floor, (SELECT h.floor FROM feed_history h))')
    ) AS c (function, was, becomes)
  LOOP
    old := pg_get_functiondef(change.function::regprocedure);
    new := replace(old, change.was, change.becomes);
    IF new = old THEN RAISE EXCEPTION '% does not contain %', change.function, change.was; END IF;
    EXECUTE new;
  END LOOP;
END
$$;
