-- compatible-from: 9
-- Conversations that were read, profiles that were edited field by field, and the number of an author's posts.
-- See docs/sql.md and docs/decisions/0035.
--
-- Workers of an older version go on beside this schema. They do not know conversation.read and profile.edited:
-- these become dead letters (unknown-type), which `magpie dead-letters redrive` applies after the upgrade. So
-- replace the workers before anything publishes these events. The indexes are built here, and block writes to
-- messages and profiles meanwhile.

-- The time up to which a person has read what another one sent, for unread messages (fanout-worker).
ALTER TABLE conversations ADD COLUMN read_at timestamptz NOT NULL DEFAULT '-infinity';
COMMENT ON TABLE conversations IS
  'The newest message of each side''s conversation, and the time up to which the owner has read. The row with '
  'owner <= peer is the lock of the pair. Without a message (none arrived yet, or the only one moved to another '
  'pair) the row is not listed.';
CREATE INDEX messages_received ON messages (receiver, sender, version_time);

-- The same for notifications of messages (notification-worker): each worker applies every event itself, and
-- neither waits for the other.
CREATE TABLE conversation_reads (
  user_id text COLLATE "C" NOT NULL,
  peer_id text COLLATE "C" NOT NULL,
  read_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, peer_id)
) WITH (fillfactor = 70);

-- A message's notification is read up to its conversation, too.
DO $$
DECLARE
  marks CONSTANT text := 'r.read_all_at, m.read_at';
  change record;
  old text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      ('settled_notifications', 'n.type', 'n.recipient', 'n.subject'),
      ('reviewed_notifications', 'k.type', 'p.recipient', 'newest.subject')
    ) AS c (view, type, recipient, subject)
  LOOP
    old := pg_get_viewdef(change.view::regclass);
    IF cardinality(string_to_array(old, marks)) <> 3 THEN
      RAISE EXCEPTION '% does not compute unread and unseen as expected', change.view;
    END IF;
    EXECUTE format('CREATE OR REPLACE VIEW %I AS ', change.view) || replace(old, marks, format(
      '%s, (SELECT c.read_at FROM conversation_reads c WHERE %s = 3 AND c.user_id = %s AND c.peer_id = %s)',
      marks, change.type, change.recipient, change.subject));
  END LOOP;
END
$$;

-- conversation_list with the number of the peer's messages that the user has not read: at most 100, which says
-- "100 or more".
DROP FUNCTION conversation_list(text, text, int);
CREATE FUNCTION conversation_list(user_id text, before text, "limit" int)
RETURNS TABLE (
  peer_id text, message_id text, sender_id text, text text, sent_at timestamptz, cursor text,
  peer_name text, peer_image_url text, unread bigint)
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
    coalesce(p.image_url, ''),
    (
      SELECT count(*) FROM (
        SELECT FROM messages u
        WHERE u.receiver = reader AND u.sender = c.peer AND u.version_time > c.read_at
          AND c.peer <> reader
        LIMIT 100
      ) u
    )
  FROM (
    SELECT c.peer, c.last_time, c.last_message_id, c.read_at
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

-- conversation_page with whether the receiver has read the message. What people send to themselves is read.
DROP FUNCTION conversation_page(text, text, text, int);
CREATE FUNCTION conversation_page(user_id text, peer_id text, before text, "limit" int)
RETURNS TABLE (
  message_id text, sender_id text, text text, sent_at timestamptz, cursor text, sender_name text,
  is_read boolean)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  before_time CONSTANT timestamptz := feeds_cursor_time($3);
  before_id CONSTANT text := feeds_cursor_id($3);
  one CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $1);
  other CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $2);
  one_read CONSTANT timestamptz :=
    (SELECT c.read_at FROM conversations c WHERE c.owner = one AND c.peer = other);
  other_read CONSTANT timestamptz :=
    (SELECT c.read_at FROM conversations c WHERE c.owner = other AND c.peer = one);
BEGIN
  -- least(one, NULL) is one: without this, an unknown peer would be oneself.
  IF one IS NULL OR other IS NULL OR is_blocked($1, $2) THEN RETURN; END IF;
  RETURN QUERY
  SELECT
    m.message_id, sender.user_id, m.text, m.version_time,
    feeds_cursor(m.version_time, m.message_id), coalesce(p.shown_name, ''),
    m.sender = m.receiver
      OR m.version_time <= CASE WHEN m.receiver = one THEN one_read ELSE other_read END
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

