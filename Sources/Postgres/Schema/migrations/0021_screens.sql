-- compatible-from: 9
-- Every screen of an app from one query: see docs/sql.md. Workers of an older version go on beside this
-- schema, and render alarms of people who have only a name as those of somebody unknown.

-- What people are called: the nickname, or else the name. A nickname of which alarm texts show nothing counts as
-- none: the class lists the code points that they leave out (DisplayText in AlarmText; a test compares the two).
ALTER TABLE profiles
  ADD COLUMN shown_name text NOT NULL GENERATED ALWAYS AS (
    CASE WHEN nickname ~ (
      '[^'
      '\u0001-\u0020\u007f-\u00a0\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4'
      '\u05c5\u05c7\u0600-\u0605\u0610-\u061a\u061c\u064b-\u065f\u0670\u06d6-\u06dd\u06df-\u06e4\u06e7'
      '\u06e8\u06ea-\u06ed\u070f\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u07fd\u0816-\u0819'
      '\u081b-\u0823\u0825-\u0827\u0829-\u082d\u0859-\u085b\u0890\u0891\u0897-\u089f\u08ca-\u0903'
      '\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc\u09be-\u09c4\u09c7\u09c8'
      '\u09cb-\u09cd\u09d7\u09e2\u09e3\u09fe\u0a01-\u0a03\u0a3c\u0a3e-\u0a42\u0a47\u0a48\u0a4b-\u0a4d'
      '\u0a51\u0a70\u0a71\u0a75\u0a81-\u0a83\u0abc\u0abe-\u0ac5\u0ac7-\u0ac9\u0acb-\u0acd\u0ae2\u0ae3'
      '\u0afa-\u0aff\u0b01-\u0b03\u0b3c\u0b3e-\u0b44\u0b47\u0b48\u0b4b-\u0b4d\u0b55-\u0b57\u0b62\u0b63'
      '\u0b82\u0bbe-\u0bc2\u0bc6-\u0bc8\u0bca-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c\u0c3e-\u0c44\u0c46-\u0c48'
      '\u0c4a-\u0c4d\u0c55\u0c56\u0c62\u0c63\u0c81-\u0c83\u0cbc\u0cbe-\u0cc4\u0cc6-\u0cc8\u0cca-\u0ccd'
      '\u0cd5\u0cd6\u0ce2\u0ce3\u0cf3\u0d00-\u0d03\u0d3b\u0d3c\u0d3e-\u0d44\u0d46-\u0d48\u0d4a-\u0d4d'
      '\u0d57\u0d62\u0d63\u0d81-\u0d83\u0dca\u0dcf-\u0dd4\u0dd6\u0dd8-\u0ddf\u0df2\u0df3\u0e31'
      '\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18\u0f19\u0f35\u0f37\u0f39\u0f3e'
      '\u0f3f\u0f71-\u0f84\u0f86\u0f87\u0f8d-\u0f97\u0f99-\u0fbc\u0fc6\u102b-\u103e\u1056-\u1059'
      '\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u115f\u1160'
      '\u135d-\u135f\u1680\u1712-\u1715\u1732-\u1734\u1752\u1753\u1772\u1773\u17b4-\u17d3\u17dd'
      '\u180b-\u180f\u1885\u1886\u18a9\u1920-\u192b\u1930-\u193b\u1a17-\u1a1b\u1a55-\u1a5e\u1a60-\u1a7c'
      '\u1a7f\u1ab0-\u1add\u1ae0-\u1aeb\u1b00-\u1b04\u1b34-\u1b44\u1b6b-\u1b73\u1b80-\u1b82'
      '\u1ba1-\u1bad\u1be6-\u1bf3\u1c24-\u1c37\u1cd0-\u1cd2\u1cd4-\u1ce8\u1ced\u1cf4\u1cf7-\u1cf9'
      '\u1dc0-\u1dff\u2000-\u200f\u2028-\u202f\u205f-\u206f\u20d0-\u20f0\u2800\u2cef-\u2cf1\u2d7f'
      '\u2de0-\u2dff\u3000\u302a-\u302f\u3099\u309a\u3164\ua66f-\ua672\ua674-\ua67d\ua69e\ua69f\ua6f0'
      '\ua6f1\ua802\ua806\ua80b\ua823-\ua827\ua82c\ua880\ua881\ua8b4-\ua8c5\ua8e0-\ua8f1\ua8ff'
      '\ua926-\ua92d\ua947-\ua953\ua980-\ua983\ua9b3-\ua9c0\ua9e5\uaa29-\uaa36\uaa43\uaa4c\uaa4d'
      '\uaa7b-\uaa7d\uaab0\uaab2-\uaab4\uaab7\uaab8\uaabe\uaabf\uaac1\uaaeb-\uaaef\uaaf5\uaaf6'
      '\uabe3-\uabea\uabec\uabed\ufb1e\ufdd0-\ufdef\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\uffa0\ufff0-\ufffb'
      '\ufffe\uffff\U000101fd\U000102e0\U00010376-\U0001037a\U00010a01-\U00010a03\U00010a05\U00010a06'
      '\U00010a0c-\U00010a0f\U00010a38-\U00010a3a\U00010a3f\U00010ae5\U00010ae6\U00010d24-\U00010d27'
      '\U00010d69-\U00010d6d\U00010eab\U00010eac\U00010efa-\U00010eff\U00010f46-\U00010f50'
      '\U00010f82-\U00010f85\U00011000-\U00011002\U00011038-\U00011046\U00011070\U00011073\U00011074'
      '\U0001107f-\U00011082\U000110b0-\U000110ba\U000110bd\U000110c2\U000110cd\U00011100-\U00011102'
      '\U00011127-\U00011134\U00011145\U00011146\U00011173\U00011180-\U00011182\U000111b3-\U000111c0'
      '\U000111c9-\U000111cc\U000111ce\U000111cf\U0001122c-\U00011237\U0001123e\U00011241'
      '\U000112df-\U000112ea\U00011300-\U00011303\U0001133b\U0001133c\U0001133e-\U00011344\U00011347'
      '\U00011348\U0001134b-\U0001134d\U00011357\U00011362\U00011363\U00011366-\U0001136c'
      '\U00011370-\U00011374\U000113b8-\U000113c0\U000113c2\U000113c5\U000113c7-\U000113ca'
      '\U000113cc-\U000113d0\U000113d2\U000113e1\U000113e2\U00011435-\U00011446\U0001145e'
      '\U000114b0-\U000114c3\U000115af-\U000115b5\U000115b8-\U000115c0\U000115dc\U000115dd'
      '\U00011630-\U00011640\U000116ab-\U000116b7\U0001171d-\U0001172b\U0001182c-\U0001183a'
      '\U00011930-\U00011935\U00011937\U00011938\U0001193b-\U0001193e\U00011940\U00011942\U00011943'
      '\U000119d1-\U000119d7\U000119da-\U000119e0\U000119e4\U00011a01-\U00011a0a\U00011a33-\U00011a39'
      '\U00011a3b-\U00011a3e\U00011a47\U00011a51-\U00011a5b\U00011a8a-\U00011a99\U00011b60-\U00011b67'
      '\U00011c2f-\U00011c36\U00011c38-\U00011c3f\U00011c92-\U00011ca7\U00011ca9-\U00011cb6'
      '\U00011d31-\U00011d36\U00011d3a\U00011d3c\U00011d3d\U00011d3f-\U00011d45\U00011d47'
      '\U00011d8a-\U00011d8e\U00011d90\U00011d91\U00011d93-\U00011d97\U00011ef3-\U00011ef6\U00011f00'
      '\U00011f01\U00011f03\U00011f34-\U00011f3a\U00011f3e-\U00011f42\U00011f5a\U00013430-\U00013440'
      '\U00013447-\U00013455\U0001611e-\U0001612f\U00016af0-\U00016af4\U00016b30-\U00016b36\U00016f4f'
      '\U00016f51-\U00016f87\U00016f8f-\U00016f92\U00016fe4\U00016ff0\U00016ff1\U0001bc9d\U0001bc9e'
      '\U0001bca0-\U0001bca3\U0001cf00-\U0001cf2d\U0001cf30-\U0001cf46\U0001d165-\U0001d169'
      '\U0001d16d-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244'
      '\U0001da00-\U0001da36\U0001da3b-\U0001da6c\U0001da75\U0001da84\U0001da9b-\U0001da9f'
      '\U0001daa1-\U0001daaf\U0001e000-\U0001e006\U0001e008-\U0001e018\U0001e01b-\U0001e021\U0001e023'
      '\U0001e024\U0001e026-\U0001e02a\U0001e08f\U0001e130-\U0001e136\U0001e2ae\U0001e2ec-\U0001e2ef'
      '\U0001e4ec-\U0001e4ef\U0001e5ee\U0001e5ef\U0001e6e3\U0001e6e6\U0001e6ee\U0001e6ef\U0001e6f5'
      '\U0001e8d0-\U0001e8d6\U0001e944-\U0001e94a\U0001f3fb-\U0001f3ff\U0001fffe\U0001ffff'
      '\U000e0000-\U000e0fff'
      ']')
    THEN nickname ELSE name END) STORED;

