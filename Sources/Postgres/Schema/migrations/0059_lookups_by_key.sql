-- compatible-from: 9
-- Whether somebody likes a post was looked up among all its likes. The index by time has all that the query reads, and the
-- planner believes that a post has few likes. A column that this index lacks leaves the primary key.

-- As in migration 0032.
CREATE OR REPLACE FUNCTION post_as_seen(viewer text, viewer_key bigint, post_id text, author bigint, title text, caption text, image_url text, first_at timestamp with time zone, version_time timestamp with time zone)
 RETURNS SETOF post_row
 LANGUAGE sql
 STABLE ROWS 1
AS $$
  SELECT $3, u.user_id, $5, $6, $7, $8, feeds_cursor($8, $3), coalesce(p.shown_name, ''),
    coalesce(p.image_url, ''), coalesce(c.likes, 0) - coalesce(g.likes, 0), coalesce(c.comments, 0) - coalesce(g.comments, 0),
    coalesce((
      SELECT l.active FROM likes l
      WHERE l.post_id = $3 AND l.actor = $1 AND NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = $1)
    ), false),
    EXISTS (SELECT FROM follows f WHERE f.followee = $4 AND f.follower = $2 AND f.active),
    nullif($9, $8)
  FROM users u
  LEFT JOIN profiles p ON p.user_id = u.user_id
  LEFT JOIN post_counts c ON c.post_id = $3
  LEFT JOIN LATERAL (
    SELECT * FROM erasing_counts($3) WHERE EXISTS (SELECT FROM erasures u WHERE u.user_id IS NOT NULL)
  ) g ON true
  WHERE u.user_key = $4
$$;

-- As in migration 0032: likes of those who are being erased, which each page of anybody subtracts.
CREATE OR REPLACE FUNCTION erasing_counts(post_id text)
 RETURNS TABLE(likes bigint, comments bigint)
 LANGUAGE plpgsql
 STABLE ROWS 1
AS $$
#variable_conflict use_column
BEGIN
  IF post_is_erasing($1) THEN
    RETURN QUERY SELECT c.likes, c.comments FROM post_counts c WHERE c.post_id = $1;
  ELSE
    RETURN QUERY SELECT
      (
        SELECT count(*) FROM erasing_people() e
        WHERE (SELECT l.active FROM likes l WHERE l.post_id = $1 AND l.actor = e.user_id)
      ),
      (
        SELECT count(*) FROM erasing_people() e
        JOIN comments c ON c.actor = e.user_id AND c.post_id = $1 AND c.active
      );
  END IF;
END
$$;

-- As in migration 0031: the same for followers.
CREATE OR REPLACE FUNCTION profile_stats(user_id text)
 RETURNS TABLE(posts bigint, followers bigint, following bigint)
 LANGUAGE sql
 STABLE
AS $$
  SELECT coalesce(a.posts, 0), coalesce(c.followers, 0) - e.followers, coalesce(c.following, 0) - e.following
  FROM (
    SELECT (
      SELECT u.user_key FROM users u
      WHERE u.user_id = $1 AND NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = $1)
    )
  ) AS u (user_key)
  LEFT JOIN follow_counts c ON c.user_key = u.user_key
  LEFT JOIN author_posts a ON a.author = u.user_key
  CROSS JOIN LATERAL (
    SELECT
      count(*) FILTER (WHERE (
        SELECT r.active FROM follows r WHERE r.followee = u.user_key AND r.follower = x.user_key
      )) AS followers,
      count(*) FILTER (WHERE (
        SELECT f.active FROM follows f WHERE f.followee = x.user_key AND f.follower = u.user_key
      )) AS following
    FROM erasing_people() e
    JOIN users x ON x.user_id = e.user_id
  ) e
$$;

-- As in migration 0032, by key for each row. With thousands of blocks, the estimate made PostgreSQL compile the plan.
CREATE OR REPLACE FUNCTION mutes(user_id text)
 RETURNS TABLE(scope text, kind text, value text, since timestamp with time zone, until timestamp with time zone, name text, image_url text)
 LANGUAGE sql
 STABLE
 SET jit = off
AS $$
  SELECT o.*, coalesce(p.shown_name, ''), coalesce(p.image_url, '')
  FROM (
    SELECT 'kind' AS scope, kind_code(m.type) AS kind, '' AS value, m.at AS since,
      NULL::timestamptz AS until
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
  ) o
  LEFT JOIN profiles p ON o.scope IN ('actor', 'block') AND p.user_id = o.value
  WHERE NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = $1)
    AND NOT EXISTS (
      SELECT FROM erasures e
      WHERE e.user_id = o.value
        AND (o.scope IN ('actor', 'block') OR o.scope = 'subject' AND o.kind = 'F03'))
  ORDER BY 1, 2, 3
$$;

-- Whether a contribution for the recipient may be silenced.
CREATE FUNCTION may_silence(recipient text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM notification_silences s WHERE s.recipient = $1)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.active)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocked = $1 AND b.active)
$$;

-- While anybody was being erased, two functions were called for each contribution to an alarm of somebody whom they have
-- notified: 100 microseconds, so that an alarm with 100,000 contributions could not be shown.
DO $do$
DECLARE
  view text := regexp_replace(pg_get_viewdef('reviewed_notifications'::regclass), '\s+', ' ', 'g');
  silenced CONSTANT text := 'contribution_silenced(p.recipient, k.type, a.subject, a.actor, a.first_at)';
  changes CONSTANT text[] := ARRAY[
    '((NOT silences.exist) OR (NOT (' || silenced
      || ' OR contribution_is_erasing(a.type, a.actor, a.source, a.grouped))))',
    '(a.actor = ANY (silences.erasing)) IS NOT TRUE'
      || ' AND (a.grouped IS NULL OR a.type = 13 OR (a.source = ANY (silences.erasing)) IS NOT TRUE)'
      || ' AND (NOT silences.exist OR NOT ' || silenced || ')',
    'SELECT has_silences(p.recipient) AS exist',
    'SELECT may_silence(p.recipient) AS exist, erasing_contributors(p.recipient) AS erasing'];
BEGIN
  FOR i IN 1..3 BY 2 LOOP
    IF cardinality(string_to_array(view, changes[i])) <> (ARRAY[4, 0, 2])[i] THEN
      RAISE EXCEPTION 'reviewed_notifications does not contain % as expected', changes[i];
    END IF;
    view := replace(view, changes[i], changes[i + 1]);
  END LOOP;
  EXECUTE 'CREATE OR REPLACE VIEW reviewed_notifications AS ' || view;
END
$do$;
