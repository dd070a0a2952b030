-- compatible-from: 9
-- What page functions cost beyond their rows: see docs/decisions/0034. Results are the same, but for profile.

-- PL/pgSQL keeps the plans of these for the session. A scalar function in SQL whose body has a sub-select is planned
-- again by each query that calls it, and if another one calls it, for each row.
CREATE OR REPLACE FUNCTION has_blocks(user_id text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.active)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocked = $1 AND b.active);
END
$$;
-- search_people sets force_custom_plan, with which this would be planned for each row.
CREATE OR REPLACE FUNCTION is_blocked(user_id text, person text) RETURNS boolean
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.blocked = $2 AND b.active)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $2 AND b.blocked = $1 AND b.active);
END
$$;
CREATE OR REPLACE FUNCTION feeds_hidden(viewer text, author bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
  person CONSTANT text := (SELECT u.user_id FROM users u WHERE u.user_key = $2);
BEGIN
  RETURN EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.blocked = person AND b.active)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocker = person AND b.blocked = $1 AND b.active);
END
$$;
CREATE OR REPLACE FUNCTION has_reviews(user_id text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM notification_reviews v WHERE v.recipient = $1)
    OR EXISTS (SELECT FROM notification_scoped_reviews v WHERE v.recipient = $1);
END
$$;
CREATE OR REPLACE FUNCTION feeds_cursor_time(cursor text) RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
  IF $1 IS NULL THEN RETURN 'infinity'; END IF;
  RETURN timestamptz '2000-01-01 00:00:00+00'
    + (SELECT p.microseconds FROM cursor_parts($1) p) * interval '1 microsecond';
END
$$;
CREATE OR REPLACE FUNCTION unix_cursor_time(cursor text) RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
  IF $1 IS NULL THEN RETURN 'infinity'; END IF;
  RETURN timestamptz '1970-01-01 00:00:00+00'
    + (SELECT p.microseconds FROM cursor_parts($1) p) * interval '1 microsecond';
