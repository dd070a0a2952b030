-- Feeds: what fanout-worker owns. Who follows whom, posts, one narrow row per delivery, messages
-- and both sides' conversation lists; and the functions a backend reads them with.
--
-- Ids are opaque text and are compared bytewise (COLLATE "C"). In these tables people are small
-- integers, because fan-out speed is row width. Every fact carries the version of the event that
-- decided it, (version_time, version_id); a newer version replaces the fact, tombstones stay.

CREATE TABLE users (
  user_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL UNIQUE
);
COMMENT ON TABLE users IS
  'People as bigint keys. The row of an author is the lock for everything about who reads them.';

CREATE TABLE follows (
  followee bigint NOT NULL,
  follower bigint NOT NULL,
  active boolean NOT NULL,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (followee, follower) INCLUDE (active)
);
CREATE INDEX follows_by_follower ON follows (follower, followee) WHERE active;

CREATE TABLE follow_counts (
  user_key bigint PRIMARY KEY,
  followers bigint NOT NULL DEFAULT 0,
  following bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
COMMENT ON TABLE follow_counts IS
  'Moved only by rows of follows whose active really flipped, in the same statement.';

-- post_key = microseconds since 2000-01-01 of the post's time, shifted left by 11, plus 11 bits of
-- a hash of the post's id. When that key is taken, the post gets a free one among the 2^20 that
-- start at its microsecond: so post_key never says more about the order of posts than
-- 512 microseconds, and pages are ordered by (published_at, post_id), a function of the events.
CREATE TABLE posts (
  post_id text COLLATE "C" PRIMARY KEY,
  post_key bigint UNIQUE,
  author bigint NOT NULL,
  delivery text COLLATE "C" NOT NULL CHECK (delivery IN ('push', 'pull')),
  deleted boolean NOT NULL,
  title text NOT NULL,
  caption text NOT NULL,
  image_url text NOT NULL,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  -- Also what refuses a post when the 2^20 keys that start at its microsecond are all but used up.
  CONSTRAINT posts_key_free_at_this_microsecond CHECK (deleted = (post_key IS NULL))
);
COMMENT ON COLUMN posts.version_time IS 'The time of the winning event: published_at to readers.';
CREATE INDEX posts_by_author ON posts (author, version_time, post_id)
  INCLUDE (post_key, delivery) WHERE NOT deleted;
CREATE INDEX posts_pulled ON posts (author, version_time, post_id)
  INCLUDE (post_key) WHERE NOT deleted AND delivery = 'pull';
CREATE INDEX posts_by_time ON posts (version_time, post_id) WHERE NOT deleted;

CREATE TABLE pull_authors (author bigint PRIMARY KEY);
COMMENT ON TABLE pull_authors IS
  'Everybody who ever published a post that readers pull: few, so feed_page finds theirs at once.';

CREATE TABLE feeds (
  owner bigint PRIMARY KEY,
  floor bigint NOT NULL
);
COMMENT ON TABLE feeds IS
  'Below floor nothing is stored and reads join follows and posts. No row means floor 0.';

CREATE TABLE feed_entries (
  owner bigint NOT NULL,
  post_key bigint NOT NULL,
  PRIMARY KEY (owner, post_key)
) PARTITION BY HASH (owner);
CREATE TABLE feed_entries_0 PARTITION OF feed_entries FOR VALUES WITH (MODULUS 8, REMAINDER 0);
CREATE TABLE feed_entries_1 PARTITION OF feed_entries FOR VALUES WITH (MODULUS 8, REMAINDER 1);
CREATE TABLE feed_entries_2 PARTITION OF feed_entries FOR VALUES WITH (MODULUS 8, REMAINDER 2);
CREATE TABLE feed_entries_3 PARTITION OF feed_entries FOR VALUES WITH (MODULUS 8, REMAINDER 3);
CREATE TABLE feed_entries_4 PARTITION OF feed_entries FOR VALUES WITH (MODULUS 8, REMAINDER 4);
CREATE TABLE feed_entries_5 PARTITION OF feed_entries FOR VALUES WITH (MODULUS 8, REMAINDER 5);
CREATE TABLE feed_entries_6 PARTITION OF feed_entries FOR VALUES WITH (MODULUS 8, REMAINDER 6);
CREATE TABLE feed_entries_7 PARTITION OF feed_entries FOR VALUES WITH (MODULUS 8, REMAINDER 7);

CREATE TABLE messages (
  message_id text COLLATE "C" PRIMARY KEY,
  sender bigint NOT NULL,
  receiver bigint NOT NULL,
  text text NOT NULL,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL
);
CREATE INDEX messages_by_pair ON messages
  (least(sender, receiver), greatest(sender, receiver), version_time, message_id);

CREATE TABLE conversations (
  owner bigint NOT NULL,
  peer bigint NOT NULL,
  last_time timestamptz,
  last_message_id text COLLATE "C",
  PRIMARY KEY (owner, peer),
  CHECK ((last_time IS NULL) = (last_message_id IS NULL))
) WITH (fillfactor = 80);
COMMENT ON TABLE conversations IS
  'The newest message of each side''s conversation. The row with owner <= peer is the lock of the '
  'pair. Without a message (the only one moved to another pair) the row is empty and is not listed.';
CREATE INDEX conversations_by_time ON conversations (owner, last_time, last_message_id)
  WHERE last_message_id IS NOT NULL;

-- Another transaction got in between in a way that this one cannot see and repair: start again.
CREATE FUNCTION feeds_retry(reason text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', reason USING ERRCODE = 'serialization_failure',
    HINT = 'Nothing is wrong with the data. Run the transaction again.';
END
$$;

-- Cursors: '<microseconds since 2000-01-01>:<id>' of the last row, without meaning to callers.
CREATE FUNCTION feeds_cursor(at timestamptz, id text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (extract(epoch FROM at) * 1000000 - 946684800000000)::bigint || ':' || id
$$;
CREATE FUNCTION feeds_cursor_microseconds(cursor text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT split_part(cursor, ':', 1)::bigint
$$;
CREATE FUNCTION feeds_cursor_time(cursor text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(
    timestamptz '2000-01-01 00:00:00+00'
      + split_part(cursor, ':', 1)::bigint * interval '1 microsecond',
    timestamptz 'infinity')
$$;
CREATE FUNCTION feeds_cursor_id(cursor text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(substr(cursor, strpos(cursor, ':') + 1), '')
$$;
CREATE FUNCTION feeds_page_size("limit" int) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT least(greatest(coalesce("limit", 50), 1), 200)::bigint
$$;

-- The page functions are PL/pgSQL with settings of their own, because the way to a page is always
-- the same, along an index until the page is full, and the planner, which knows neither whose page
-- nor how long, would at times rather sort a person's million entries (measured: 740 ms instead of
-- 1). The plans are made once per connection. Being STABLE, all of a function's statements see the
-- snapshot of the query that calls it.

-- The Following feed, newest first. Entries are found by post_key, which may be up to 2^20 keys
-- off the order of (version_time, post_id): so the n-th entry that is surely older than the cursor
-- gives the range that holds the n newest, and that range is put in order.
CREATE FUNCTION feed_page(user_id text, before text, "limit" int)
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
BEGIN
  SELECT u.user_key, coalesce(f.floor, 0) INTO reader, floor_key
  FROM users u LEFT JOIN feeds f ON f.owner = u.user_key
  WHERE u.user_id = $1;
  floor_time := timestamptz '2000-01-01 00:00:00+00'
    + (floor_key >> 11) * interval '1 microsecond';

  SELECT e.post_key - 1048576 INTO lowest
  FROM feed_entries e
  WHERE e.owner = reader
    AND e.post_key >= floor_key
    AND e.post_key < coalesce(before_key, 9223372036854775807)
  ORDER BY e.post_key DESC
  OFFSET size - 1 LIMIT 1;

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
        AND p.post_key >= floor_key
        AND (p.version_time, p.post_id) < (before_time, before_id)
      ORDER BY p.version_time DESC, p.post_id DESC
      LIMIT size
    ) p
    WHERE f.follower = reader AND f.active
  ),
  below_floor AS (
    SELECT p.post_id, p.author, p.title, p.caption, p.image_url, p.version_time
    FROM follows f
    CROSS JOIN LATERAL (
      SELECT p.*
      FROM posts p
      WHERE p.author = f.followee AND NOT p.deleted
        AND p.version_time <= floor_time AND p.post_key < floor_key
        AND (p.version_time, p.post_id) < (before_time, before_id)
      ORDER BY p.version_time DESC, p.post_id DESC
      LIMIT size
    ) p
    WHERE f.follower = reader AND f.active
      -- Only a page that reaches the floor looks below it.
      AND floor_key > 0
      AND (SELECT count(*) FROM above_floor a WHERE a.version_time > floor_time) < size
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

CREATE FUNCTION home_page(before text, "limit" int)
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
BEGIN
  RETURN QUERY
  SELECT
    p.post_id, u.user_id, p.title, p.caption, p.image_url, p.version_time,
    feeds_cursor(p.version_time, p.post_id)
  FROM posts p JOIN users u ON u.user_key = p.author
  WHERE NOT p.deleted
    AND (p.version_time, p.post_id) < (feeds_cursor_time($1), feeds_cursor_id($1))
  ORDER BY p.version_time DESC, p.post_id DESC
  LIMIT feeds_page_size($2);
END
$$;

CREATE FUNCTION conversation_list(user_id text, before text, "limit" int)
RETURNS TABLE (
  peer_id text, message_id text, sender_id text, text text, sent_at timestamptz, cursor text)
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
  reader CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
BEGIN
  RETURN QUERY
  SELECT
    peer.user_id, m.message_id, sender.user_id, m.text, m.version_time,
    feeds_cursor(m.version_time, m.message_id)
  FROM (
    SELECT c.peer, c.last_time, c.last_message_id
    FROM conversations c
    WHERE c.owner = reader
      AND c.last_message_id IS NOT NULL
      AND (c.last_time, c.last_message_id) < (feeds_cursor_time($2), feeds_cursor_id($2))
    ORDER BY c.last_time DESC, c.last_message_id DESC
    LIMIT feeds_page_size($3)
  ) c
  JOIN messages m ON m.message_id = c.last_message_id
  JOIN users peer ON peer.user_key = c.peer
  JOIN users sender ON sender.user_key = m.sender
  ORDER BY c.last_time DESC, c.last_message_id DESC;
END
$$;

CREATE FUNCTION conversation_page(user_id text, peer_id text, before text, "limit" int)
RETURNS TABLE (message_id text, sender_id text, text text, sent_at timestamptz, cursor text)
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
  one CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
  other CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $2);
BEGIN
  -- least(one, NULL) is one: without this, an unknown peer would be oneself.
  IF one IS NULL OR other IS NULL THEN RETURN; END IF;
  RETURN QUERY
  SELECT
    m.message_id, sender.user_id, m.text, m.version_time,
    feeds_cursor(m.version_time, m.message_id)
  FROM messages m JOIN users sender ON sender.user_key = m.sender
  WHERE least(m.sender, m.receiver) = least(one, other)
    AND greatest(m.sender, m.receiver) = greatest(one, other)
    AND (m.version_time, m.message_id) < (feeds_cursor_time($3), feeds_cursor_id($3))
  ORDER BY m.version_time DESC, m.message_id DESC
  LIMIT feeds_page_size($4);
END
$$;

CREATE FUNCTION profile_stats(user_id text)
RETURNS TABLE (posts bigint, followers bigint, following bigint)
LANGUAGE sql STABLE AS $$
  SELECT
    (SELECT count(*) FROM posts p WHERE p.author = u.user_key AND NOT p.deleted),
    coalesce(c.followers, 0), coalesce(c.following, 0)
  FROM (SELECT (SELECT user_key FROM users WHERE users.user_id = $1)) AS u (user_key)
  LEFT JOIN follow_counts c ON c.user_key = u.user_key
$$;

-- Every invariant of these tables, for `magpie verify`: one row for each violation, none when all
-- is well. Reads whole tables, each once or twice, joined by hash: minutes, not hours, at tens of
-- millions of entries. One statement, so one snapshot: right also while workers write.
CREATE FUNCTION verify_feeds()
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
      FROM follows f JOIN posts p ON p.author = f.followee
      WHERE f.active AND p.delivery = 'push' AND NOT p.deleted
      UNION ALL
      SELECT e.owner, e.post_key, false FROM feed_entries e
    ) both_sides
    GROUP BY owner, post_key
    HAVING count(*) <> 2
  ) d
  LEFT JOIN users u ON u.user_key = d.owner
  LEFT JOIN feeds f ON f.owner = d.owner
  WHERE d.post_key >= coalesce(f.floor, 0)

  UNION ALL
  SELECT
    'feed_entries refer to posts that exist', 'owner ' || e.owner || ', post_key ' || e.post_key,
    'a post', 'none'
  FROM feed_entries e
  LEFT JOIN feeds f ON f.owner = e.owner
  WHERE e.post_key >= coalesce(f.floor, 0)
    AND NOT EXISTS (SELECT FROM posts p WHERE p.post_key = e.post_key)

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

GRANT SELECT, INSERT, UPDATE, DELETE ON
  users, follows, follow_counts, posts, pull_authors, feeds, feed_entries, messages, conversations
  TO magpie_fanout;
GRANT SELECT ON
  users, follows, follow_counts, posts, pull_authors, feeds, feed_entries, messages, conversations
  TO magpie_reader;