DROP INDEX profiles_searched;
CREATE INDEX profiles_searched
  ON profiles USING gin (name gin_trgm_ops, nickname gin_trgm_ops, major gin_trgm_ops);

-- The orders of likers_page, followers_page and following_page.
CREATE INDEX likes_of_post ON likes (post_id, first_at, actor) WHERE active;
CREATE INDEX follows_of_followee ON follows (followee, version_time, version_id, follower) WHERE active;
CREATE INDEX follows_of_follower ON follows (follower, version_time, version_id, followee) WHERE active;

-- Alarms of people who were unknown and have a name.
INSERT INTO pending_renders (user_id, part)
SELECT p.user_id, t.part
FROM profiles p CROSS JOIN (VALUES ('actor'), ('second_actor')) AS t (part)
WHERE p.shown_name <> p.nickname
ON CONFLICT (user_id, part) DO UPDATE SET below_time = DEFAULT, below_id = DEFAULT;

-- take_alarms_to_publish of migration 0017 with the shown names of the actors.
DO $$
DECLARE
  old CONSTANT text := pg_get_functiondef('take_alarms_to_publish(int)'::regprocedure);
  new CONSTANT text := replace(
    replace(old, 'p.nickname,', 'p.shown_name,'), 's.nickname', 's.shown_name');