END
$$;
CREATE OR REPLACE FUNCTION feeds_cursor_id(cursor text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF $1 IS NULL THEN RETURN ''; END IF;
  RETURN (SELECT p.id FROM cursor_parts($1) p);
END
$$;

-- Joins, which the planner inlines into the page, instead of four sub-selects for each person.
CREATE OR REPLACE FUNCTION person_details(viewer_key bigint, user_id text)
RETURNS TABLE (name text, image_url text, is_followed boolean, follows_viewer boolean)
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT coalesce(p.shown_name, ''), coalesce(p.image_url, ''), f.active IS NOT NULL,
    g.active IS NOT NULL
  FROM (SELECT) one
  LEFT JOIN users u ON u.user_id = $2
  LEFT JOIN profiles p ON p.user_id = $2
  LEFT JOIN follows f ON f.followee = u.user_key AND f.follower = $1 AND f.active
  LEFT JOIN follows g ON g.followee = $1 AND g.follower = u.user_key AND g.active
$$;

-- The plan of shown_alarms is large: only people under review pay for it.
DO $do$
DECLARE
  page CONSTANT text := $page$
    RETURN QUERY
    SELECT a.notification_id, a.type, a.unread, a.text, a.segments, a.spans, a.legacy_message,
      a.legacy_head_text, a.legacy_from_nick_name, a.deep_link, a.badge_icon, a.highlight_style,
      a.locale, coalesce(nullif(a.thumbnail, ''), nullif(f.image_url, ''), nullif(d.image_url, ''), ''),
      coalesce(a.actor, ''), d.image_url, a.actor_count, a.raised_at,
      unix_cursor(a.raised_at, a.notification_id::text),
      kind_code(a.type), coalesce(a.station, ''), a.unseen,
      coalesce(a.post_id, ''), coalesce(a.comment_id, ''),
      coalesce(nullif(a.thumbnail, ''), f.image_url, ''), d.name, d.is_followed,
      locale_direction(a.locale)
    FROM (
      SELECT * FROM %I a
      WHERE a.recipient = $1
        -- The view says so too; here it is where the index stops.
        AND a.raised_at > deleted_all
        AND (a.raised_at, a.notification_id) < (before_time, before_id)
      ORDER BY a.raised_at DESC, a.notification_id DESC
      LIMIT size
    ) a
    CROSS JOIN LATERAL person_details(reader, a.actor) d
    LEFT JOIN post_facts f ON f.post_id = a.post_id AND NOT f.deleted
    ORDER BY a.raised_at DESC, a.notification_id DESC;$page$;
BEGIN
  EXECUTE format($function$
CREATE OR REPLACE FUNCTION alarm_page(user_id text, before text, "limit" int)
RETURNS TABLE (
  notification_id uuid, type smallint, unread boolean, text text, segments jsonb, spans jsonb,
  legacy_message text, legacy_head_text text, legacy_from_nick_name text, deep_link text,
  badge_icon text, highlight_style text, locale text, image_url text, actor_id text,
  actor_image_url text, actor_count bigint, raised_at timestamptz, cursor text, kind text,
  station text, unseen boolean, post_id text, comment_id text, thumbnail_url text,
  actor_name text, actor_is_followed boolean, text_direction text
)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  before_time CONSTANT timestamptz := unix_cursor_time($2);
  before_id CONSTANT uuid := coalesce(
    nullif(feeds_cursor_id($2), ''), '00000000-0000-0000-0000-000000000000')::uuid;
  deleted_all CONSTANT timestamptz :=
    (SELECT r.deleted_all_at FROM notification_recipients r WHERE r.user_id = $1);
  reader CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
  size CONSTANT bigint := feeds_page_size($3);
  in_review CONSTANT boolean := has_reviews($1);
BEGIN
  IF in_review THEN%s
  ELSE%s
  END IF;
END
$$
$function$, format(page, 'shown_alarms'), format(page, 'settled_alarms'));
END
$do$;
DO $do$
DECLARE
  was CONSTANT text := $$
  SELECT n.type, n.subject, n.raised_at, n.oldest_at, n.actor_count = n.contribution_count AS once
    INTO shown
  FROM shown_notifications n
  WHERE n.recipient = $1 AND n.notification_id = $2 AND n.actor_count > 0;$$;
  old CONSTANT text := pg_get_functiondef('alarm_people(text, uuid, text, int)'::regprocedure);
BEGIN
  IF strpos(old, was) = 0 THEN RAISE EXCEPTION 'alarm_people does not read its notification as expected'; END IF;
  EXECUTE replace(old, was, format(
    E'\n  IF in_review THEN%s\n  ELSE%s\n  END IF;', was,
    replace(was, 'shown_notifications', 'settled_notifications')));
END
$do$;

-- profile without a row for people who are known from alarms alone: their empty profiles are alarm-worker's locks,
-- and whether there is one depends on what it has rendered.
DO $do$
DECLARE
  was CONSTANT text := 'OR p.user_id IS NOT NULL)';
  old CONSTANT text := pg_get_functiondef('profile(text, text)'::regprocedure);
BEGIN
  IF strpos(old, was) = 0 THEN RAISE EXCEPTION 'profile does not contain % as expected', was; END IF;
  EXECUTE replace(old, was, 'OR p.version_time > ''-infinity'' OR p.has_edits)');
END
$do$;

-- Everybody who has a profile, by name, in the form of search_people. Its parameters: who asks, before, limit.
CREATE FUNCTION people_by_name(text, text, int)
RETURNS TABLE (
  user_id text, nickname text, name text, major text, image_url text, cursor text,
  shown_name text, is_followed boolean, follows_viewer boolean
)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  before_name CONSTANT text := coalesce((SELECT c.name FROM search_cursor_parts($2) c), '');
  before_id CONSTANT text := coalesce((SELECT c.id FROM search_cursor_parts($2) c), '');
  hides CONSTANT boolean := has_blocks($1);
  viewer_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
BEGIN
  RETURN QUERY
  SELECT p.user_id, p.nickname, p.name, p.major, p.image_url,
    length(p.name) || ':' || p.name || p.user_id, d.name, d.is_followed, d.follows_viewer
  FROM (
    SELECT p.* FROM profiles p
    WHERE (p.version_time > '-infinity' OR p.has_edits)
      AND p.user_id <> $1
      AND (NOT hides OR NOT is_blocked($1, p.user_id))
      AND (p.name COLLATE "C", p.user_id) > (before_name COLLATE "C", before_id)
    ORDER BY p.name COLLATE "C", p.user_id
    LIMIT feeds_page_size($3)
  ) p
  CROSS JOIN LATERAL person_details(viewer_key, p.user_id) d
  ORDER BY p.name COLLATE "C", p.user_id;
END
$$;

-- search_people with people_by_name for the empty query, which needs no plan of its own. Nobody whose profile has
-- not arrived is read.
CREATE OR REPLACE FUNCTION search_people(query text, asking text, before text, "limit" int)
RETURNS TABLE (
  user_id text, nickname text, name text, major text, image_url text, cursor text,
  shown_name text, is_followed boolean, follows_viewer boolean
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
  -- Whether the pattern leaves no letter open: then what it finds needs no folding.
  is_exact CONSTANT boolean :=
    pattern = '%' || regexp_replace(folded, '([\\%_])', '\\\1', 'g') || '%';
  viewer_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $2);
BEGIN
  IF $1 = '' THEN
    RETURN QUERY SELECT * FROM people_by_name($2, $3, $4);
    RETURN;
  END IF;
  RETURN QUERY
  SELECT p.user_id, p.nickname, p.name, p.major, p.image_url,
    length(p.name) || ':' || p.name || p.user_id, d.name, d.is_followed, d.follows_viewer
  FROM (
    SELECT p.* FROM profiles p
    WHERE (p.version_time > '-infinity' OR p.has_edits)
      AND (
        p.name ILIKE pattern AND (is_exact OR strpos(search_fold(p.name), folded) > 0)
        OR p.nickname ILIKE pattern AND (is_exact OR strpos(search_fold(p.nickname), folded) > 0)
        OR p.major ILIKE pattern AND (is_exact OR strpos(search_fold(p.major), folded) > 0))
      AND p.user_id <> $2
      AND (NOT hides OR NOT is_blocked($2, p.user_id))
      AND (
        before_name IS NULL
        OR (p.name COLLATE "C", p.user_id) > (before_name COLLATE "C", before_id))
    ORDER BY p.name COLLATE "C", p.user_id
    LIMIT feeds_page_size($4)
  ) p
  CROSS JOIN LATERAL person_details(viewer_key, p.user_id) d
  ORDER BY p.name COLLATE "C", p.user_id;
END
$$;

-- The plans of page functions are made once per connection and follow indexes: see migration 0002.
DO $$
DECLARE
  page text;
BEGIN
  FOREACH page IN ARRAY ARRAY['alarm_page(text, text, int)', 'people_by_name(text, text, int)'] LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan SET enable_bitmapscan = off
        SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
        SET max_parallel_workers_per_gather = 0 SET jit = off', page);
  END LOOP;
END
$$;
