-- compatible-from: 9
-- Whom and what people do not want to hear of: blocks, muted people, and "no more of these". See
-- docs/decisions/0031. Workers of an older version do not read these tables: replace all
-- notification workers before the first person.* or alarm.disabled event is published.

-- Neither of the two sees the other while the row is active. The newest version wins.
CREATE TABLE person_blocks (
  blocker text COLLATE "C" NOT NULL,
  blocked text COLLATE "C" NOT NULL,
  active boolean NOT NULL,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (blocker, blocked)
);
CREATE INDEX person_blocks_of_blocked ON person_blocks (blocked, blocker) WHERE active;

-- The timeline of silences, beside that of notification_mutes. scope 'actor': what the person
-- "value" does. scope 'subject': notifications of this type about the subject "value".
CREATE TABLE notification_silences (
  recipient text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL CHECK (scope IN ('actor', 'subject')),
  -- Of the scope subject; -1 of the scope actor.
  type smallint NOT NULL,
  value text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  silenced boolean NOT NULL,
  -- From then on it has no effect; NULL if it does not end by itself.
  until timestamptz,
  PRIMARY KEY (recipient, scope, type, value, at, event_id)
);

-- What a person has contributed to another's notifications: what a block hides.
CREATE INDEX notification_actors_of_actor ON notification_actors (actor, recipient);

-- Whether any block exists that may hide something from this person.
CREATE FUNCTION has_blocks(user_id text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.active)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocked = $1 AND b.active)
$$;

-- Whether one of the two has blocked the other. Nobody blocks oneself.
CREATE FUNCTION is_blocked(user_id text, person text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.blocked = $2 AND b.active)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $2 AND b.blocked = $1 AND b.active)
$$;

-- Whether anything may be silenced for this person.
CREATE FUNCTION has_silences(user_id text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM notification_silences s WHERE s.recipient = $1) OR has_blocks($1)
$$;

-- Whether the recipient does not hear of a contribution, apart from its kind: blocks hide contributions of
-- any time, silences those later than themselves and earlier than their end. PL/pgSQL, and without
-- is_blocked, because a review calls it for each contribution: in SQL it takes three times as long.
CREATE FUNCTION contribution_silenced(
  recipient text, type smallint, subject text, actor text, happened_at timestamptz)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN
    EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.blocked = $4 AND b.active)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $4 AND b.blocked = $1 AND b.active)
    OR coalesce(
      (
        SELECT s.silenced AND $5 < coalesce(s.until, 'infinity') FROM notification_silences s
        WHERE s.recipient = $1 AND s.scope = 'actor' AND s.type = -1 AND s.value = $4 AND s.at < $5
        ORDER BY s.at DESC, s.event_id DESC
        LIMIT 1
      ), false)
    OR coalesce(
      (
        SELECT s.silenced AND $5 < coalesce(s.until, 'infinity') FROM notification_silences s
        WHERE s.recipient = $1 AND s.scope = 'subject' AND s.type = $2 AND s.value = $3 AND s.at < $5
        ORDER BY s.at DESC, s.event_id DESC
        LIMIT 1
      ), false);
END
$$;

-- notification_actors.muted, for active contributions that no deletion covers.
CREATE FUNCTION contribution_muted(
  recipient text, type smallint, subject text, actor text, happened_at timestamptz)
RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN notification_muted($1, $2, $5) OR contribution_silenced($1, $2, $3, $4, $5);
END
$$;

-- The types of a person's contributions, with one probe of the primary key for each.
CREATE FUNCTION contribution_types(recipient text) RETURNS TABLE (type smallint)
LANGUAGE sql STABLE ROWS 10 AS $$
  WITH RECURSIVE types AS (
    (
      SELECT a.type FROM notification_actors a WHERE a.recipient = $1
      ORDER BY a.recipient, a.type LIMIT 1
    )
    UNION ALL
    SELECT n.type FROM types t
    CROSS JOIN LATERAL (
      SELECT a.type FROM notification_actors a WHERE a.recipient = $1 AND a.type > t.type
      ORDER BY a.recipient, a.type LIMIT 1
    ) n
  )
  SELECT t.type FROM types t
$$;

-- As in migration 0015, without what is silenced.
CREATE OR REPLACE VIEW reviewed_notifications AS
SELECT c.notification_id, c.recipient, c.type, c.subject,
  CASE WHEN c.is_grouped THEN (c.raised_at AT TIME ZONE 'UTC')::date END AS bucket,
  c.actor, CASE WHEN c.is_grouped AND c.type <> 3 THEN c.second_actor END AS second_actor,
  CASE WHEN c.actor IS NULL THEN 0 ELSE c.actor_count END AS actor_count,
  c.contribution_count, c.post_id, c.comment_id, c.head_text, c.raised_at, c.oldest_at,
  coalesce(n.generation, (SELECT max(g.generation) FROM notification_generations g)) AS generation,
  coalesce(n.counter, 0) AS counter,
  c.raised_at > c.read_at AS unread, c.source, c.image_url, c.arguments,
  c.raised_at > greatest(c.read_at, c.seen_at) AS unseen