BEGIN
  IF new NOT LIKE '%p.shown\_name,%s.shown\_name%' THEN
    RAISE EXCEPTION 'take_alarms_to_publish does not read nicknames as expected';
  END IF;
  EXECUTE new;
END
$$;

-- The direction in which a locale is written: 'rtl' or 'ltr'.
CREATE FUNCTION locale_direction(locale text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN $1 ~ '^(ar|arc|ckb|dv|fa|he|ks|nqo|ps|sd|syr|ug|ur|yi)(-|$)|-(Adlm|Arab|Hebr|Nkoo|Rohg|Syrc|Thaa)(-|$)' THEN 'rtl' ELSE 'ltr' END
$$;

-- A post as a viewer sees it. edited_at is NULL if it was never edited.
CREATE TYPE post_row AS (
  post_id text, author_id text, title text, caption text, image_url text,
  published_at timestamptz, cursor text, author_name text, author_image_url text,
  likes bigint, comments bigint, is_liked boolean, is_followed boolean, edited_at timestamptz);

-- The post with these columns of posts as a viewer sees it. The viewer is NULL for visitors without an account.
CREATE FUNCTION post_as_seen(
  viewer text, viewer_key bigint, post_id text, author bigint, title text, caption text, image_url text,
  first_at timestamptz, version_time timestamptz)
RETURNS SETOF post_row
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT $3, u.user_id, $5, $6, $7, $8, feeds_cursor($8, $3), coalesce(p.shown_name, ''),
    coalesce(p.image_url, ''), coalesce(c.likes, 0), coalesce(c.comments, 0),
    EXISTS (SELECT FROM likes l WHERE l.post_id = $3 AND l.actor = $1 AND l.active),
    EXISTS (SELECT FROM follows f WHERE f.followee = $4 AND f.follower = $2 AND f.active),
    nullif($9, $8)
  FROM users u
  LEFT JOIN profiles p ON p.user_id = u.user_id
  LEFT JOIN post_counts c ON c.post_id = $3
  WHERE u.user_key = $4
$$;

-- A person as a viewer sees them in a list.
CREATE FUNCTION person_details(viewer_key bigint, user_id text)
RETURNS TABLE (name text, image_url text, is_followed boolean, follows_viewer boolean)
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT coalesce(p.shown_name, ''), coalesce(p.image_url, ''),
    EXISTS (
      SELECT FROM follows f WHERE f.followee = u.user_key AND f.follower = $1 AND f.active),
    EXISTS (
      SELECT FROM follows f WHERE f.followee = $1 AND f.follower = u.user_key AND f.active)
  FROM (SELECT) one
  LEFT JOIN users u ON u.user_id = $2
  LEFT JOIN profiles p ON p.user_id = $2
$$;

-- Cursors of three parts, '<microseconds>:<characters of key>:<key><id>': an order by (time, key, id).
CREATE FUNCTION follow_cursor(at timestamptz, key text, id text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT feeds_cursor($1, length($2) || ':' || $2 || $3)
$$;

DROP FUNCTION feed_page(text, text, int);
CREATE FUNCTION feed_page(user_id text, before text, "limit" int) RETURNS SETOF post_row
LANGUAGE plpgsql STABLE ROWS 50 AS $$
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
    SELECT p.post_id, p.author, p.title, p.caption, p.image_url, p.first_at, p.version_time
    FROM feed_entries e JOIN posts p ON p.post_key = e.post_key
    WHERE e.owner = reader
      AND e.post_key >= greatest(floor_key, lowest)
      AND e.post_key < coalesce(before_key + 1048576, 9223372036854775807)
      AND (p.first_at, p.post_id) < (before_time, before_id)
      AND (NOT hides OR NOT feeds_hidden($1, p.author))
    UNION ALL
    SELECT p.post_id, p.author, p.title, p.caption, p.image_url, p.first_at, p.version_time
    FROM follows f
    JOIN pull_authors a ON a.author = f.followee
    CROSS JOIN LATERAL (
      SELECT p.*
      FROM posts p
      WHERE p.author = a.author AND NOT p.deleted AND p.delivery = 'pull'
        AND p.post_key >= floor_key AND p.first_at >= lowest_time
        AND (p.first_at, p.post_id) < (before_time, before_id)
      ORDER BY p.first_at DESC, p.post_id DESC
      LIMIT size
    ) p
    WHERE f.follower = reader AND f.active AND (NOT hides OR NOT feeds_hidden($1, f.followee))
      -- Nothing is above the highest floor.
      AND floor_key < 9223372036854775807
  ),
  -- Of the authors followed, who still has a post below the floor, and how new; of the page's size
  -- of them, none older than the last can be on the page.
  furthest AS MATERIALIZED (
    SELECT p.first_at
    FROM follows f
    CROSS JOIN LATERAL (
      SELECT p.first_at
      FROM posts p
      WHERE p.author = f.followee AND NOT p.deleted
        AND p.first_at <= floor_time AND p.post_key < floor_key
        AND (p.first_at, p.post_id) < (before_time, before_id)
      ORDER BY p.first_at DESC, p.post_id DESC
      LIMIT 1
    ) p
    WHERE f.follower = reader AND f.active AND (NOT hides OR NOT feeds_hidden($1, f.followee))
      -- Only a page that reaches the floor looks below it.
      AND floor_key > 0
      AND (SELECT count(*) FROM above_floor a WHERE a.first_at > floor_time) < size
    ORDER BY p.first_at DESC
    LIMIT size
  ),
  below_floor AS (
    SELECT p.post_id, p.author, p.title, p.caption, p.image_url, p.first_at, p.version_time
    FROM follows f
    CROSS JOIN LATERAL (
      SELECT p.*
      FROM posts p
      WHERE p.author = f.followee AND NOT p.deleted
        AND p.first_at <= floor_time AND p.post_key < floor_key
        AND p.first_at >= (
          SELECT CASE WHEN count(*) < size THEN '-infinity' ELSE min(u.first_at) END
          FROM furthest u)
        AND (p.first_at, p.post_id) < (before_time, before_id)
      ORDER BY p.first_at DESC, p.post_id DESC
      LIMIT size
    ) p
    WHERE f.follower = reader AND f.active AND EXISTS (SELECT FROM furthest)
      AND (NOT hides OR NOT feeds_hidden($1, f.followee))
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

DROP FUNCTION home_page(text, int);
DROP FUNCTION home_page(text, text, int);
CREATE FUNCTION home_page(viewer text, before text, "limit" int) RETURNS SETOF post_row
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  before_time CONSTANT timestamptz := feeds_cursor_time($2);
  before_id CONSTANT text := feeds_cursor_id($2);
  hides CONSTANT boolean := has_blocks($1);
  viewer_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
BEGIN
  RETURN QUERY
  SELECT d.*
  FROM (
    SELECT p.* FROM posts p
    WHERE NOT p.deleted
      AND (p.first_at, p.post_id) < (before_time, before_id)
      AND (NOT hides OR NOT feeds_hidden($1, p.author))
    ORDER BY p.first_at DESC, p.post_id DESC
    LIMIT feeds_page_size($3)
  ) p
  CROSS JOIN LATERAL post_as_seen(
    $1, viewer_key, p.post_id, p.author, p.title, p.caption, p.image_url, p.first_at, p.version_time) d
  ORDER BY p.first_at DESC, p.post_id DESC;
END
$$;
CREATE FUNCTION home_page(before text, "limit" int) RETURNS SETOF post_row
LANGUAGE sql STABLE ROWS 50 AS $$
  SELECT * FROM home_page(NULL, $1, $2)
$$;

-- A person's posts, newest first; none if one of the two has blocked the other.
CREATE FUNCTION user_posts_page(viewer text, user_id text, before text, "limit" int)
RETURNS SETOF post_row
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  before_time CONSTANT timestamptz := feeds_cursor_time($3);
  before_id CONSTANT text := feeds_cursor_id($3);
  viewer_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
  author_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $2);
BEGIN
  IF is_blocked($1, $2) THEN RETURN; END IF;
  RETURN QUERY
  SELECT d.*
  FROM (
    SELECT p.* FROM posts p
    WHERE p.author = author_key AND NOT p.deleted
      AND (p.first_at, p.post_id) < (before_time, before_id)
    ORDER BY p.first_at DESC, p.post_id DESC
    LIMIT feeds_page_size($4)
  ) p
  CROSS JOIN LATERAL post_as_seen(
    $1, viewer_key, p.post_id, p.author, p.title, p.caption, p.image_url, p.first_at, p.version_time) d
  ORDER BY p.first_at DESC, p.post_id DESC;
END
$$;

-- One post; no row if there is none that the viewer can see.
CREATE FUNCTION post(viewer text, post_id text) RETURNS SETOF post_row
LANGUAGE plpgsql STABLE ROWS 1 AS $$
#variable_conflict use_column
DECLARE
  viewer_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
BEGIN
  RETURN QUERY
  SELECT d.*
  FROM posts p
  CROSS JOIN LATERAL post_as_seen(
    $1, viewer_key, p.post_id, p.author, p.title, p.caption, p.image_url, p.first_at, p.version_time) d
  WHERE p.post_id = $2 AND NOT p.deleted AND NOT is_blocked($1, d.author_id);
END
$$;

-- Who likes a post, the newest like first; without people whom the viewer blocked or who blocked them.
CREATE FUNCTION likers_page(viewer text, post_id text, before text, "limit" int)
RETURNS TABLE (
  user_id text, name text, image_url text, is_followed boolean, follows_viewer boolean,
  liked_at timestamptz, cursor text)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  before_time CONSTANT timestamptz := feeds_cursor_time($3);
  before_id CONSTANT text := feeds_cursor_id($3);
  hides CONSTANT boolean := has_blocks($1);
  viewer_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
BEGIN
  RETURN QUERY
  SELECT l.actor, d.name, d.image_url, d.is_followed, d.follows_viewer, l.first_at,
    feeds_cursor(l.first_at, l.actor)
  FROM (
    SELECT l.actor, l.first_at FROM likes l
    WHERE l.post_id = $2 AND l.active
      AND (l.first_at, l.actor) < (before_time, before_id)
      AND (NOT hides OR NOT is_blocked($1, l.actor))
    ORDER BY l.first_at DESC, l.actor DESC
    LIMIT feeds_page_size($4)
  ) l
  CROSS JOIN LATERAL person_details(viewer_key, l.actor) d
  ORDER BY l.first_at DESC, l.actor DESC;
END
$$;

-- Who follows a person, or whom the person follows, the newest follow first; without people whom the viewer
-- blocked or who blocked them, and empty if that is the person. Its parameters: viewer, person, whether the
-- person is the follower, before, limit.
CREATE FUNCTION follow_page(text, text, boolean, text, int)
RETURNS TABLE (
  user_id text, name text, image_url text, is_followed boolean, follows_viewer boolean,
  followed_at timestamptz, cursor text)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  before_time CONSTANT timestamptz := feeds_cursor_time($4);
  before_key CONSTANT text := nullif(feeds_cursor_id($4), '');
  before_event CONSTANT text := (SELECT c.name FROM search_cursor_parts(before_key) c);
  before_id CONSTANT text := (SELECT c.id FROM search_cursor_parts(before_key) c);
  hides CONSTANT boolean := has_blocks($1);
  viewer_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
  person_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $2);
