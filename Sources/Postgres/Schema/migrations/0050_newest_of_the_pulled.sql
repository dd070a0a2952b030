-- compatible-from: 9
-- As in migration 0044, and a feed page reads as many posts of famous authors as it may show. Where a reader's feed
-- stores fewer entries than a page, it read up to a page of each famous author whom they follow.
-- Who is hidden is asked of authors who may be on the page: before, of everybody followed, twice, for readers who have
-- blocks, and for all readers while anybody is being erased.
CREATE OR REPLACE FUNCTION feed_page(user_id text, before text, "limit" int) RETURNS SETOF post_row
LANGUAGE plpgsql STABLE ROWS 50
SET plan_cache_mode = force_generic_plan SET enable_bitmapscan = off SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET max_parallel_workers_per_gather = 0 SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  size CONSTANT bigint := feeds_page_size($3);
  before_time CONSTANT timestamptz := feeds_cursor_time($2);
  before_id CONSTANT text := feeds_cursor_id($2);
  before_key CONSTANT bigint := feeds_cursor_microseconds($2) << 11;
  hides CONSTANT boolean := has_blocks($1);
  reader bigint;
  floor_key bigint;
  floor_time timestamptz;
  lowest bigint;
  lowest_time timestamptz;
BEGIN
  IF hides AND is_erasing($1) THEN RETURN; END IF;
  SELECT u.user_key, greatest(f.floor, (SELECT h.floor FROM feed_history h)) INTO reader, floor_key
  FROM users u LEFT JOIN feeds f ON f.owner = u.user_key
  WHERE u.user_id = $1;
  floor_time := feeds_key_time(floor_key);

  SELECT e.post_key - 1048576 INTO lowest
  FROM feed_entries e JOIN posts p ON p.post_key = e.post_key
  WHERE e.owner = reader
    AND e.post_key >= floor_key
    AND e.post_key < coalesce(before_key, 9223372036854775807)
    AND (NOT hides OR NOT feeds_hidden($1, p.author))
  ORDER BY e.post_key DESC
  OFFSET size - 1 LIMIT 1;
  lowest_time := coalesce(feeds_key_time(lowest), '-infinity');

  RETURN QUERY
  -- Of the authors followed whose posts are pulled, those with the newest posts above the floor, and how new. A page is
  -- filled by the newest post of as many authors as its size: posts of others, and older ones than the last of these,
  -- cannot be on it.
  -- Who is hidden is asked in this order, until there are enough, and not of everybody followed.
  WITH newest AS MATERIALIZED (
    SELECT c.author, c.first_at
    FROM (
      SELECT a.author, p.first_at, p.post_id
      FROM follows f
      JOIN pull_authors a ON a.author = f.followee
      CROSS JOIN LATERAL (
        SELECT p.first_at, p.post_id
        FROM posts p
        WHERE p.author = a.author AND NOT p.deleted AND p.delivery = 'pull'
          AND p.post_key >= floor_key
          AND p.first_at >= greatest(lowest_time, feeds_key_time(floor_key - 1048576))
          AND (p.first_at, p.post_id) < (before_time, before_id)
        ORDER BY p.first_at DESC, p.post_id DESC
        LIMIT 1
      ) p
      WHERE f.follower = reader AND f.active
        -- Nothing is above the highest floor.
        AND floor_key < 9223372036854775807
      ORDER BY p.first_at DESC, p.post_id DESC
      LIMIT CASE WHEN NOT hides THEN size END
    ) c
    WHERE NOT hides OR NOT feeds_hidden($1, c.author)
    ORDER BY c.first_at DESC, c.post_id DESC
    LIMIT size
  ),
  above_floor AS MATERIALIZED (
    SELECT p.post_id, p.author, p.title, p.caption, p.image_url, p.first_at, p.version_time
    FROM feed_entries e JOIN posts p ON p.post_key = e.post_key
    WHERE e.owner = reader
      AND e.post_key >= greatest(floor_key, lowest)
      AND e.post_key < coalesce(least(before_key, 9223372036853727231) + 1048576, 9223372036854775807)
      AND (p.first_at, p.post_id) < (before_time, before_id)
      AND (NOT hides OR NOT feeds_hidden($1, p.author))
    UNION ALL
    SELECT p.post_id, p.author, p.title, p.caption, p.image_url, p.first_at, p.version_time
    FROM newest n
    CROSS JOIN LATERAL (
      SELECT p.*
      FROM posts p
      WHERE p.author = n.author AND NOT p.deleted AND p.delivery = 'pull'
        AND p.post_key >= floor_key
        AND p.first_at >= (
          SELECT CASE
            WHEN count(*) < size THEN greatest(lowest_time, feeds_key_time(floor_key - 1048576))
            ELSE min(u.first_at) END
          FROM newest u)
        AND (p.first_at, p.post_id) < (before_time, before_id)
      ORDER BY p.first_at DESC, p.post_id DESC
      LIMIT size
    ) p
  ),
  -- The same below the floor, of all authors followed.
  furthest AS MATERIALIZED (
    SELECT c.author, c.first_at
    FROM (
      SELECT f.followee AS author, p.first_at, p.post_id
      FROM follows f
      CROSS JOIN LATERAL (
        SELECT p.first_at, p.post_id
        FROM posts p
        WHERE p.author = f.followee AND NOT p.deleted
          AND p.first_at <= floor_time AND p.post_key < floor_key
          AND (p.first_at, p.post_id) < (before_time, before_id)
        ORDER BY p.first_at DESC, p.post_id DESC
        LIMIT 1
      ) p
      WHERE f.follower = reader AND f.active
        -- Only a page that reaches the floor looks below it.
        AND floor_key > 0
        AND (SELECT count(*) FROM above_floor a WHERE a.first_at > floor_time) < size
      ORDER BY p.first_at DESC, p.post_id DESC
      LIMIT CASE WHEN NOT hides THEN size END
    ) c
    WHERE NOT hides OR NOT feeds_hidden($1, c.author)
    ORDER BY c.first_at DESC, c.post_id DESC
    LIMIT size
  ),
  below_floor AS (
    SELECT p.post_id, p.author, p.title, p.caption, p.image_url, p.first_at, p.version_time
    FROM furthest f
    CROSS JOIN LATERAL (
      SELECT p.*
      FROM posts p
      WHERE p.author = f.author AND NOT p.deleted
        AND p.first_at <= floor_time AND p.post_key < floor_key
        AND p.first_at >= (
          SELECT CASE WHEN count(*) < size THEN '-infinity' ELSE min(u.first_at) END
          FROM furthest u)
        AND (p.first_at, p.post_id) < (before_time, before_id)
      ORDER BY p.first_at DESC, p.post_id DESC
      LIMIT size
    ) p
  ),
  page AS (
    SELECT * FROM (SELECT * FROM above_floor UNION ALL SELECT * FROM below_floor) c
    ORDER BY c.first_at DESC, c.post_id DESC
    LIMIT size
  )
  SELECT d.*
  FROM page p
  CROSS JOIN LATERAL post_as_seen(
    $1, reader, p.post_id, p.author, p.title, p.caption, p.image_url, p.first_at, p.version_time) d
  ORDER BY p.first_at DESC, p.post_id DESC;
END
$$;
