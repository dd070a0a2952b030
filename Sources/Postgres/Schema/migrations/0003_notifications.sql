-- Notifications, and the likes and comments they derive from. All of it is written by the
-- notification-worker alone.
--
-- Lock order: post_counts, likes or comments or post_facts, notification_recipients, each in key
-- order. A recipient's row is the lock of everything of that recipient: contributions, mutes,
-- marks and notifications need none of their own.

-- How many likes and comments a post has, kept by the triggers below.
CREATE TABLE post_counts (
  post_id text COLLATE "C" PRIMARY KEY,
  likes bigint NOT NULL DEFAULT 0,
  comments bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- One row for each person who ever liked or unliked a post, the post's owner included.
-- first_at: the earliest time of any like event of the pair; NULL while only unlikes have arrived.
CREATE TABLE likes (
  post_id text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  post_owner text COLLATE "C" NOT NULL,
  active boolean NOT NULL,
  first_at timestamptz,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (post_id, actor)
);

-- One row for each comment that was ever made or removed; what the newest event says.
CREATE TABLE comments (
  comment_id text COLLATE "C" PRIMARY KEY,
  post_id text COLLATE "C" NOT NULL,
  post_owner text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  text text NOT NULL,
  mentions text[] COLLATE "C" NOT NULL,
  active boolean NOT NULL,
  first_at timestamptz,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL
);
CREATE INDEX comments_of_post ON comments (post_id, first_at, comment_id) WHERE active;

-- What notifications need to know of a post: the people it mentions, its opening words, its
-- image (which readers join as the thumbnail, so that a new image costs one row).
CREATE TABLE post_facts (
  post_id text COLLATE "C" PRIMARY KEY,
  author text COLLATE "C" NOT NULL,
  head_text text NOT NULL,
  image_url text NOT NULL,
  mentions text[] COLLATE "C" NOT NULL,
  deleted boolean NOT NULL,
  first_at timestamptz,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL
);

-- The lock of each person who can be notified, and two watermarks: everything raised up to them
-- is read, or deleted.
CREATE TABLE notification_recipients (
  user_id text COLLATE "C" PRIMARY KEY,
  read_all_at timestamptz NOT NULL DEFAULT '-infinity',
  deleted_all_at timestamptz NOT NULL DEFAULT '-infinity',
  -- Up to here the rows that deleted_all_at hides were removed, by a sweep at leisure.
  swept_at timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 70);
CREATE INDEX notification_recipients_unswept
  ON notification_recipients (user_id) WHERE deleted_all_at > swept_at;

-- The same for single notifications. A mark may arrive before its notification does.
CREATE TABLE notification_marks (
  recipient text COLLATE "C" NOT NULL,
  notification_id uuid NOT NULL,
  read_at timestamptz NOT NULL DEFAULT '-infinity',
  deleted_at timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (recipient, notification_id)
);

-- Every muting and unmuting of a type (0 like, 1 comment, 2 follow, 3 message, 4 mention, 5 post).
CREATE TABLE notification_mutes (
  recipient text COLLATE "C" NOT NULL,
  type smallint NOT NULL,
  at timestamptz NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  muted boolean NOT NULL,
  PRIMARY KEY (recipient, type, at, event_id)
);

-- Whether the person had muted the type when something happened: only what happens later than the
-- muting is suppressed.
CREATE FUNCTION notification_muted(recipient text, type smallint, happened_at timestamptz)
RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(
    (
      SELECT m.muted FROM notification_mutes m
      WHERE m.recipient = $1 AND m.type = $2 AND m.at < $3
      ORDER BY m.at DESC, m.event_id DESC
      LIMIT 1
    ), false)
$$;

-- Contributions: who makes a notification exist.
--
--   type     subject                          source       grouped by UTC day
--   0 like   post                             actor        yes
--   1 comment comment                         comment      no
--   2 follow ''                               follower     yes
--   3 message sender                          message      yes
--   4 mention 'post:' or 'comment:' and an id the same     no
--
-- first_at is the earliest time of any event that makes the contribution, also of one that arrives
-- late; it decides the day and with it notification_id (a UUIDv5). Both are NULL while only
-- withdrawals have arrived. muted is kept true to notification_mutes for active contributions that
-- no deletion covers. also_touched names one more notification that must be recomputed in the
-- transaction under way; it is NULL whenever a transaction ends.
CREATE TABLE notification_actors (
  recipient text COLLATE "C" NOT NULL,
  type smallint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  active boolean NOT NULL,
  muted boolean NOT NULL,
  first_at timestamptz,
  notification_id uuid,
  post_id text COLLATE "C",
  comment_id text COLLATE "C",
  head_text text NOT NULL,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  also_touched uuid,
  PRIMARY KEY (recipient, type, subject, source)
);
CREATE INDEX notification_actors_shown
  ON notification_actors (notification_id, first_at, source) WHERE active AND NOT muted;
CREATE INDEX notification_actors_muted
  ON notification_actors (recipient, type, first_at) WHERE muted;
CREATE INDEX notification_actors_of_comment ON notification_actors (subject) WHERE type = 1;
CREATE INDEX notification_actors_of_mention ON notification_actors (subject) WHERE type = 4;
CREATE INDEX notification_actors_touched
  ON notification_actors (recipient) WHERE also_touched IS NOT NULL;

-- How many active, unmuted contributions a notification of a day's likes, follows or messages has,
-- kept by the triggers below: counting a viral post's likes again with every batch would cost more
-- the more there are.
CREATE TABLE notification_sizes (
  notification_id uuid PRIMARY KEY,
  contributions bigint NOT NULL
) WITH (fillfactor = 70);

-- One row for each notification in which somebody is to be shown: an active, unmuted contribution
-- later than the deletion marks. All columns but the counter are a function of those
-- contributions; the newest (first_at, source) gives actor, post, comment and head.
-- A row whose raised_at is not above its recipient's deletion watermark is garbage until the sweep
-- removes it; nobody reads it: use the view below.
CREATE TABLE notifications (
  notification_id uuid PRIMARY KEY,
  recipient text COLLATE "C" NOT NULL,
  type smallint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  bucket date,
  actor text COLLATE "C" NOT NULL,
  second_actor text COLLATE "C",
  actor_count bigint NOT NULL,
  contribution_count bigint NOT NULL,
  post_id text COLLATE "C",
  comment_id text COLLATE "C",
  head_text text NOT NULL,
  raised_at timestamptz NOT NULL,
  oldest_at timestamptz NOT NULL,
  generation bigint NOT NULL,
  counter bigint NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX notifications_of_recipient
  ON notifications (recipient, raised_at DESC, notification_id DESC);

-- Versions of the snapshots: a rebuilt table's are greater by generation; within it they grow in
-- the order of the recipient's transactions, because they are drawn under the recipient's lock.
-- Drawn numbers are never given out again, so not even a transaction that published and then
-- failed can leave a version behind that a later content would share.
CREATE SEQUENCE notification_counter;
CREATE TABLE notification_generation (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  generation bigint NOT NULL
);
INSERT INTO notification_generation (generation) VALUES (1);

-- What people can see, and whether it is unread.
CREATE VIEW shown_notifications AS
SELECT n.*, n.raised_at > greatest(r.read_all_at, m.read_at) AS unread
FROM notifications n
JOIN notification_recipients r ON r.user_id = n.recipient
LEFT JOIN notification_marks m
  ON m.recipient = n.recipient AND m.notification_id = n.notification_id
WHERE n.raised_at > greatest(r.deleted_all_at, m.deleted_at);

-- Counts move by the rows whose active (or post) really changed: a trigger is told the true old
-- and new rows, whatever else is committed meanwhile.
CREATE FUNCTION count_new_likes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO post_counts AS c (post_id, likes)
  SELECT n.post_id, count(*) FROM inserted n WHERE n.active GROUP BY n.post_id ORDER BY n.post_id
  ON CONFLICT (post_id) DO UPDATE SET likes = c.likes + EXCLUDED.likes;
  RETURN NULL;
END
$$;

CREATE FUNCTION count_changed_likes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO post_counts AS c (post_id, likes)
  SELECT d.post_id, sum(d.delta)
  FROM (
    SELECT post_id, -1 AS delta FROM before WHERE active
    UNION ALL
    SELECT post_id, 1 FROM after WHERE active
  ) d
  GROUP BY d.post_id HAVING sum(d.delta) <> 0 ORDER BY d.post_id
  ON CONFLICT (post_id) DO UPDATE SET likes = c.likes + EXCLUDED.likes;
  RETURN NULL;
END
$$;

CREATE FUNCTION count_new_comments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO post_counts AS c (post_id, comments)
  SELECT n.post_id, count(*) FROM inserted n WHERE n.active GROUP BY n.post_id ORDER BY n.post_id
  ON CONFLICT (post_id) DO UPDATE SET comments = c.comments + EXCLUDED.comments;
  RETURN NULL;
END
$$;

CREATE FUNCTION count_changed_comments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO post_counts AS c (post_id, comments)
  SELECT d.post_id, sum(d.delta)
  FROM (
    SELECT post_id, -1 AS delta FROM before WHERE active
    UNION ALL
    SELECT post_id, 1 FROM after WHERE active
  ) d
  GROUP BY d.post_id HAVING sum(d.delta) <> 0 ORDER BY d.post_id
  ON CONFLICT (post_id) DO UPDATE SET comments = c.comments + EXCLUDED.comments;
  RETURN NULL;
END
$$;

CREATE FUNCTION count_new_contributions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notification_sizes AS s (notification_id, contributions)
  SELECT n.notification_id, count(*)
  FROM inserted n WHERE n.active AND NOT n.muted AND n.type IN (0, 2, 3)
  GROUP BY n.notification_id ORDER BY n.notification_id
  ON CONFLICT (notification_id) DO UPDATE
    SET contributions = s.contributions + EXCLUDED.contributions;
  RETURN NULL;
END
$$;

CREATE FUNCTION count_changed_contributions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notification_sizes AS s (notification_id, contributions)
  SELECT d.notification_id, sum(d.delta)
  FROM (
    SELECT notification_id, -1 AS delta
    FROM before WHERE active AND NOT muted AND type IN (0, 2, 3)
    UNION ALL
    SELECT notification_id, 1 FROM after WHERE active AND NOT muted AND type IN (0, 2, 3)
  ) d
  GROUP BY d.notification_id HAVING sum(d.delta) <> 0 ORDER BY d.notification_id
  ON CONFLICT (notification_id) DO UPDATE
    SET contributions = s.contributions + EXCLUDED.contributions;
  RETURN NULL;
END
$$;

CREATE TRIGGER contributions_inserted AFTER INSERT ON notification_actors
  REFERENCING NEW TABLE AS inserted
  FOR EACH STATEMENT EXECUTE FUNCTION count_new_contributions();
CREATE TRIGGER contributions_updated AFTER UPDATE ON notification_actors
  REFERENCING OLD TABLE AS before NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_contributions();
CREATE TRIGGER likes_inserted AFTER INSERT ON likes
  REFERENCING NEW TABLE AS inserted
  FOR EACH STATEMENT EXECUTE FUNCTION count_new_likes();
CREATE TRIGGER likes_updated AFTER UPDATE ON likes
  REFERENCING OLD TABLE AS before NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_likes();
CREATE TRIGGER comments_inserted AFTER INSERT ON comments
  REFERENCING NEW TABLE AS inserted
  FOR EACH STATEMENT EXECUTE FUNCTION count_new_comments();
CREATE TRIGGER comments_updated AFTER UPDATE ON comments
  REFERENCING OLD TABLE AS before NEW TABLE AS after
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_comments();

-- A post's comments, newest first. `before` is the cursor of the last row already seen.
CREATE FUNCTION comment_page(post_id text, before text, "limit" int)
RETURNS TABLE (comment_id text, actor_id text, text text, created_at timestamptz, cursor text)
LANGUAGE sql STABLE AS $$
  SELECT c.comment_id, c.actor, c.text, c.first_at,
    (extract(epoch FROM c.first_at) * 1000000)::bigint || ':' || c.comment_id
  FROM comments c
  WHERE c.post_id = $1 AND c.active
    AND (c.first_at, c.comment_id) < (
      coalesce(
        '1970-01-01T00:00:00Z'::timestamptz
          + interval '1 microsecond' * nullif(split_part($2, ':', 1), '')::bigint,
        'infinity'),
      coalesce(substr($2, strpos($2, ':') + 1), ''))
  ORDER BY c.first_at DESC, c.comment_id DESC
  LIMIT least(greatest(coalesce($3, 50), 1), 200)
$$;

-- A post's numbers; one row, also for a post that nobody has reacted to.
CREATE FUNCTION post_stats(post_id text)
RETURNS TABLE (likes bigint, comments bigint)
LANGUAGE sql STABLE AS $$
  SELECT coalesce(max(c.likes), 0), coalesce(max(c.comments), 0)
  FROM post_counts c WHERE c.post_id = $1
$$;

-- Every invariant of these tables, for `magpie verify`: one row for each violation, none when all
-- is well. Reads whole tables; one statement, so one snapshot: right also while workers write.
CREATE FUNCTION verify_notifications()
RETURNS TABLE (invariant text, subject text, expected text, found text)
LANGUAGE sql STABLE
SET jit = off
AS $$
  SELECT 'post_counts = active likes and comments', 'post ' || post_id,
    sum(real_likes) || ' likes, ' || sum(real_comments) || ' comments',
    sum(likes) || ' likes, ' || sum(comments) || ' comments'
  FROM (
    SELECT post_id, 0 AS real_likes, 0 AS real_comments, likes, comments FROM post_counts
    UNION ALL
    SELECT post_id, count(*), 0, 0, 0 FROM likes WHERE active GROUP BY post_id
    UNION ALL
    SELECT post_id, 0, count(*), 0, 0 FROM comments WHERE active GROUP BY post_id
  ) sides
  GROUP BY post_id
  HAVING sum(real_likes) <> sum(likes) OR sum(real_comments) <> sum(comments)

  UNION ALL
  SELECT 'shown_notifications = the active, unmuted contributions later than the deletion marks',
    'notification ' || coalesce(e.notification_id, n.notification_id),
    coalesce(e.content::text, 'no row'), coalesce(n.content::text, 'no row')
  FROM (
    SELECT d.notification_id, jsonb_build_array(
        d.recipient, d.type, d.subject, CASE WHEN d.type IN (0, 2, 3)
          THEN (max(d.first_at) AT TIME ZONE 'UTC')::date END,
        (array_agg(d.actor ORDER BY d.first_at DESC, d.source DESC))[1],
        CASE WHEN d.type IN (0, 2)
          THEN (array_agg(d.actor ORDER BY d.first_at DESC, d.source DESC))[2] END,
        count(DISTINCT d.actor), count(*),
        (array_agg(d.post_id ORDER BY d.first_at DESC, d.source DESC))[1],
        (array_agg(d.comment_id ORDER BY d.first_at DESC, d.source DESC))[1],
        (array_agg(d.head_text ORDER BY d.first_at DESC, d.source DESC))[1],
        max(d.first_at), min(d.first_at)) AS content
    FROM (
      SELECT a.* FROM notification_actors a
      JOIN notification_recipients r ON r.user_id = a.recipient
      LEFT JOIN notification_marks m
        ON m.recipient = a.recipient AND m.notification_id = a.notification_id
      WHERE a.active AND NOT notification_muted(a.recipient, a.type, a.first_at)
        AND a.first_at > greatest(r.deleted_all_at, m.deleted_at)
    ) d
    GROUP BY d.notification_id, d.recipient, d.type, d.subject
  ) e
  FULL JOIN (
    SELECT n.notification_id, jsonb_build_array(
        n.recipient, n.type, n.subject, n.bucket, n.actor, n.second_actor, n.actor_count,
        n.contribution_count, n.post_id, n.comment_id, n.head_text, n.raised_at, n.oldest_at
      ) AS content
    FROM shown_notifications n
  ) n ON n.notification_id = e.notification_id
  WHERE e.content IS DISTINCT FROM n.content

  UNION ALL
  SELECT 'a like by somebody else is a contribution', 'post ' || l.post_id || ', actor ' || l.actor,
    CASE WHEN l.active THEN 'active' ELSE 'withdrawn' END,
    CASE WHEN a.active THEN 'active' WHEN NOT a.active THEN 'withdrawn' ELSE 'none' END
  FROM likes l
  LEFT JOIN notification_actors a ON a.recipient = l.post_owner AND a.type = 0
    AND a.subject = l.post_id AND a.source = l.actor
  WHERE l.actor <> l.post_owner AND a.active IS DISTINCT FROM l.active

  UNION ALL
  SELECT 'a comment is a contribution to its owner''s and the mentioned people''s notifications',
    'comment ' || coalesce(e.comment_id, a.comment_id) || ', recipient '
      || coalesce(e.recipient, a.recipient) || ', type ' || coalesce(e.type, a.type),
    coalesce(e.head_text, 'none'), coalesce(a.head_text, 'none')
  FROM (
    SELECT c.post_owner AS recipient, 1 AS type, c.comment_id, left(c.text, 256) AS head_text
    FROM comments c WHERE c.active AND c.post_owner <> c.actor
    UNION ALL
    SELECT m.recipient, 4, c.comment_id, left(c.text, 256)
    FROM comments c CROSS JOIN LATERAL unnest(c.mentions) AS m (recipient)
    WHERE c.active AND m.recipient NOT IN (c.actor, c.post_owner)
  ) e
  FULL JOIN (
    SELECT recipient, type, comment_id, head_text FROM notification_actors
    WHERE active AND comment_id IS NOT NULL
  ) a ON a.recipient = e.recipient AND a.type = e.type AND a.comment_id = e.comment_id
  WHERE e.head_text IS DISTINCT FROM a.head_text

  UNION ALL
  SELECT 'a post''s mentions are contributions',
    'post ' || coalesce(e.post_id, a.post_id) || ', recipient '
      || coalesce(e.recipient, a.recipient),
    coalesce(e.head_text, 'none'), coalesce(a.head_text, 'none')
  FROM (
    SELECT m.recipient, p.post_id, p.head_text
    FROM post_facts p CROSS JOIN LATERAL unnest(p.mentions) AS m (recipient)
    WHERE NOT p.deleted AND m.recipient <> p.author
  ) e
  FULL JOIN (
    SELECT recipient, post_id, head_text FROM notification_actors
    WHERE active AND type = 4 AND comment_id IS NULL
  ) a ON a.recipient = e.recipient AND a.post_id = e.post_id
  WHERE e.head_text IS DISTINCT FROM a.head_text

  UNION ALL
  SELECT 'no contribution has moved unnoticed',
    'recipient ' || recipient || ', type ' || type || ', source ' || source, 'none',
    also_touched::text
  FROM notification_actors WHERE also_touched IS NOT NULL
$$;

GRANT SELECT, INSERT, UPDATE
  ON post_counts, likes, comments, post_facts, notification_recipients, notification_marks,
    notification_actors, notification_sizes
  TO magpie_notification;
GRANT SELECT, INSERT ON notification_mutes TO magpie_notification;
GRANT SELECT, INSERT, UPDATE, DELETE ON notifications TO magpie_notification;
GRANT USAGE ON SEQUENCE notification_counter TO magpie_notification;
GRANT SELECT
  ON post_counts, likes, comments, post_facts, notification_recipients, notification_marks,
    notification_mutes, notification_actors, notification_sizes, notifications,
    notification_generation, shown_notifications
  TO magpie_notification, magpie_alarm, magpie_reader;