BEGIN
  IF is_blocked($1, $2) THEN RETURN; END IF;
  RETURN QUERY
  SELECT f.user_id, d.name, d.image_url, d.is_followed, d.follows_viewer, f.version_time,
    follow_cursor(f.version_time, f.version_id, f.user_id)
  FROM (
    (
      SELECT u.user_id, f.version_time, f.version_id
      FROM follows f JOIN users u ON u.user_key = f.follower
      WHERE NOT $3 AND f.followee = person_key AND f.active
        AND (f.version_time, f.version_id) <= (before_time, before_event)
        AND (f.version_time, f.version_id, u.user_id) < (before_time, before_event, before_id)
        AND (NOT hides OR NOT is_blocked($1, u.user_id))
      ORDER BY f.version_time DESC, f.version_id DESC, u.user_id DESC
      LIMIT feeds_page_size($5)
    )
    UNION ALL
    (
      SELECT u.user_id, f.version_time, f.version_id
      FROM follows f JOIN users u ON u.user_key = f.followee
      WHERE $3 AND f.follower = person_key AND f.active
        AND (f.version_time, f.version_id) <= (before_time, before_event)
        AND (f.version_time, f.version_id, u.user_id) < (before_time, before_event, before_id)
        AND (NOT hides OR NOT is_blocked($1, u.user_id))
      ORDER BY f.version_time DESC, f.version_id DESC, u.user_id DESC
      LIMIT feeds_page_size($5)
    )
  ) f
  CROSS JOIN LATERAL person_details(viewer_key, f.user_id) d
  ORDER BY f.version_time DESC, f.version_id DESC, f.user_id DESC;
