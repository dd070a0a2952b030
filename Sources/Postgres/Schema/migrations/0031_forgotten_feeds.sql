-- compatible-from: 9
-- What fanout-worker needs to forget people, and pages without those whom it forgets: see docs/decisions/0040.

-- What only a sweep looks for: the tombstones of a person, and conversations that were read before any message.
CREATE INDEX follows_ended ON follows (follower, version_time) WHERE NOT active;
CREATE INDEX follows_ended_of_followee ON follows (followee, version_time) WHERE NOT active;
CREATE INDEX posts_deleted ON posts (author, version_time) WHERE deleted;
CREATE INDEX conversations_without_message ON conversations (owner, read_at) WHERE last_message_id IS NULL;
GRANT DELETE ON author_posts TO magpie_fanout;

-- The numbers of posts, followers and following, without people who are being erased: such a person has none.
CREATE OR REPLACE FUNCTION profile_stats(user_id text)
RETURNS TABLE (posts bigint, followers bigint, following bigint)
LANGUAGE sql STABLE AS $$
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
    SELECT count(r.follower) AS followers, count(f.followee) AS following
    FROM erasures e
    JOIN users x ON x.user_id = e.user_id
    LEFT JOIN follows r ON r.followee = u.user_key AND r.follower = x.user_key AND r.active
    LEFT JOIN follows f ON f.followee = x.user_key AND f.follower = u.user_key AND f.active
    WHERE e.user_id IS NOT NULL
  ) e
$$;

DO $$
DECLARE
  change record;
  old text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      -- A viewer who is being erased sees nothing. (The other pages ask is_blocked, which covers both people.)
      ('feed_page(text, text, int)', E'\nBEGIN\n',
        E'\nBEGIN\n  IF hides AND is_erasing($1) THEN RETURN; END IF;\n'),
      ('home_page(text, text, int)', E'\nBEGIN\n',
        E'\nBEGIN\n  IF hides AND is_erasing($1) THEN RETURN; END IF;\n'),
      ('conversation_list(text, text, int)', E'\nBEGIN\n',
        E'\nBEGIN\n  IF hides AND is_erasing($1) THEN RETURN; END IF;\n'),
      ('profile(text, text)', E'\nBEGIN\n',
        E'\nBEGIN\n  IF EXISTS (SELECT FROM erasures e WHERE e.user_id IN ($1, $2)) THEN RETURN; END IF;\n'),
      -- A visit is not recorded. The transaction has an id before it asks, so that a sweep waits for it.
      ('feed_touch(text)', E'\n    INSERT INTO feed_visits',
        E'\n    PERFORM pg_current_xact_id();\n    IF is_erasing($1) THEN RETURN false; END IF;'
        '\n    INSERT INTO feed_visits')
    ) AS c (function, was, becomes)
  LOOP
    old := pg_get_functiondef(change.function::regprocedure);
    IF cardinality(string_to_array(old, change.was)) <> 2 THEN
      RAISE EXCEPTION '% does not contain % once', change.function, change.was;
    END IF;
    EXECUTE replace(old, change.was, change.becomes);
  END LOOP;
END
$$;
