-- Feeds of bounded length: people who are away, authors who cross the push limit, and what is left
-- behind by work that would be too large for one transaction.

-- Above this limit an author's posts are pulled, far enough below it they are pushed again, and in
-- between it stays as it is.
ALTER TABLE pull_authors ADD COLUMN pulling boolean NOT NULL DEFAULT true;
COMMENT ON TABLE pull_authors IS
  'Everybody who ever published a post that readers pull: few, so feed_page finds theirs at once.';
COMMENT ON COLUMN pull_authors.pulling IS
  'Whether the push limit makes their next post a pulled one; false, too, for those who only once '
  'had posts that did not fit into a transaction.';

COMMENT ON TABLE feeds IS
  'Below floor nothing is stored and reads join follows and posts. No row means floor 0; '
  '9223372036854775807 means that nothing is stored at all.';

-- Finds the feeds whose floor is above a new post: people who are away.
CREATE INDEX feeds_by_floor ON feeds (floor);

CREATE TABLE retired_keys (post_key bigint PRIMARY KEY);
COMMENT ON TABLE retired_keys IS
  'Keys of posts that are gone and whose feed entries were too many to delete with them. Such an '
  'entry refers to no post, so nobody sees it, and no other post ever gets the key.';

CREATE TABLE feed_trims (
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('owner', 'followers', 'garbage')),
  person bigint NOT NULL,
  done_to bigint NOT NULL DEFAULT 0,
  queued_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (kind, person)
);
CREATE INDEX feed_trims_by_time ON feed_trims (queued_at, kind, person);
COMMENT ON TABLE feed_trims IS
  'Feeds that may be longer than they should: the person''s own, or those of the person''s '
  'followers, looked at up to the follower done_to. Garbage: person 0 stands for deleting what is '
  'below the floors, done up to the block done_to; person 1 for doing so once more after that.';

CREATE TABLE feed_visits (
  user_id text COLLATE "C" PRIMARY KEY,
  visited_at timestamptz NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX feed_visits_by_time ON feed_visits (visited_at);
COMMENT ON TABLE feed_visits IS
  'When somebody was last here, to the hour, by feed_touch. Eviction deletes the row. Not made from '
  'the log, so not keyed as what is: it stays when rebuilt tables, with keys of their own, take the '
  'place of the others.';

CREATE TABLE feed_returns (owner bigint PRIMARY KEY);
COMMENT ON TABLE feed_returns IS 'Whose feed is to be stored again, in the background.';

-- A role for backends that call feed_touch, which notes a visit. Roles belong to the cluster.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'magpie_backend') THEN
    BEGIN
      CREATE ROLE magpie_backend NOLOGIN;
      GRANT magpie_reader TO magpie_backend;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
  END IF;
END
$$;

GRANT SELECT, INSERT, UPDATE, DELETE ON retired_keys, feed_trims, feed_visits, feed_returns
  TO magpie_fanout;
GRANT SELECT ON retired_keys, feed_trims, feed_visits, feed_returns TO magpie_reader;
GRANT INSERT, UPDATE ON feed_visits TO magpie_backend;
GRANT INSERT ON feed_returns TO magpie_backend;

-- The first key of a moment, and the moment of a key. A post of version_time t has a key from
-- feeds_time_key(t) to feeds_time_key(t) + 2^20 - 1.
CREATE FUNCTION feeds_time_key(at timestamptz) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (extract(epoch FROM at) * 1000000 - 946684800000000)::bigint << 11
$$;
CREATE FUNCTION feeds_key_time(key bigint) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT timestamptz '2000-01-01 00:00:00+00' + (key >> 11) * interval '1 microsecond'
$$;