END
$$;
CREATE FUNCTION followers_page(viewer text, person text, before text, "limit" int)
RETURNS TABLE (
  user_id text, name text, image_url text, is_followed boolean, follows_viewer boolean,
  followed_at timestamptz, cursor text)
LANGUAGE sql STABLE ROWS 50 AS $$
  SELECT * FROM follow_page($1, $2, false, $3, $4)
$$;
CREATE FUNCTION following_page(viewer text, person text, before text, "limit" int)
RETURNS TABLE (
  user_id text, name text, image_url text, is_followed boolean, follows_viewer boolean,
  followed_at timestamptz, cursor text)
LANGUAGE sql STABLE ROWS 50 AS $$
  SELECT * FROM follow_page($1, $2, true, $3, $4)
$$;

-- A person's profile; no row if no event has named them, or if they blocked the viewer. The locale is only shown to
-- oneself.
CREATE FUNCTION profile(viewer text, person text)
RETURNS TABLE (
  user_id text, shown_name text, nickname text, name text, major text, bio text, image_url text,
  locale text, posts bigint, followers bigint, following bigint, is_followed boolean,
  follows_viewer boolean, is_blocked boolean, is_muted boolean)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
#variable_conflict use_column
DECLARE
  viewer_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
  person_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $2);
BEGIN
  RETURN QUERY
  SELECT $2, coalesce(p.shown_name, ''), coalesce(p.nickname, ''), coalesce(p.name, ''),
    coalesce(p.major, ''), coalesce(p.bio, ''), coalesce(p.image_url, ''),
    CASE WHEN $1 = $2 THEN coalesce(p.locale, '') END, s.posts, s.followers, s.following,
    d.is_followed, d.follows_viewer,
    EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1 AND b.blocked = $2 AND b.active),
    coalesce(
      (
        SELECT s.silenced AND coalesce(s.until, 'infinity') > now() FROM notification_silences s
        WHERE s.recipient = $1 AND s.scope = 'actor' AND s.type = -1 AND s.value = $2
        ORDER BY s.at DESC, s.event_id DESC
        LIMIT 1
      ), false)
  FROM profile_stats($2) s
  CROSS JOIN LATERAL person_details(viewer_key, $2) d
  LEFT JOIN profiles p ON p.user_id = $2
  WHERE (person_key IS NOT NULL OR p.user_id IS NOT NULL)
    AND NOT EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $2 AND b.blocked = $1 AND b.active);
