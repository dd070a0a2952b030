-- compatible-from: 9
-- How notification-worker forgets people, and what readers see meanwhile: see docs/decisions/0040. The indexes are
-- built here, and block writes to their tables meanwhile.

-- What a sweep finds by no other index: what people subscribed to, whose messages they read, whom they muted or no
-- longer block, and facts that are no contribution to anybody's notifications.
CREATE INDEX author_subscriptions_of_subscriber ON author_subscriptions (subscriber);
CREATE INDEX conversation_reads_of_peer ON conversation_reads (peer_id);
CREATE INDEX notification_silences_of_person ON notification_silences (value)
  WHERE scope = 'actor' OR scope = 'subject' AND type = 3;
CREATE INDEX person_blocks_ended ON person_blocks (blocked) WHERE NOT active;
CREATE INDEX notification_actors_without_actor ON notification_actors (source) WHERE actor IS NULL;
CREATE INDEX likes_of_own_post ON likes (actor) WHERE actor = post_owner;
CREATE INDEX comments_of_actor ON comments (actor, post_id);
CREATE INDEX comments_never_made ON comments (post_owner) WHERE first_at IS NULL;
CREATE INDEX post_facts_never_published ON post_facts (author) WHERE first_at IS NULL;
CREATE INDEX message_facts_to_oneself ON message_facts (sender) WHERE sender = receiver;
CREATE INDEX message_facts_overruled_receiver ON message_facts (overruled_receiver)
  WHERE overruled_receiver IS NOT NULL;
CREATE INDEX message_facts_overruled_sender ON message_facts (overruled_sender) WHERE overruled_sender IS NOT NULL;
CREATE INDEX notification_scoped_reviews_of_value ON notification_scoped_reviews (value);

-- When an alarm that was raised was caused, if that was before its event: a reminder rings later than it was set.
-- NULL in what a worker of an older version wrote, too.
ALTER TABLE notification_actors ADD COLUMN caused_at timestamptz;

-- For post_as_seen, as in migration 0021.
GRANT SELECT ON post_facts TO magpie_fanout;
GRANT DELETE
  ON post_counts, likes, comments, post_facts, message_facts, notification_recipients, notification_marks,
    notification_mutes, notification_silences, person_blocks, notification_sizes, conversation_reads,
    author_subscriptions
  TO magpie_notification;

-- Counts follow deleted rows, too. Their rows are locked.
CREATE FUNCTION count_deleted_likes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE post_counts c SET likes = c.likes - d.deleted
  FROM (SELECT b.post_id, count(*) AS deleted FROM before b WHERE b.active GROUP BY b.post_id) d
  WHERE c.post_id = d.post_id;
  RETURN NULL;
END
$$;

CREATE FUNCTION count_deleted_comments() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE post_counts c SET comments = c.comments - d.deleted
  FROM (SELECT b.post_id, count(*) AS deleted FROM before b WHERE b.active GROUP BY b.post_id) d
  WHERE c.post_id = d.post_id;
  RETURN NULL;
END
$$;

CREATE FUNCTION count_deleted_contributions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE notification_sizes s SET contributions = s.contributions - d.deleted, others = s.others - d.others
  FROM (
    SELECT b.notification_id, count(*) AS deleted,
      count(*) FILTER (WHERE b.actor IS DISTINCT FROM b.source AND b.type <> 3) AS others
    FROM before b WHERE b.active AND NOT b.muted AND is_grouped(b.grouped, b.type)
    GROUP BY b.notification_id
  ) d
  WHERE s.notification_id = d.notification_id;
  RETURN NULL;
END
$$;

CREATE TRIGGER likes_deleted AFTER DELETE ON likes
  REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_likes();
CREATE TRIGGER comments_deleted AFTER DELETE ON comments
  REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_comments();
CREATE TRIGGER contributions_deleted AFTER DELETE ON notification_actors
  REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_contributions();

-- The people who are being erased. The planner assumes a few: see reviewed_people.
CREATE FUNCTION erasing_people() RETURNS TABLE (user_id text)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT e.user_id FROM erasures e WHERE e.user_id IS NOT NULL;
END
$$;