-- The newest edit of each field of a profile, under its name in the events. profiles shows it if it is newer
-- than the profile's own version. The profile's row is the lock.
CREATE TABLE profile_edits (
  user_id text COLLATE "C" NOT NULL,
  field text COLLATE "C" NOT NULL
    CHECK (field IN ('nickname', 'locale', 'imageUrl', 'name', 'major', 'bio')),
  value text NOT NULL,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (user_id, field)
);
ALTER TABLE profiles ADD COLUMN has_edits boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN profiles.version_time IS 'Of the newest profile.changed; edits have their own version.';

-- A profile that is stored leaves the fields that a newer edit decides: also what a worker of an older version
-- stores.
CREATE FUNCTION profiles_keep_edits() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  edit record;
BEGIN
  FOR edit IN
    SELECT e.field, e.value FROM profile_edits e
    WHERE e.user_id = NEW.user_id
      AND (e.version_time, e.version_id) > (NEW.version_time, NEW.version_id)
  LOOP
    CASE edit.field
      WHEN 'nickname' THEN NEW.nickname := edit.value;
      WHEN 'locale' THEN NEW.locale := edit.value;
      WHEN 'imageUrl' THEN NEW.image_url := edit.value;
      WHEN 'name' THEN NEW.name := edit.value;
      WHEN 'major' THEN NEW.major := edit.value;
      WHEN 'bio' THEN NEW.bio := edit.value;
    END CASE;
  END LOOP;
  RETURN NEW;
END
$$;
CREATE TRIGGER profiles_keep_edits BEFORE UPDATE ON profiles
FOR EACH ROW WHEN (
  OLD.has_edits
  AND (OLD.version_time, OLD.version_id) IS DISTINCT FROM (NEW.version_time, NEW.version_id))
EXECUTE FUNCTION profiles_keep_edits();

-- Everybody who has a profile, by name, without the rows of people whose profile has not arrived.
DROP INDEX profiles_by_name;
CREATE INDEX profiles_by_name ON profiles (name COLLATE "C", user_id)
  WHERE version_time > '-infinity' OR has_edits;

-- mutes with the person's shown name and image.
DROP FUNCTION mutes(text);
CREATE FUNCTION mutes(user_id text)
RETURNS TABLE (
  scope text, kind text, value text, since timestamptz, until timestamptz, name text, image_url text)
LANGUAGE sql STABLE AS $$
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
  ORDER BY 1, 2, 3
$$;

-- The number of an author's undeleted posts. The author's row in users is locked by whoever writes posts.
CREATE TABLE author_posts (
  author bigint PRIMARY KEY,
  posts bigint NOT NULL
) WITH (fillfactor = 70);
CREATE FUNCTION count_author_posts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  CASE TG_OP
    WHEN 'INSERT' THEN
      INSERT INTO author_posts AS c (author, posts)
      SELECT n.author, count(*) FROM new_posts n WHERE NOT n.deleted GROUP BY n.author ORDER BY n.author
      ON CONFLICT (author) DO UPDATE SET posts = c.posts + EXCLUDED.posts;
    WHEN 'DELETE' THEN
      INSERT INTO author_posts AS c (author, posts)
      SELECT o.author, -count(*) FROM old_posts o WHERE NOT o.deleted GROUP BY o.author ORDER BY o.author
      ON CONFLICT (author) DO UPDATE SET posts = c.posts + EXCLUDED.posts;
    ELSE
      INSERT INTO author_posts AS c (author, posts)
      SELECT b.author, sum(b.posts)
      FROM (
        SELECT n.author, 1 AS posts FROM new_posts n WHERE NOT n.deleted
        UNION ALL
        SELECT o.author, -1 FROM old_posts o WHERE NOT o.deleted
      ) b
      GROUP BY b.author HAVING sum(b.posts) <> 0 ORDER BY b.author
      ON CONFLICT (author) DO UPDATE SET posts = c.posts + EXCLUDED.posts;
  END CASE;
  RETURN NULL;
