-- compatible-from: 9
-- A cursor that was damaged is an error, SQLSTATE 22P02, whatever the damage and whatever the tables
-- hold: one that was taken for the first page would have a client turn pages for ever.

-- The parts of a cursor '<microseconds>:<id>'; nulls for NULL, the first page. Microseconds are those of
-- a function's own epoch; above 2^52 no event can be, and calculations with them overflow.
CREATE FUNCTION cursor_parts(cursor text, OUT microseconds bigint, OUT id text)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
  IF cursor !~ '^[0-9]{1,16}:.' OR split_part(cursor, ':', 1)::numeric >= 4503599627370496 THEN
    RAISE EXCEPTION 'not a cursor: "%"', left(cursor, 100)
      USING ERRCODE = 'invalid_text_representation',
        HINT = 'Pass the cursor of the last row of a page as it is, or NULL for the first page.';
  END IF;
  microseconds := split_part(cursor, ':', 1)::bigint;
  id := substr(cursor, strpos(cursor, ':') + 1);
END
$$;

CREATE OR REPLACE FUNCTION feeds_cursor_microseconds(cursor text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT p.microseconds FROM cursor_parts(cursor) p
$$;
CREATE OR REPLACE FUNCTION feeds_cursor_time(cursor text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(
    timestamptz '2000-01-01 00:00:00+00'
      + (SELECT p.microseconds FROM cursor_parts(cursor) p) * interval '1 microsecond',
    timestamptz 'infinity')
$$;
CREATE OR REPLACE FUNCTION feeds_cursor_id(cursor text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce((SELECT p.id FROM cursor_parts(cursor) p), '')
$$;

-- These read the cursor before anything else. (feed_page does so already.)

CREATE OR REPLACE FUNCTION home_page(before text, "limit" int)
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
  before_time CONSTANT timestamptz := feeds_cursor_time($1);
  before_id CONSTANT text := feeds_cursor_id($1);
BEGIN
  RETURN QUERY
  SELECT
    p.post_id, u.user_id, p.title, p.caption, p.image_url, p.version_time,
    feeds_cursor(p.version_time, p.post_id)
  FROM posts p JOIN users u ON u.user_key = p.author
  WHERE NOT p.deleted
    AND (p.version_time, p.post_id) < (before_time, before_id)
  ORDER BY p.version_time DESC, p.post_id DESC
  LIMIT feeds_page_size($2);
END
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
  IF one IS NULL OR other IS NULL THEN RETURN; END IF;
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

-- PL/pgSQL now, so that the cursor is read also where the post has no comment.
CREATE OR REPLACE FUNCTION comment_page(post_id text, before text, "limit" int)
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
      + (SELECT p.microseconds FROM cursor_parts($2) p) * interval '1 microsecond',
    timestamptz 'infinity');
  before_id CONSTANT text := coalesce((SELECT p.id FROM cursor_parts($2) p), '');
BEGIN
  RETURN QUERY
  SELECT c.comment_id, c.actor, c.text, c.first_at,
    (extract(epoch FROM c.first_at) * 1000000)::bigint || ':' || c.comment_id
  FROM comments c
  WHERE c.post_id = $1 AND c.active AND (c.first_at, c.comment_id) < (before_time, before_id)
  ORDER BY c.first_at DESC, c.comment_id DESC
  LIMIT least(greatest(coalesce($3, 50), 1), 200);
END
$$;

CREATE OR REPLACE FUNCTION alarm_page(user_id text, before text, "limit" int)
RETURNS TABLE (
  notification_id uuid, type smallint, unread boolean, text text, segments jsonb, spans jsonb,
  legacy_message text, legacy_head_text text, legacy_from_nick_name text, deep_link text,
  badge_icon text, highlight_style text, locale text, image_url text, actor_id text,
  actor_image_url text, actor_count bigint, raised_at timestamptz, cursor text
)
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
      + (SELECT p.microseconds FROM cursor_parts($2) p) * interval '1 microsecond',
    timestamptz 'infinity');
  before_id CONSTANT uuid := coalesce(
    (SELECT p.id FROM cursor_parts($2) p), '00000000-0000-0000-0000-000000000000')::uuid;
  deleted_all CONSTANT timestamptz :=
    (SELECT r.deleted_all_at FROM notification_recipients r WHERE r.user_id = $1);
BEGIN
  RETURN QUERY
  SELECT a.notification_id, a.type, a.unread, a.text, a.segments, a.spans, a.legacy_message,
    a.legacy_head_text, a.legacy_from_nick_name, a.deep_link, a.badge_icon, a.highlight_style,
    a.locale, coalesce(nullif(f.image_url, ''), p.image_url, ''), a.actor,
    coalesce(p.image_url, ''), a.actor_count, a.raised_at,
    (extract(epoch FROM a.raised_at) * 1000000)::bigint || ':' || a.notification_id
  FROM shown_alarms a
  LEFT JOIN profiles p ON p.user_id = a.actor
  LEFT JOIN post_facts f ON f.post_id = a.post_id AND NOT f.deleted
  WHERE a.recipient = $1
    -- The view says so too; here it is where the index stops.
    AND a.raised_at > deleted_all
    AND (a.raised_at, a.notification_id) < (before_time, before_id)
  ORDER BY a.raised_at DESC, a.notification_id DESC
  LIMIT least(greatest(coalesce($3, 50), 1), 200);
END
$$;

-- The cursor of search_users: '<characters of the name>:<name><id>'.
CREATE FUNCTION search_cursor_parts(cursor text, OUT name text, OUT id text)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
  length CONSTANT text := substring(cursor FROM '^([0-9]{1,9}):.');
  rest CONSTANT text := substr(cursor, strpos(cursor, ':') + 1);
BEGIN
  IF length IS NULL OR length(rest) <= length::int THEN
    RAISE EXCEPTION 'not a cursor: "%"', left(cursor, 100)
      USING ERRCODE = 'invalid_text_representation',
        HINT = 'Pass the cursor of the last row of a page as it is, or NULL for the first page.';
  END IF;
  name := left(rest, length::int);
  id := substr(rest, length::int + 1);
END
$$;