-- Somebody who is being erased is like a review of that actor for each recipient: notifications to which they
-- contributed are computed without them, and all others are read from their rows. They are shown none of their own.
-- (has_silences is true while anybody is being erased: see has_blocks.)
DO $do$
DECLARE
  view text := pg_get_viewdef('reviewed_notifications'::regclass);
  change record;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      (1, 'reviewed_people() p(recipient)',
        '(
          SELECT v.recipient FROM reviewed_people() v
          UNION
          SELECT a.recipient FROM erasing_people() e JOIN notification_actors a ON a.actor = e.user_id
        ) p(recipient)'),
      (1, '( SELECT n_1.notification_id',
        '(
          SELECT a.notification_id FROM erasing_people() e
          JOIN notification_actors a ON a.actor = e.user_id AND a.recipient = p.recipient
          WHERE a.type = k.type AND a.notification_id IS NOT NULL
          UNION
          SELECT n_1.notification_id'),
      (3, 'contribution_silenced(p.recipient, k.type, a.subject, a.actor, a.first_at)',
        '(contribution_silenced(p.recipient, k.type, a.subject, a.actor, a.first_at) OR is_erasing(a.actor))')
    ) AS c (times, was, becomes)
  LOOP
    IF cardinality(string_to_array(view, change.was)) <> change.times + 1 THEN
      RAISE EXCEPTION 'reviewed_notifications does not contain % as expected', change.was;
    END IF;
    view := replace(view, change.was, change.becomes);
  END LOOP;
  EXECUTE 'CREATE OR REPLACE VIEW reviewed_notifications AS SELECT * FROM (' || rtrim(view, ';') || ') n
    WHERE NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = n.recipient OFFSET 0)';
END
$do$;

CREATE OR REPLACE VIEW shown_notifications AS
SELECT s.*
FROM settled_notifications s
WHERE NOT EXISTS (
    SELECT FROM notification_reviews v
    WHERE v.recipient = s.recipient AND v.type = s.type
      AND s.raised_at >= v.from_day AND s.raised_at < v.to_day AND s.subject >= v.subject)
  AND NOT EXISTS (
    SELECT FROM notification_scoped_reviews v
    WHERE v.recipient = s.recipient AND v.scope = 'subject' AND v.type = s.type
      AND v.value = s.subject)
  AND NOT EXISTS (
    SELECT FROM notification_scoped_reviews v
    JOIN notification_actors a ON a.actor = v.value AND a.recipient = v.recipient
    WHERE v.recipient = s.recipient AND v.scope = 'actor' AND a.recipient = s.recipient
      AND a.notification_id = s.notification_id AND s.notification_id >= v.notification_id
    -- OFFSET, so that it is a look-up for each notification and never a join.
    OFFSET 0)
  AND NOT EXISTS (
    SELECT FROM erasures e
    WHERE e.user_id IS NOT NULL
      AND (e.user_id = s.recipient OR EXISTS (
        SELECT FROM notification_actors a
        WHERE a.actor = e.user_id AND a.recipient = s.recipient AND a.notification_id = s.notification_id
        OFFSET 0))
    OFFSET 0)
UNION ALL
SELECT * FROM reviewed_notifications;

-- As in migration 0015. An alarm that names somebody who is being erased is left out until it is rendered again.
CREATE OR REPLACE VIEW shown_alarms AS
SELECT n.notification_id, n.recipient, n.raised_at, n.unread, a.type, a.actor, a.second_actor, a.actor_count,
  a.contribution_count, n.post_id, n.comment_id, a.locale, a.text, a.segments, a.spans, a.legacy_message,
  a.legacy_head_text, a.legacy_from_nick_name, a.deep_link, a.badge_icon, a.highlight_style, n.unseen,
  a.image_url AS thumbnail, a.arguments ->> 'station' AS station
FROM shown_notifications n
JOIN alarms a ON a.notification_id = n.notification_id AND NOT a.retracted
WHERE NOT EXISTS (SELECT FROM erasures e WHERE e.user_id IN (a.actor, a.second_actor) OFFSET 0);

-- Whether shown_notifications and shown_alarms may differ from what is settled: contributions to the person's
-- notifications are under review, or somebody is being erased, whose name others' alarms may contain.
CREATE OR REPLACE FUNCTION has_reviews(user_id text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM notification_reviews v WHERE v.recipient = $1)
    OR EXISTS (SELECT FROM notification_scoped_reviews v WHERE v.recipient = $1)
    OR EXISTS (SELECT FROM erasures e WHERE e.user_id IS NOT NULL);
END
$$;