END
$$;

-- Cursors of comments and alarms. Their microseconds count from 1970, those of feeds_cursor from 2000.
CREATE FUNCTION unix_cursor(at timestamptz, id text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (extract(epoch FROM $1) * 1000000)::bigint || ':' || $2
$$;
CREATE FUNCTION unix_cursor_time(cursor text) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(
    timestamptz '1970-01-01 00:00:00+00'
      + (SELECT p.microseconds FROM cursor_parts($1) p) * interval '1 microsecond',
    timestamptz 'infinity')
$$;

-- comment_page with the writer's name and image. edited_at is NULL if the comment was never edited.
DROP FUNCTION comment_page(text, text, int);
DROP FUNCTION comment_page(text, text, text, int);
CREATE FUNCTION comment_page(viewer text, post_id text, before text, "limit" int)
RETURNS TABLE (
  comment_id text, actor_id text, text text, created_at timestamptz, cursor text, actor_name text,
  actor_image_url text, edited_at timestamptz)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  before_time CONSTANT timestamptz := unix_cursor_time($3);
  before_id CONSTANT text := feeds_cursor_id($3);
  hides CONSTANT boolean := has_blocks($1);
BEGIN
  RETURN QUERY
  SELECT c.comment_id, c.actor, c.text, c.first_at,
    unix_cursor(c.first_at, c.comment_id),
    coalesce(p.shown_name, ''), coalesce(p.image_url, ''), nullif(c.version_time, c.first_at)
  FROM (
    SELECT c.* FROM comments c
    WHERE c.post_id = $2 AND c.active AND (c.first_at, c.comment_id) < (before_time, before_id)
      AND (NOT hides OR NOT is_blocked($1, c.actor))
    ORDER BY c.first_at DESC, c.comment_id DESC
    LIMIT feeds_page_size($4)
  ) c
  LEFT JOIN profiles p ON p.user_id = c.actor
  ORDER BY c.first_at DESC, c.comment_id DESC;
END
$$;
CREATE FUNCTION comment_page(post_id text, before text, "limit" int)
RETURNS TABLE (
  comment_id text, actor_id text, text text, created_at timestamptz, cursor text, actor_name text,
  actor_image_url text, edited_at timestamptz)
LANGUAGE sql STABLE ROWS 50 AS $$
  SELECT * FROM comment_page(NULL, $1, $2, $3)
$$;

-- alarm_page of migration 0015 with six more columns. settled_alarms is right, and cheaper, for people without
-- pending reviews.
DROP FUNCTION alarm_page(text, text, int);
CREATE FUNCTION alarm_page(user_id text, before text, "limit" int)
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
    (
      SELECT * FROM settled_alarms a
      WHERE a.recipient = $1 AND NOT in_review
        -- The view says so too; here it is where the index stops.
        AND a.raised_at > deleted_all
        AND (a.raised_at, a.notification_id) < (before_time, before_id)
      ORDER BY a.raised_at DESC, a.notification_id DESC
      LIMIT size
    )
    UNION ALL
    (
      SELECT * FROM shown_alarms a
      WHERE a.recipient = $1 AND in_review
        AND a.raised_at > deleted_all
        AND (a.raised_at, a.notification_id) < (before_time, before_id)
      ORDER BY a.raised_at DESC, a.notification_id DESC
      LIMIT size
    )
  ) a
  CROSS JOIN LATERAL person_details(reader, a.actor) d
  LEFT JOIN post_facts f ON f.post_id = a.post_id AND NOT f.deleted
  ORDER BY a.raised_at DESC, a.notification_id DESC;