FROM (
  SELECT a.notification_id, a.recipient, a.type, a.subject,
    max(a.actor) FILTER (WHERE a.rank = 1) AS actor,
    (array_agg(a.actor ORDER BY a.rank) FILTER (WHERE a.rank <= 1000 AND a.actor <> a.newest_actor))[1]
      AS second_actor,
    CASE
      WHEN bool_and(a.actor IS NOT DISTINCT FROM a.source) THEN count(*)
      ELSE count(DISTINCT a.actor) FILTER (WHERE a.rank <= 1000)
    END AS actor_count,
    count(*) AS contribution_count,
    bool_or(is_grouped(a.grouped, a.type)) FILTER (WHERE a.rank = 1) AS is_grouped,
    max(a.source) FILTER (WHERE a.rank = 1 AND a.grouped IS NOT NULL) AS source,
    max(a.image_url) FILTER (WHERE a.rank = 1) AS image_url,
    (array_agg(a.arguments) FILTER (WHERE a.rank = 1))[1] AS arguments,
    max(a.seen_all_at) AS seen_at,
    max(a.post_id) FILTER (WHERE a.rank = 1) AS post_id,
    max(a.comment_id) FILTER (WHERE a.rank = 1) AS comment_id,
    max(a.head_text) FILTER (WHERE a.rank = 1) AS head_text,
    max(a.first_at) AS raised_at, min(a.first_at) AS oldest_at, max(a.read_at) AS read_at
  FROM (
    SELECT a.notification_id, v.recipient, v.type, a.subject, a.actor, a.post_id, a.comment_id,
      a.head_text, a.first_at, greatest(r.read_all_at, m.read_at) AS read_at,
      a.source, a.grouped, a.image_url, a.arguments, r.seen_all_at,
      first_value(a.actor) OVER (
        PARTITION BY v.recipient, v.type, a.notification_id ORDER BY a.first_at DESC, a.source DESC
      ) AS newest_actor,
      row_number() OVER (
        PARTITION BY v.recipient, v.type, a.notification_id ORDER BY a.first_at DESC, a.source DESC
      ) AS rank
    FROM notification_reviews v
    JOIN notification_recipients r ON r.user_id = v.recipient
    -- OFFSET, so that it is evaluated once for each review and not for each contribution.
    CROSS JOIN LATERAL (SELECT has_silences(v.recipient) AS exist OFFSET 0) silences
    -- The times in which the type was not muted.
    CROSS JOIN LATERAL (
      SELECT t.at AS after_time, t.until AS upto_time
      FROM (
        SELECT t.at, t.muted, coalesce(lead(t.at) OVER (ORDER BY t.at), 'infinity') AS until
        FROM (
          SELECT timestamptz '-infinity' AS at, false AS muted
          UNION ALL
          (
            SELECT DISTINCT ON (u.at) u.at, u.muted
            FROM notification_mutes u
            WHERE u.recipient = v.recipient AND u.type = v.type
            ORDER BY u.at, u.event_id DESC
          )
        ) t
      ) t
      WHERE NOT t.muted
    ) heard
    CROSS JOIN LATERAL (
      SELECT c.*
      FROM notifications n
      JOIN notification_actors c ON c.notification_id = n.notification_id
        AND c.active AND NOT c.muted
        AND c.first_at > heard.after_time AND c.first_at <= heard.upto_time
      WHERE n.recipient = v.recipient AND n.type = v.type
        AND n.raised_at >= v.from_day AND n.raised_at < v.to_day
      UNION ALL
      SELECT c.*
      FROM notification_actors c
      WHERE c.recipient = v.recipient AND c.type = v.type AND c.muted AND c.active
        AND c.first_at > greatest(v.after_time, heard.after_time)
        AND c.first_at <= least(v.upto_time, heard.upto_time)
    ) a
    LEFT JOIN notification_marks m
      ON m.recipient = v.recipient AND m.notification_id = a.notification_id
    WHERE a.first_at > greatest(r.deleted_all_at, m.deleted_at)
      AND (NOT silences.exist
        OR NOT contribution_silenced(v.recipient, v.type, a.subject, a.actor, a.first_at))
  ) a
  GROUP BY a.recipient, a.type, a.notification_id, a.subject
) c
LEFT JOIN notifications n ON n.notification_id = c.notification_id;