-- A backend calls this when somebody opens the app, as often as it likes: it writes once an hour.
-- True when the person's feed is stored. False when it is not (they were away for long, or are
-- unknown): pages are right all the same, and fanout-worker stores the feed again within moments.
CREATE FUNCTION feed_touch(user_id text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  visitor CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
BEGIN
  IF visitor IS NULL THEN RETURN false; END IF;
  IF NOT EXISTS (
    SELECT FROM feed_visits v
    WHERE v.user_id = $1 AND v.visited_at >= now() - interval '1 hour')
  THEN
    INSERT INTO feed_visits AS v (user_id, visited_at) VALUES ($1, now())
    ON CONFLICT (user_id) DO UPDATE SET visited_at = greatest(v.visited_at, excluded.visited_at);
  END IF;
  -- A statement of its own: an eviction that the one above waited for is seen here.
  IF NOT EXISTS (
    SELECT FROM feeds f WHERE f.owner = visitor AND f.floor = 9223372036854775807)
  THEN
    RETURN true;
  END IF;
  INSERT INTO feed_returns (owner) VALUES (visitor) ON CONFLICT DO NOTHING;
  RETURN false;
END
$$;

-- As in migration 0002, but: entries of retired keys are passed over; pulled posts that are older
-- than a page's worth of entries are not looked at; and below the floor, one look at each author's
-- newest post tells how far back a page can reach.
CREATE OR REPLACE FUNCTION feed_page(user_id text, before text, "limit" int)
RETURNS TABLE (
  post_id text, author_id text, title text, caption text, image_url text,
  published_at timestamptz, cursor text)
LANGUAGE plpgsql STABLE ROWS 50
SET plan_cache_mode = force_generic_plan
SET enable_bitmapscan = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET max_parallel_workers_per_gather = 0
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  size CONSTANT bigint := feeds_page_size($3);
  before_time CONSTANT timestamptz := feeds_cursor_time($2);
  before_id CONSTANT text := feeds_cursor_id($2);
  before_key CONSTANT bigint := feeds_cursor_microseconds($2) << 11;
  reader bigint;
  floor_key bigint;
  floor_time timestamptz;
  lowest bigint;
  lowest_time timestamptz;
BEGIN
  SELECT u.user_key, coalesce(f.floor, 0) INTO reader, floor_key
  FROM users u LEFT JOIN feeds f ON f.owner = u.user_key
  WHERE u.user_id = $1;
  floor_time := feeds_key_time(floor_key);

  SELECT e.post_key - 1048576 INTO lowest
  FROM feed_entries e JOIN posts p ON p.post_key = e.post_key
  WHERE e.owner = reader
    AND e.post_key >= floor_key
    AND e.post_key < coalesce(before_key, 9223372036854775807)
  ORDER BY e.post_key DESC
  OFFSET size - 1 LIMIT 1;
  lowest_time := coalesce(feeds_key_time(lowest), '-infinity');

  RETURN QUERY
  WITH above_floor AS MATERIALIZED (
    SELECT p.post_id, p.author, p.title, p.caption, p.image_url, p.version_time
    FROM feed_entries e JOIN posts p ON p.post_key = e.post_key
    WHERE e.owner = reader
      AND e.post_key >= greatest(floor_key, lowest)
      AND e.post_key < coalesce(before_key + 1048576, 9223372036854775807)
      AND (p.version_time, p.post_id) < (before_time, before_id)
    UNION ALL
    SELECT p.post_id, p.author, p.title, p.caption, p.image_url, p.version_time
    FROM follows f
    JOIN pull_authors a ON a.author = f.followee
    CROSS JOIN LATERAL (
      SELECT p.*
      FROM posts p
      WHERE p.author = a.author AND NOT p.deleted AND p.delivery = 'pull'
        AND p.post_key >= floor_key AND p.version_time >= lowest_time
        AND (p.version_time, p.post_id) < (before_time, before_id)
      ORDER BY p.version_time DESC, p.post_id DESC
      LIMIT size
    ) p
    WHERE f.follower = reader AND f.active
      -- Nothing is above the highest floor.
      AND floor_key < 9223372036854775807
  ),
  -- Of the authors followed, who still has a post below the floor, and how new; of the page's size
  -- of them, none older than the last can be on the page.
  furthest AS MATERIALIZED (
    SELECT p.version_time
    FROM follows f
    CROSS JOIN LATERAL (
      SELECT p.version_time
      FROM posts p
      WHERE p.author = f.followee AND NOT p.deleted
        AND p.version_time <= floor_time AND p.post_key < floor_key
        AND (p.version_time, p.post_id) < (before_time, before_id)
      ORDER BY p.version_time DESC, p.post_id DESC
      LIMIT 1
    ) p
    WHERE f.follower = reader AND f.active
      -- Only a page that reaches the floor looks below it.
      AND floor_key > 0
      AND (SELECT count(*) FROM above_floor a WHERE a.version_time > floor_time) < size
    ORDER BY p.version_time DESC
    LIMIT size
  ),
  below_floor AS (
    SELECT p.post_id, p.author, p.title, p.caption, p.image_url, p.version_time
    FROM follows f
    CROSS JOIN LATERAL (
      SELECT p.*
      FROM posts p
      WHERE p.author = f.followee AND NOT p.deleted
        AND p.version_time <= floor_time AND p.post_key < floor_key
        AND p.version_time >= (
          SELECT CASE WHEN count(*) < size THEN '-infinity' ELSE min(u.version_time) END
          FROM furthest u)
        AND (p.version_time, p.post_id) < (before_time, before_id)
      ORDER BY p.version_time DESC, p.post_id DESC
      LIMIT size
    ) p
    WHERE f.follower = reader AND f.active AND EXISTS (SELECT FROM furthest)
  ),
  page AS (
    SELECT * FROM (SELECT * FROM above_floor UNION ALL SELECT * FROM below_floor) c
    ORDER BY c.version_time DESC, c.post_id DESC
    LIMIT size
  )
  SELECT
    p.post_id, u.user_id, p.title, p.caption, p.image_url, p.version_time,
    feeds_cursor(p.version_time, p.post_id)
  FROM page p JOIN users u ON u.user_key = p.author
  ORDER BY p.version_time DESC, p.post_id DESC;
END
$$;

-- Every invariant of these tables, for `magpie verify`, as in migration 0002, but for entries of
-- retired keys, which are garbage wherever they are. Reads whole tables, each once or twice, joined by hash: minutes, not hours, at tens of
-- millions of entries. One statement, so one snapshot: right also while workers write.
CREATE OR REPLACE FUNCTION verify_feeds()
RETURNS TABLE (invariant text, subject text, expected text, found text)
LANGUAGE sql STABLE AS $$
  SELECT
    'feed_entries above the floor = pushed, undeleted posts of the people followed',
    'feed of ' || u.user_id || ', post_key ' || d.post_key
      || coalesce(' (' || (SELECT p.post_id FROM posts p WHERE p.post_key = d.post_key) || ')', ''),
    CASE WHEN d.wanted THEN 'an entry' ELSE 'no entry' END,
    CASE WHEN d.wanted THEN 'no entry' ELSE 'an entry' END
  FROM (
    SELECT owner, post_key, bool_or(wanted) AS wanted
    FROM (
      SELECT f.follower AS owner, p.post_key, true AS wanted
      FROM follows f
      JOIN posts p ON p.author = f.followee
      LEFT JOIN feeds b ON b.owner = f.follower
      WHERE f.active AND p.delivery = 'push' AND NOT p.deleted
        AND p.post_key >= coalesce(b.floor, 0)
      UNION ALL
      SELECT e.owner, e.post_key, false
      FROM feed_entries e LEFT JOIN feeds b ON b.owner = e.owner
      WHERE e.post_key >= coalesce(b.floor, 0)
    ) both_sides
    GROUP BY owner, post_key
    HAVING count(*) <> 2
  ) d
  LEFT JOIN users u ON u.user_key = d.owner
  WHERE (d.wanted OR NOT EXISTS (SELECT FROM retired_keys r WHERE r.post_key = d.post_key))

  UNION ALL
  SELECT
    'feed_entries refer to posts that exist', 'owner ' || e.owner || ', post_key ' || e.post_key,
    'a post', 'none'
  FROM feed_entries e
  LEFT JOIN feeds f ON f.owner = e.owner
  WHERE e.post_key >= coalesce(f.floor, 0)
    AND NOT EXISTS (SELECT FROM posts p WHERE p.post_key = e.post_key)
    AND NOT EXISTS (SELECT FROM retired_keys r WHERE r.post_key = e.post_key)

  UNION ALL
  SELECT
    'a retired key is no post''s', 'post ' || p.post_id, 'another key', r.post_key::text
  FROM retired_keys r JOIN posts p ON p.post_key = r.post_key

  UNION ALL
  SELECT
    'follow_counts = active follows', 'user ' || coalesce(u.user_id, d.user_key::text),
    d.followers || ' followers, ' || d.following || ' following',
    coalesce(c.followers || ' followers, ' || c.following || ' following', 'no row')
  FROM (
    SELECT user_key, sum(followers) AS followers, sum(following) AS following
    FROM (
      SELECT followee AS user_key, count(*) AS followers, 0 AS following
      FROM follows WHERE active GROUP BY followee
      UNION ALL
      SELECT follower, 0, count(*) FROM follows WHERE active GROUP BY follower
      UNION ALL
      SELECT user_key, 0, 0 FROM follow_counts
    ) sides
    GROUP BY user_key
  ) d
  LEFT JOIN follow_counts c ON c.user_key = d.user_key
  LEFT JOIN users u ON u.user_key = d.user_key
  WHERE (c.followers, c.following) IS DISTINCT FROM (d.followers, d.following)

  UNION ALL
  SELECT
    'post_key lies within 2^20 of its post''s time', 'post ' || p.post_id,
    'from ' || b.base || ' to ' || b.base + 1048575, p.post_key::text
  FROM posts p,
    LATERAL (
      SELECT (extract(epoch FROM p.version_time) * 1000000 - 946684800000000)::bigint << 11 AS base
    ) b
  WHERE NOT p.deleted
    AND (p.post_key IS NULL OR p.post_key - b.base NOT BETWEEN 0 AND 1048575)

  UNION ALL
  SELECT
    'authors of pulled posts are in pull_authors', 'author ' || coalesce(u.user_id, d.author::text),
    'a row', 'none'
  FROM (
    SELECT DISTINCT p.author FROM posts p WHERE NOT p.deleted AND p.delivery = 'pull'
    EXCEPT SELECT author FROM pull_authors
  ) d LEFT JOIN users u ON u.user_key = d.author

  UNION ALL
  SELECT
    'conversations = the newest message of each pair',
    'conversation of ' || coalesce(o.user_id, d.owner::text) || ' with '
      || coalesce(p.user_id, d.peer::text),
    coalesce(d.wanted, 'no message'), coalesce(d.found, 'no message')
  FROM (
    SELECT owner, peer, max(wanted) AS wanted, max(found) AS found
    FROM (
      SELECT
        l.owner, l.peer, l.message_id || ' at ' || l.version_time AS wanted, NULL AS found
      FROM (
        SELECT DISTINCT ON (owner, peer) owner, peer, message_id, version_time
        FROM (
          SELECT sender AS owner, receiver AS peer, message_id, version_time FROM messages
          UNION ALL
          SELECT receiver, sender, message_id, version_time FROM messages
        ) sides
        ORDER BY owner, peer, version_time DESC, message_id DESC
      ) l
      UNION ALL
      SELECT c.owner, c.peer, NULL, c.last_message_id || ' at ' || c.last_time
      FROM conversations c WHERE c.last_message_id IS NOT NULL
    ) both_sides
    GROUP BY owner, peer
    HAVING max(wanted) IS DISTINCT FROM max(found)
  ) d
  LEFT JOIN users o ON o.user_key = d.owner
  LEFT JOIN users p ON p.user_key = d.peer
$$;