END
$$;

-- Everybody behind an alarm, the newest contribution first; no rows if the alarm is not shown to this user. If one
-- person can contribute several times, each is listed once, and only the newest 1000 contributions are read,
-- as for the alarm's actor_count.
CREATE FUNCTION alarm_people(viewer text, notification uuid, before text, "limit" int)
RETURNS TABLE (
  user_id text, name text, image_url text, is_followed boolean, follows_viewer boolean,
  acted_at timestamptz, cursor text)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  before_time CONSTANT timestamptz := feeds_cursor_time($3);
  before_source CONSTANT text := feeds_cursor_id($3);
  reader CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
  shown record;
  in_review CONSTANT boolean := has_reviews($1);
  deleted CONSTANT timestamptz := (
    SELECT greatest(r.deleted_all_at, m.deleted_at)
    FROM notification_recipients r
    LEFT JOIN notification_marks m ON m.recipient = $1 AND m.notification_id = $2
    WHERE r.user_id = $1);
BEGIN
  SELECT n.type, n.subject, n.raised_at, n.oldest_at, n.actor_count = n.contribution_count AS once
    INTO shown
  FROM shown_notifications n
  WHERE n.recipient = $1 AND n.notification_id = $2 AND n.actor_count > 0;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY
  WITH heard AS (
    SELECT c.actor, c.source, c.first_at FROM notification_actors c
    WHERE c.notification_id = $2 AND c.active AND NOT c.muted AND c.first_at > deleted
      AND (NOT in_review
        OR NOT contribution_muted($1, shown.type, shown.subject, c.actor, c.first_at))
      AND (NOT shown.once OR (c.first_at, c.source) < (before_time, before_source))
    ORDER BY c.first_at DESC, c.source DESC
    LIMIT CASE WHEN shown.once THEN feeds_page_size($4) ELSE 1000 END
  ),
  -- Contributions that a pending review will show again.
  heard_again AS (
    SELECT c.actor, c.source, c.first_at FROM notification_actors c
    WHERE in_review AND c.recipient = $1 AND c.type = shown.type AND c.muted AND c.active
      AND c.notification_id = $2 AND c.first_at > deleted
      AND c.first_at BETWEEN shown.oldest_at AND shown.raised_at
      AND NOT contribution_muted($1, shown.type, shown.subject, c.actor, c.first_at)
  ),
  newest AS (
    SELECT * FROM (SELECT * FROM heard UNION ALL SELECT * FROM heard_again) h
    ORDER BY h.first_at DESC, h.source DESC
    LIMIT CASE WHEN NOT shown.once THEN 1000 END
  ),
  people AS (
    SELECT DISTINCT ON (h.actor) h.* FROM newest h
    WHERE h.actor IS NOT NULL
    ORDER BY h.actor, h.first_at DESC, h.source DESC
  ),
  page AS (
    SELECT p.* FROM people p
    WHERE (p.first_at, p.source) < (before_time, before_source)
    ORDER BY p.first_at DESC, p.source DESC
    LIMIT feeds_page_size($4)
  )
  SELECT p.actor, d.name, d.image_url, d.is_followed, d.follows_viewer, p.first_at,
    feeds_cursor(p.first_at, p.source)
  FROM page p CROSS JOIN LATERAL person_details(reader, p.actor) d
  ORDER BY p.first_at DESC, p.source DESC;