-- What is off for a person now: kinds, people, subjects, and who is blocked. kind is a code; until is
-- NULL if it does not end by itself.
CREATE FUNCTION mutes(user_id text)
RETURNS TABLE (scope text, kind text, value text, since timestamptz, until timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT 'kind', kind_code(m.type), '', m.at, NULL::timestamptz
  FROM (
    SELECT DISTINCT ON (m.type) m.* FROM notification_mutes m
    WHERE m.recipient = $1 ORDER BY m.type, m.at DESC, m.event_id DESC
  ) m
  WHERE m.muted
  UNION ALL
  SELECT s.scope, CASE s.scope WHEN 'subject' THEN kind_code(s.type) ELSE '' END, s.value, s.at,
    s.until
  FROM (
    SELECT DISTINCT ON (s.scope, s.type, s.value) s.* FROM notification_silences s
    WHERE s.recipient = $1 ORDER BY s.scope, s.type, s.value, s.at DESC, s.event_id DESC
  ) s
  WHERE s.silenced AND coalesce(s.until, 'infinity') > now()
  UNION ALL
  SELECT 'block', '', b.blocked, b.version_time, NULL
  FROM person_blocks b WHERE b.blocker = $1 AND b.active
  ORDER BY 1, 2, 3
$$;

-- What alarm.disabled says of a row of the list, for each scope: the kind's code, the subject, the newest
-- actor. No row if the notification is not shown.
CREATE FUNCTION alarm_scopes(user_id text, notification_id uuid)
RETURNS TABLE (kind text, subject text, actor text)
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT kind_code(n.type), n.subject, coalesce(n.actor, '')
  FROM shown_notifications n WHERE n.recipient = $1 AND n.notification_id = $2
$$;

-- The pages that follow are those of migrations 0007, 0012 and 0014 without whom the viewer blocked and
-- who blocked the viewer.

CREATE FUNCTION feeds_hidden(viewer text, author bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT is_blocked($1, (SELECT u.user_id FROM users u WHERE u.user_key = $2))
$$;

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
  hides CONSTANT boolean := has_blocks($1);
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
    AND (NOT hides OR NOT feeds_hidden($1, p.author))
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
      AND (NOT hides OR NOT feeds_hidden($1, p.author))
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
    WHERE f.follower = reader AND f.active AND (NOT hides OR NOT feeds_hidden($1, f.followee))
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
    WHERE f.follower = reader AND f.active AND (NOT hides OR NOT feeds_hidden($1, f.followee))
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
      AND (NOT hides OR NOT feeds_hidden($1, f.followee))
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

CREATE FUNCTION home_page(viewer text, before text, "limit" int)
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
  before_time CONSTANT timestamptz := feeds_cursor_time($2);
  before_id CONSTANT text := feeds_cursor_id($2);
  hides CONSTANT boolean := has_blocks($1);
BEGIN
  RETURN QUERY
  SELECT
    p.post_id, u.user_id, p.title, p.caption, p.image_url, p.version_time,
    feeds_cursor(p.version_time, p.post_id)
  FROM posts p JOIN users u ON u.user_key = p.author
  WHERE NOT p.deleted
    AND (p.version_time, p.post_id) < (before_time, before_id)
    AND (NOT hides OR NOT is_blocked($1, u.user_id))
  ORDER BY p.version_time DESC, p.post_id DESC
  LIMIT feeds_page_size($3);
END
$$;

CREATE OR REPLACE FUNCTION home_page(before text, "limit" int)
RETURNS TABLE (
  post_id text, author_id text, title text, caption text, image_url text,
  published_at timestamptz, cursor text)
LANGUAGE sql STABLE ROWS 50 AS $$
  SELECT * FROM home_page(NULL, $1, $2)
$$;

CREATE OR REPLACE FUNCTION conversation_list(user_id text, before text, "limit" int)
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
  before_time CONSTANT timestamptz := feeds_cursor_time($2);
  before_id CONSTANT text := feeds_cursor_id($2);
  hides CONSTANT boolean := has_blocks($1);
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
      AND (c.last_time, c.last_message_id) < (before_time, before_id)
      AND (NOT hides OR NOT feeds_hidden($1, c.peer))
    ORDER BY c.last_time DESC, c.last_message_id DESC
    LIMIT feeds_page_size($3)
  ) c
  JOIN messages m ON m.message_id = c.last_message_id
  JOIN users peer ON peer.user_key = c.peer
  JOIN users sender ON sender.user_key = m.sender
  ORDER BY c.last_time DESC, c.last_message_id DESC;
END
$$;

CREATE OR REPLACE FUNCTION conversation_page(user_id text, peer_id text, before text, "limit" int)
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
  before_time CONSTANT timestamptz := feeds_cursor_time($3);
  before_id CONSTANT text := feeds_cursor_id($3);
  one CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
  other CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $2);
