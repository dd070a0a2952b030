-- compatible-from: 9
-- A like is one fact (post, actor), a message is one fact (message id), whomever their events name: the
-- newest event decides who is notified. See docs/decisions/0018.
--
-- Lock order: post_counts, likes or comments or post_facts or message_facts, notification_recipients, each
-- in key order.

-- One row for each message that was ever sent: whom its newest event names.
-- overruled_*: whom the version before named, where that was another pair; of use only to the transaction
-- that writes the row.
CREATE TABLE message_facts (
  message_id text COLLATE "C" PRIMARY KEY,
  receiver text COLLATE "C" NOT NULL,
  sender text COLLATE "C" NOT NULL,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  overruled_receiver text COLLATE "C",
  overruled_sender text COLLATE "C"
);

-- Present while contributions that an older version wrote are still to be checked against likes and
-- message_facts, and how far that is: in the order of their primary key, in pieces, by the worker.
CREATE TABLE contribution_check (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  recipient text COLLATE "C" NOT NULL DEFAULT '',
  type smallint NOT NULL DEFAULT 0,
  subject text COLLATE "C" NOT NULL DEFAULT '',
  source text COLLATE "C" NOT NULL DEFAULT ''
);
INSERT INTO contribution_check (singleton)
SELECT true WHERE EXISTS (SELECT FROM notification_actors);

-- Has the worker check all contributions again. Call it when the last worker of a version without this
-- migration has ended: such a worker notifies everybody whom a like's or a message's events name.
CREATE FUNCTION check_contributions_again() RETURNS void LANGUAGE sql AS $$
  INSERT INTO contribution_check (singleton) VALUES (true)
  ON CONFLICT (singleton) DO UPDATE
    SET recipient = DEFAULT, type = DEFAULT, subject = DEFAULT, source = DEFAULT
$$;
REVOKE EXECUTE ON FUNCTION check_contributions_again() FROM PUBLIC;

-- Whether the newest event of a like or a message is the one that makes the contribution.
-- True for the other types, where the contribution is the fact itself or is derived from it.
CREATE FUNCTION contribution_stands(
  recipient text, type smallint, subject text, source text, version_time timestamptz,
  version_id text)
RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT CASE $2
    WHEN 0 THEN EXISTS (
      SELECT FROM likes l
      WHERE l.post_id = $3 AND l.actor = $4 AND l.active AND l.post_owner = $1
        AND l.version_time = $5 AND l.version_id = $6)
    WHEN 3 THEN EXISTS (
      SELECT FROM message_facts f
      WHERE f.message_id = $4 AND f.receiver = $1 AND f.sender = $3
        AND f.version_time = $5 AND f.version_id = $6)
    ELSE true
  END
$$;

GRANT SELECT, INSERT, UPDATE ON message_facts TO magpie_notification;
GRANT SELECT, UPDATE, DELETE ON contribution_check TO magpie_notification;
GRANT SELECT ON message_facts, contribution_check TO magpie_notification, magpie_alarm, magpie_reader;

-- Every invariant of these tables, for `magpie verify`: one row for each violation, none when all
-- is well. Reads whole tables; one statement, so one snapshot: right also while workers write.
CREATE OR REPLACE FUNCTION verify_notifications()
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
  SELECT 'a like or a message notifies whom its newest event names',
    'recipient ' || a.recipient || ', type ' || a.type || ', subject ' || a.subject || ', source '
      || a.source,
    'withdrawn', 'active'
  FROM notification_actors a
  WHERE a.active AND a.type IN (0, 3)
    AND NOT contribution_stands(
      a.recipient, a.type, a.subject, a.source, a.version_time, a.version_id)
    -- What an older version wrote is still being mended.
    AND NOT EXISTS (SELECT FROM contribution_check)

  UNION ALL
  SELECT 'a message to somebody else is a contribution', 'message ' || f.message_id, 'active',
    CASE WHEN a.recipient IS NULL THEN 'none' ELSE 'withdrawn' END
  FROM message_facts f
  LEFT JOIN notification_actors a ON a.recipient = f.receiver AND a.type = 3
    AND a.subject = f.sender AND a.source = f.message_id
  WHERE f.receiver <> f.sender AND a.active IS NOT TRUE

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