END
$$;
CREATE TRIGGER author_posts_inserted AFTER INSERT ON posts
REFERENCING NEW TABLE AS new_posts FOR EACH STATEMENT EXECUTE FUNCTION count_author_posts();
CREATE TRIGGER author_posts_updated AFTER UPDATE ON posts
REFERENCING NEW TABLE AS new_posts OLD TABLE AS old_posts
FOR EACH STATEMENT EXECUTE FUNCTION count_author_posts();
CREATE TRIGGER author_posts_deleted AFTER DELETE ON posts
REFERENCING OLD TABLE AS old_posts FOR EACH STATEMENT EXECUTE FUNCTION count_author_posts();
-- The triggers' locks keep other writers out until this commits.
INSERT INTO author_posts
SELECT p.author, count(*) FROM posts p WHERE NOT p.deleted GROUP BY p.author;

CREATE OR REPLACE FUNCTION profile_stats(user_id text)
RETURNS TABLE (posts bigint, followers bigint, following bigint)
LANGUAGE sql STABLE AS $$
  SELECT coalesce(a.posts, 0), coalesce(c.followers, 0), coalesce(c.following, 0)
  FROM (SELECT (SELECT user_key FROM users WHERE users.user_id = $1)) AS u (user_key)
  LEFT JOIN follow_counts c ON c.user_key = u.user_key
  LEFT JOIN author_posts a ON a.author = u.user_key
$$;

-- Two more checks.
DO $$
DECLARE
  change record;
  old text;
  new text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      (
        'verify_feeds()',
        '
  LEFT JOIN users o ON o.user_key = d.owner
  LEFT JOIN users p ON p.user_key = d.peer
$function$',
        '
  LEFT JOIN users o ON o.user_key = d.owner
  LEFT JOIN users p ON p.user_key = d.peer

  UNION ALL
  SELECT
    ''author_posts = undeleted posts'', ''author '' || coalesce(u.user_id, d.author::text), d.posts::text,
    coalesce(c.posts::text, ''no row'')
  FROM (
    SELECT author, sum(posts) AS posts
    FROM (
      SELECT p.author, count(*) AS posts FROM posts p WHERE NOT p.deleted GROUP BY p.author
      UNION ALL
      SELECT c.author, 0 FROM author_posts c
    ) both_sides
    GROUP BY author
  ) d
  LEFT JOIN author_posts c ON c.author = d.author
  LEFT JOIN users u ON u.user_key = d.author
  WHERE c.posts IS DISTINCT FROM d.posts
$function$'
      ),
      (
        'verify_alarms()',
        '
  FROM pending_renders p
$function$',
        '
  FROM pending_renders p
  UNION ALL
  SELECT ''a profile shows its newer edits'', ''user '' || e.user_id, e.field || '' '' || e.value,
    coalesce(s.value, ''no profile'')
  FROM profile_edits e
  LEFT JOIN profiles p ON p.user_id = e.user_id
  CROSS JOIN LATERAL (
    SELECT CASE e.field
      WHEN ''nickname'' THEN p.nickname WHEN ''locale'' THEN p.locale WHEN ''imageUrl'' THEN p.image_url
      WHEN ''name'' THEN p.name WHEN ''major'' THEN p.major WHEN ''bio'' THEN p.bio END AS value
  ) s
  WHERE p.has_edits IS NOT TRUE
    OR ((e.version_time, e.version_id) > (p.version_time, p.version_id) AND s.value <> e.value)
$function$'
      )
    ) AS c (function, was, becomes)
  LOOP
    old := pg_get_functiondef(change.function::regprocedure);
    new := replace(old, change.was, change.becomes);
    IF new = old THEN
      RAISE EXCEPTION '% does not contain % as expected', change.function, change.was;
    END IF;
    EXECUTE new;
  END LOOP;
END
$$;

-- The plans of page functions are made once per connection and follow indexes: see migration 0002.
DO $$
DECLARE
  page text;
BEGIN
  FOREACH page IN ARRAY ARRAY[
    'conversation_list(text, text, int)', 'conversation_page(text, text, text, int)']
  LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan SET enable_bitmapscan = off
        SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
        SET max_parallel_workers_per_gather = 0 SET jit = off', page);
  END LOOP;
END
$$;

GRANT SELECT, INSERT, UPDATE ON author_posts TO magpie_fanout;
GRANT SELECT, INSERT, UPDATE ON conversation_reads TO magpie_notification;
GRANT SELECT ON conversation_reads TO magpie_alarm, magpie_fanout;
GRANT SELECT, INSERT, UPDATE ON profile_edits TO magpie_alarm;
GRANT SELECT ON author_posts, conversation_reads, profile_edits TO magpie_reader;