-- Whether the post is of somebody who is being erased, as far as its author is known here. Pages of such a post are
-- empty, and its numbers are 0.
CREATE FUNCTION post_is_erasing(post_id text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN is_erasing(coalesce(
    (SELECT f.author FROM post_facts f WHERE f.post_id = $1),
    (SELECT l.post_owner FROM likes l WHERE l.post_id = $1 AND l.active ORDER BY l.first_at, l.actor LIMIT 1),
    (
      SELECT c.post_owner FROM comments c WHERE c.post_id = $1 AND c.active
      ORDER BY c.first_at, c.comment_id LIMIT 1
    )));
END
$$;

-- The likes and comments of a post that pages leave out because somebody is being erased, of those in post_counts.
CREATE FUNCTION erasing_counts(post_id text) RETURNS TABLE (likes bigint, comments bigint)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
#variable_conflict use_column
BEGIN
  IF post_is_erasing($1) THEN
    RETURN QUERY SELECT c.likes, c.comments FROM post_counts c WHERE c.post_id = $1;
  ELSE
    RETURN QUERY SELECT
      (
        SELECT count(*) FROM erasing_people() e
        JOIN likes l ON l.post_id = $1 AND l.actor = e.user_id AND l.active
      ),
      (
        SELECT count(*) FROM erasing_people() e
        JOIN comments c ON c.actor = e.user_id AND c.post_id = $1 AND c.active
      );
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION post_stats(post_id text) RETURNS TABLE (likes bigint, comments bigint)
LANGUAGE sql STABLE AS $$
  SELECT coalesce(max(c.likes), 0) - coalesce(max(e.likes), 0),
    coalesce(max(c.comments), 0) - coalesce(max(e.comments), 0)
  FROM post_counts c
  LEFT JOIN LATERAL (
    SELECT * FROM erasing_counts($1) WHERE EXISTS (SELECT FROM erasures u WHERE u.user_id IS NOT NULL)
  ) e ON true
  WHERE c.post_id = $1
$$;

-- What changes in other functions: each text, as often as it must be there, and what replaces it.
DO $do$
DECLARE
  change record;
  old text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      ('alarm_people(text, uuid, text, int)', 2,
        'contribution_muted($1, shown.type, shown.subject, c.actor, c.first_at)',
        '(contribution_muted($1, shown.type, shown.subject, c.actor, c.first_at) OR is_erasing(c.actor))'),
      ('comment_page(text, text, text, int)', 1, E'BEGIN\n',
        E'BEGIN\n  IF hides AND post_is_erasing($2) THEN RETURN; END IF;\n'),
      ('likers_page(text, text, text, int)', 1, E'BEGIN\n',
        E'BEGIN\n  IF hides AND post_is_erasing($2) THEN RETURN; END IF;\n'),
      ('post_as_seen(text, bigint, text, bigint, text, text, text, timestamptz, timestamptz)', 1,
        'LEFT JOIN post_counts c ON c.post_id = $3',
        'LEFT JOIN post_counts c ON c.post_id = $3
  LEFT JOIN LATERAL (
    SELECT * FROM erasing_counts($3) WHERE EXISTS (SELECT FROM erasures u WHERE u.user_id IS NOT NULL)
  ) g ON true'),
      ('post_as_seen(text, bigint, text, bigint, text, text, text, timestamptz, timestamptz)', 1,
        'coalesce(c.likes, 0), coalesce(c.comments, 0)',
        'coalesce(c.likes, 0) - coalesce(g.likes, 0), coalesce(c.comments, 0) - coalesce(g.comments, 0)'),
      ('post_as_seen(text, bigint, text, bigint, text, text, text, timestamptz, timestamptz)', 1,
        'l.actor = $1 AND l.active)', 'l.actor = $1 AND l.active AND NOT is_erasing($1))'),
      ('verify_notifications()', 1,
        'AND NOT contribution_muted(a.recipient, a.type, a.subject, a.actor, a.first_at)',
        'AND NOT contribution_muted(a.recipient, a.type, a.subject, a.actor, a.first_at)
        AND NOT EXISTS (SELECT FROM erasures u WHERE u.user_id IN (a.recipient, a.actor))'),
      ('verify_subscriptions()', 1, 'WHERE e.content IS DISTINCT FROM a.content',
        'WHERE e.content IS DISTINCT FROM a.content
    AND NOT EXISTS (
      SELECT FROM erasures u
      WHERE u.user_id IN (coalesce(e.recipient, a.recipient), coalesce(e.content, a.content) ->> 0))')
    ) AS c (routine, times, was, becomes)
  LOOP
    old := pg_get_functiondef(change.routine::regprocedure);
    IF cardinality(string_to_array(old, change.was)) <> change.times + 1 THEN
      RAISE EXCEPTION '% does not contain % as expected', change.routine, change.was;
    END IF;
    EXECUTE replace(old, change.was, change.becomes);
  END LOOP;
END
$do$;