BEGIN
  -- least(one, NULL) is one: without this, an unknown peer would be oneself.
  IF one IS NULL OR other IS NULL OR is_blocked($1, $2) THEN RETURN; END IF;
  RETURN QUERY
  SELECT
    m.message_id, sender.user_id, m.text, m.version_time,
    feeds_cursor(m.version_time, m.message_id)
  FROM messages m JOIN users sender ON sender.user_key = m.sender
  WHERE least(m.sender, m.receiver) = least(one, other)
    AND greatest(m.sender, m.receiver) = greatest(one, other)
    AND (m.version_time, m.message_id) < (before_time, before_id)
  ORDER BY m.version_time DESC, m.message_id DESC
  LIMIT feeds_page_size($4);
END
$$;

CREATE FUNCTION comment_page(viewer text, post_id text, before text, "limit" int)
RETURNS TABLE (comment_id text, actor_id text, text text, created_at timestamptz, cursor text)
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
  before_time CONSTANT timestamptz := coalesce(
    timestamptz '1970-01-01 00:00:00+00'
      + (SELECT p.microseconds FROM cursor_parts($3) p) * interval '1 microsecond',
    timestamptz 'infinity');
  before_id CONSTANT text := coalesce((SELECT p.id FROM cursor_parts($3) p), '');
  hides CONSTANT boolean := has_blocks($1);
BEGIN
  RETURN QUERY
  SELECT c.comment_id, c.actor, c.text, c.first_at,
    (extract(epoch FROM c.first_at) * 1000000)::bigint || ':' || c.comment_id
  FROM comments c
  WHERE c.post_id = $2 AND c.active AND (c.first_at, c.comment_id) < (before_time, before_id)
    AND (NOT hides OR NOT is_blocked($1, c.actor))
  ORDER BY c.first_at DESC, c.comment_id DESC
  LIMIT least(greatest(coalesce($4, 50), 1), 200);
END
$$;

CREATE OR REPLACE FUNCTION comment_page(post_id text, before text, "limit" int)
RETURNS TABLE (comment_id text, actor_id text, text text, created_at timestamptz, cursor text)
LANGUAGE sql STABLE ROWS 50 AS $$
  SELECT * FROM comment_page(NULL, $1, $2, $3)
$$;

CREATE OR REPLACE FUNCTION search_people(query text, asking text, before text, "limit" int)
RETURNS TABLE (
  user_id text, nickname text, name text, major text, image_url text, cursor text
)
LANGUAGE plpgsql STABLE ROWS 50
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
  before_name CONSTANT text := (SELECT c.name FROM search_cursor_parts($3) c);
  before_id CONSTANT text := (SELECT c.id FROM search_cursor_parts($3) c);
  hides CONSTANT boolean := has_blocks($2);
  pattern CONSTANT text := search_pattern($1);
  folded CONSTANT text := search_fold($1);
BEGIN
  RETURN QUERY
  SELECT p.user_id, p.nickname, p.name, p.major, p.image_url,
    length(p.name) || ':' || p.name || p.user_id
  FROM profiles p
  WHERE $1 <> ''
    AND (
      p.name ILIKE pattern AND strpos(search_fold(p.name), folded) > 0
      OR p.major ILIKE pattern AND strpos(search_fold(p.major), folded) > 0)
    AND p.user_id <> $2
    AND (NOT hides OR NOT is_blocked($2, p.user_id))
    AND (
      before_name IS NULL
      OR (p.name COLLATE "C", p.user_id) > (before_name COLLATE "C", before_id))
  ORDER BY p.name COLLATE "C", p.user_id
  LIMIT least(greatest(coalesce($4, 50), 1), 200);
END
$$;

-- verify_notifications of the migration before, with contribution_muted for notification_muted.
DO $$
DECLARE
  old CONSTANT text := pg_get_functiondef('verify_notifications()'::regprocedure);
  new CONSTANT text := replace(
    old, 'notification_muted(a.recipient, a.type, a.first_at)',
    'contribution_muted(a.recipient, a.type, a.subject, a.actor, a.first_at)');
BEGIN
  IF new = old THEN
    RAISE EXCEPTION 'verify_notifications does not call notification_muted as expected';
  END IF;
  EXECUTE new;
END
$$;

GRANT SELECT, INSERT, UPDATE ON person_blocks TO magpie_notification;
GRANT SELECT, INSERT ON notification_silences TO magpie_notification;
GRANT SELECT ON person_blocks TO magpie_fanout;
GRANT SELECT ON person_blocks, notification_silences
  TO magpie_notification, magpie_alarm, magpie_reader;