END
$$;

-- conversation_list with the partner's name and image.
DROP FUNCTION conversation_list(text, text, int);
CREATE FUNCTION conversation_list(user_id text, before text, "limit" int)
RETURNS TABLE (
  peer_id text, message_id text, sender_id text, text text, sent_at timestamptz, cursor text,
  peer_name text, peer_image_url text)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
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
    feeds_cursor(m.version_time, m.message_id), coalesce(p.shown_name, ''),
    coalesce(p.image_url, '')
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
  LEFT JOIN profiles p ON p.user_id = peer.user_id
  ORDER BY c.last_time DESC, c.last_message_id DESC;
END
$$;

-- conversation_page with the sender's name.
DROP FUNCTION conversation_page(text, text, text, int);
CREATE FUNCTION conversation_page(user_id text, peer_id text, before text, "limit" int)
RETURNS TABLE (
  message_id text, sender_id text, text text, sent_at timestamptz, cursor text, sender_name text)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
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
    feeds_cursor(m.version_time, m.message_id), coalesce(p.shown_name, '')
  FROM (
    SELECT m.* FROM messages m
    WHERE least(m.sender, m.receiver) = least(one, other)
      AND greatest(m.sender, m.receiver) = greatest(one, other)
      AND (m.version_time, m.message_id) < (before_time, before_id)
    ORDER BY m.version_time DESC, m.message_id DESC
    LIMIT feeds_page_size($4)
  ) m
  JOIN users sender ON sender.user_key = m.sender
  LEFT JOIN profiles p ON p.user_id = sender.user_id
  ORDER BY m.version_time DESC, m.message_id DESC;
END
$$;

-- search_people of migration 0018, by nickname too, and everybody who has a profile if the query is empty.
DROP FUNCTION search_users(text, text, text, int);
DROP FUNCTION search_people(text, text, text, int);
CREATE FUNCTION search_people(query text, asking text, before text, "limit" int)
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
  viewer_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $2);
BEGIN
  RETURN QUERY
  SELECT p.user_id, p.nickname, p.name, p.major, p.image_url,
    length(p.name) || ':' || p.name || p.user_id, d.name, d.is_followed, d.follows_viewer
  FROM (
    SELECT p.* FROM profiles p
    -- Decided when the query is planned, so that the index is used.
    WHERE CASE
        WHEN $1 = '' THEN p.version_time > '-infinity'
        ELSE p.name ILIKE pattern AND strpos(search_fold(p.name), folded) > 0
          OR p.nickname ILIKE pattern AND strpos(search_fold(p.nickname), folded) > 0
          OR p.major ILIKE pattern AND strpos(search_fold(p.major), folded) > 0
      END
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
CREATE FUNCTION search_users(query text, user_id text, before text, "limit" int)
RETURNS TABLE (
  user_id text, nickname text, name text, major text, image_url text, cursor text,
  shown_name text, is_followed boolean, follows_viewer boolean
)
LANGUAGE sql STABLE AS $$
  SELECT * FROM search_people($1, $2, $3, $4)
$$;

-- The plans of page functions are made once per connection and follow indexes: see migration 0002.
DO $$
DECLARE
  page text;
BEGIN
  FOREACH page IN ARRAY ARRAY[
    'feed_page(text, text, int)', 'home_page(text, text, int)',
    'user_posts_page(text, text, text, int)', 'post(text, text)',
    'likers_page(text, text, text, int)', 'follow_page(text, text, boolean, text, int)',
    'profile(text, text)',
    'comment_page(text, text, text, int)', 'alarm_page(text, text, int)',
    'alarm_people(text, uuid, text, int)', 'conversation_list(text, text, int)',
    'conversation_page(text, text, text, int)']
  LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan SET enable_bitmapscan = off
        SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
        SET max_parallel_workers_per_gather = 0 SET jit = off', page);
  END LOOP;
END
$$;

-- The workers' roles may read all that pages show.
GRANT SELECT ON profiles, likes, comments, post_counts, notification_silences TO magpie_fanout;
GRANT SELECT ON profiles TO magpie_notification;
GRANT SELECT ON users, follows TO magpie_alarm, magpie_notification;
