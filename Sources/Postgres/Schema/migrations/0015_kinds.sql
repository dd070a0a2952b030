-- compatible-from: 9
-- Kinds of alarms are data: any number from 0 to 999 is a type, and a contribution says itself whether its
-- notification combines a day. See docs/decisions/0028. An alarm-worker of an older version cannot render
-- what alarm.raised events cause: replace it before the first of them is published.

-- grouped: NULL for the kinds that events of their own raise (0 to 5), of which likes, follows and
-- messages are. actor: NULL if nobody acted. arguments, image_url: of kinds raised by alarm.raised.
ALTER TABLE notification_actors
  ALTER COLUMN actor DROP NOT NULL,
  ADD COLUMN grouped boolean,
  ADD COLUMN image_url text,
  ADD COLUMN arguments jsonb;

CREATE FUNCTION is_grouped(grouped boolean, type smallint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce($1, $2 IN (0, 2, 3))
$$;

-- others: how many of the contributions have a source that is not their actor. If none has, every
-- contribution is another person, and people need not be counted.
ALTER TABLE notification_sizes ADD COLUMN others bigint NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION count_new_contributions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notification_sizes AS s (notification_id, contributions, others)
  SELECT n.notification_id, count(*),
    count(*) FILTER (WHERE n.actor IS DISTINCT FROM n.source AND n.type <> 3)
  FROM inserted n WHERE n.active AND NOT n.muted AND is_grouped(n.grouped, n.type)
  GROUP BY n.notification_id ORDER BY n.notification_id
  ON CONFLICT (notification_id) DO UPDATE SET
    contributions = s.contributions + EXCLUDED.contributions, others = s.others + EXCLUDED.others;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION count_changed_contributions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notification_sizes AS s (notification_id, contributions, others)
  SELECT d.notification_id, sum(d.delta), coalesce(sum(d.delta) FILTER (WHERE d.is_other), 0)
  FROM (
    SELECT notification_id, -1 AS delta, actor IS DISTINCT FROM source AND type <> 3 AS is_other
    FROM before WHERE active AND NOT muted AND is_grouped(grouped, type)
    UNION ALL
    SELECT notification_id, 1, actor IS DISTINCT FROM source AND type <> 3
    FROM after WHERE active AND NOT muted AND is_grouped(grouped, type)
  ) d
  GROUP BY d.notification_id
  HAVING sum(d.delta) <> 0 OR sum(d.delta) FILTER (WHERE d.is_other) <> 0
  ORDER BY d.notification_id
  ON CONFLICT (notification_id) DO UPDATE SET
    contributions = s.contributions + EXCLUDED.contributions,
    others = s.others + EXCLUDED.others;
  RETURN NULL;
END
$$;

-- source, image_url, arguments: of the newest contribution, for kinds raised by alarm.raised. actor_count: the
-- people among the newest 1000 contributions; 0 if the newest has no actor.
ALTER TABLE notifications
  ALTER COLUMN actor DROP NOT NULL,
  ADD COLUMN source text COLLATE "C",
  ADD COLUMN image_url text,
  ADD COLUMN arguments jsonb;

-- Everything raised up to here has been in front of the person: it is not on the badge any more, but
-- unread until it is opened.
ALTER TABLE notification_recipients
  ADD COLUMN seen_all_at timestamptz NOT NULL DEFAULT '-infinity';

ALTER TABLE alarms
  ALTER COLUMN actor DROP NOT NULL,
  ADD COLUMN image_url text,
  ADD COLUMN arguments jsonb,
  DROP CONSTRAINT alarms_check,
  ADD CONSTRAINT alarms_check CHECK (
    num_nulls(
      type, actor_count, contribution_count, head_text, raised_at, locale, text, segments, spans,
      legacy_message, legacy_head_text, legacy_from_nick_name
    ) = CASE WHEN retracted THEN 12 ELSE 0 END) NOT VALID;

-- The views of migration 0013 with the new columns last.
CREATE OR REPLACE VIEW settled_notifications AS
SELECT n.notification_id, n.recipient, n.type, n.subject, n.bucket, n.actor, n.second_actor,
  n.actor_count, n.contribution_count, n.post_id, n.comment_id, n.head_text, n.raised_at, n.oldest_at,
  n.generation, n.counter, n.raised_at > greatest(r.read_all_at, m.read_at) AS unread,
  n.source, n.image_url, n.arguments,
  n.raised_at > greatest(r.read_all_at, m.read_at, r.seen_all_at) AS unseen
FROM notifications n
JOIN notification_recipients r ON r.user_id = n.recipient
LEFT JOIN notification_marks m
  ON m.recipient = n.recipient AND m.notification_id = n.notification_id
WHERE n.raised_at > greatest(r.deleted_all_at, m.deleted_at);

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
  ) a
  GROUP BY a.recipient, a.type, a.notification_id, a.subject
) c
LEFT JOIN notifications n ON n.notification_id = c.notification_id;

CREATE OR REPLACE VIEW shown_notifications AS
SELECT s.*
FROM settled_notifications s
WHERE NOT EXISTS (
  SELECT FROM notification_reviews v
  WHERE v.recipient = s.recipient AND v.type = s.type
    AND s.raised_at >= v.from_day AND s.raised_at < v.to_day)
UNION ALL
SELECT * FROM reviewed_notifications;

-- thumbnail: the image that alarm.raised names. station: the argument of that name, a channel's name.
CREATE OR REPLACE VIEW settled_alarms AS
SELECT n.notification_id, n.recipient, n.raised_at, n.unread, a.type, a.actor, a.second_actor,
  a.actor_count, a.contribution_count, n.post_id, n.comment_id, a.locale, a.text, a.segments,
  a.spans, a.legacy_message, a.legacy_head_text, a.legacy_from_nick_name, a.deep_link,
  a.badge_icon, a.highlight_style, n.unseen, a.image_url AS thumbnail,
  a.arguments ->> 'station' AS station
FROM settled_notifications n
JOIN alarms a ON a.notification_id = n.notification_id AND NOT a.retracted;

CREATE OR REPLACE VIEW shown_alarms AS
SELECT n.notification_id, n.recipient, n.raised_at, n.unread, a.type, a.actor, a.second_actor,
  a.actor_count, a.contribution_count, n.post_id, n.comment_id, a.locale, a.text, a.segments,
  a.spans, a.legacy_message, a.legacy_head_text, a.legacy_from_nick_name, a.deep_link,
  a.badge_icon, a.highlight_style, n.unseen, a.image_url AS thumbnail,
  a.arguments ->> 'station' AS station
FROM shown_notifications n
JOIN alarms a ON a.notification_id = n.notification_id AND NOT a.retracted;

-- The code of a kind, such as F06.
CREATE FUNCTION kind_code(type smallint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT 'F' || CASE WHEN $1 < 10 THEN '0' ELSE '' END || $1
$$;

-- As in migration 0013, with three more columns: the kind's code, the station, unseen. The image is the
-- alarm's own, else the post's, else the actor's; empty if there is none. actor_id is empty if nobody acted.
DROP FUNCTION alarm_page(text, text, int);
CREATE FUNCTION alarm_page(user_id text, before text, "limit" int)
RETURNS TABLE (
  notification_id uuid, type smallint, unread boolean, text text, segments jsonb, spans jsonb,
  legacy_message text, legacy_head_text text, legacy_from_nick_name text, deep_link text,
  badge_icon text, highlight_style text, locale text, image_url text, actor_id text,
  actor_image_url text, actor_count bigint, raised_at timestamptz, cursor text, kind text,
  station text, unseen boolean
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
  IF EXISTS (SELECT FROM notification_reviews v WHERE v.recipient = $1) THEN
    RETURN QUERY
    SELECT a.notification_id, a.type, a.unread, a.text, a.segments, a.spans, a.legacy_message,
      a.legacy_head_text, a.legacy_from_nick_name, a.deep_link, a.badge_icon, a.highlight_style,
      a.locale,
      coalesce(nullif(a.thumbnail, ''), nullif(f.image_url, ''), p.image_url, ''),
      coalesce(a.actor, ''),
      coalesce(p.image_url, ''), a.actor_count, a.raised_at,
      (extract(epoch FROM a.raised_at) * 1000000)::bigint || ':' || a.notification_id,
      kind_code(a.type), coalesce(a.station, ''), a.unseen
    FROM shown_alarms a
    LEFT JOIN profiles p ON p.user_id = a.actor
    LEFT JOIN post_facts f ON f.post_id = a.post_id AND NOT f.deleted
    WHERE a.recipient = $1
      -- The view says so too; here it is where the index stops.
      AND a.raised_at > deleted_all
      AND (a.raised_at, a.notification_id) < (before_time, before_id)
    ORDER BY a.raised_at DESC, a.notification_id DESC
    LIMIT least(greatest(coalesce($3, 50), 1), 200);
  ELSE
    RETURN QUERY
    SELECT a.notification_id, a.type, a.unread, a.text, a.segments, a.spans, a.legacy_message,
      a.legacy_head_text, a.legacy_from_nick_name, a.deep_link, a.badge_icon, a.highlight_style,
      a.locale,
      coalesce(nullif(a.thumbnail, ''), nullif(f.image_url, ''), p.image_url, ''),
      coalesce(a.actor, ''),
      coalesce(p.image_url, ''), a.actor_count, a.raised_at,
      (extract(epoch FROM a.raised_at) * 1000000)::bigint || ':' || a.notification_id,
      kind_code(a.type), coalesce(a.station, ''), a.unseen
    FROM settled_alarms a
    LEFT JOIN profiles p ON p.user_id = a.actor
    LEFT JOIN post_facts f ON f.post_id = a.post_id AND NOT f.deleted
    WHERE a.recipient = $1
      -- The view says so too; here it is where the index stops.
      AND a.raised_at > deleted_all
      AND (a.raised_at, a.notification_id) < (before_time, before_id)
    ORDER BY a.raised_at DESC, a.notification_id DESC
    LIMIT least(greatest(coalesce($3, 50), 1), 200);
  END IF;
END
$$;

-- The number on the app's icon: the alarms that are neither read nor seen.
CREATE FUNCTION badge(user_id text) RETURNS bigint
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_bitmapscan = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET max_parallel_workers_per_gather = 0
SET jit = off
AS $$
DECLARE
  seen_all CONSTANT timestamptz := (
    SELECT greatest(r.deleted_all_at, r.read_all_at, r.seen_all_at)
    FROM notification_recipients r WHERE r.user_id = $1);
BEGIN
  IF EXISTS (SELECT FROM notification_reviews v WHERE v.recipient = $1) THEN
    RETURN (
      SELECT count(*) FROM shown_alarms a
      WHERE a.recipient = $1 AND a.unseen AND a.raised_at > seen_all);
  ELSE
    RETURN (
      SELECT count(*) FROM settled_alarms a
      WHERE a.recipient = $1 AND a.unseen AND a.raised_at > seen_all);
  END IF;
END
$$;

-- Whether the badge is above zero.
CREATE FUNCTION has_unseen(user_id text) RETURNS boolean
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_bitmapscan = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET max_parallel_workers_per_gather = 0
SET jit = off
AS $$
DECLARE
  seen_all CONSTANT timestamptz := (
    SELECT greatest(r.deleted_all_at, r.read_all_at, r.seen_all_at)
    FROM notification_recipients r WHERE r.user_id = $1);
BEGIN
  IF EXISTS (SELECT FROM notification_reviews v WHERE v.recipient = $1) THEN
    RETURN EXISTS (
      SELECT FROM shown_alarms a
      WHERE a.recipient = $1 AND a.unseen AND a.raised_at > seen_all);
  ELSE
    RETURN EXISTS (
      SELECT FROM settled_alarms a
      WHERE a.recipient = $1 AND a.unseen AND a.raised_at > seen_all);
  END IF;
END
$$;

-- take_alarms_to_render of migration 0004 with arguments, for alarms with and without an actor. Workers of an
-- older version still call the other.
CREATE FUNCTION take_pending_renders("limit" int)
RETURNS TABLE (
  notification_id uuid, type smallint, actor text, second_actor text, actor_count bigint,
  contribution_count bigint, head_text text, arguments jsonb, recipient_locale text,
  actor_nickname text, second_actor_nickname text
)
LANGUAGE plpgsql
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
  people text[];
  parts text[];
  share int;
  ids uuid[];
BEGIN
  SELECT array_agg(t.user_id), array_agg(t.part) INTO people, parts
  FROM (
    SELECT user_id, part FROM pending_renders ORDER BY turn LIMIT 100 FOR UPDATE SKIP LOCKED
  ) t;
  IF people IS NULL THEN
    RETURN;
  END IF;
  share := greatest($1 / cardinality(people), 1);

  WITH found AS MATERIALIZED (
    SELECT p.user_id, p.part, f.raised_at, f.id
    FROM unnest(people, parts) AS t (user_id, part)
    JOIN pending_renders p ON p.user_id = t.user_id AND p.part = t.part
    CROSS JOIN LATERAL (
      (
        SELECT a.raised_at, a.notification_id FROM alarms a
        WHERE p.part = 'actor' AND a.actor = p.user_id AND NOT a.retracted
          AND (a.raised_at, a.notification_id) < (p.below_time, p.below_id)
        ORDER BY a.raised_at DESC, a.notification_id DESC LIMIT share
      )
      UNION ALL
      (
        SELECT a.raised_at, a.notification_id FROM alarms a
        WHERE p.part = 'second_actor' AND a.second_actor = p.user_id AND NOT a.retracted
          AND (a.raised_at, a.notification_id) < (p.below_time, p.below_id)
        ORDER BY a.raised_at DESC, a.notification_id DESC LIMIT share
      )
      UNION ALL
      (
        SELECT a.raised_at, a.notification_id FROM alarms a
        WHERE p.part = 'recipient' AND a.recipient = p.user_id AND NOT a.retracted
          AND (a.raised_at, a.notification_id) < (p.below_time, p.below_id)
        ORDER BY a.raised_at DESC, a.notification_id DESC LIMIT share
      )
    ) AS f (raised_at, id)
  ), unfinished AS (
    -- A finished row is deleted; an unfinished one goes to the end of the queue.
    UPDATE pending_renders p
    SET below_time = last.raised_at, below_id = last.id, turn = DEFAULT
    FROM (
      SELECT DISTINCT ON (f.user_id, f.part) f.user_id, f.part, f.raised_at, f.id,
        count(*) OVER (PARTITION BY f.user_id, f.part) AS found
      FROM found f ORDER BY f.user_id, f.part, f.raised_at, f.id
    ) AS last
    WHERE last.user_id = p.user_id AND last.part = p.part AND last.found = share
    RETURNING p.user_id, p.part
  ), finished AS (
    DELETE FROM pending_renders p USING unnest(people, parts) AS t (user_id, part)
    WHERE p.user_id = t.user_id AND p.part = t.part
      AND NOT EXISTS (SELECT FROM unfinished u WHERE u.user_id = p.user_id AND u.part = p.part)
  )
  SELECT array_agg(DISTINCT f.id) INTO ids FROM found f;

  PERFORM FROM alarms a WHERE a.notification_id = ANY (ids) ORDER BY a.notification_id FOR UPDATE;

  RETURN QUERY
  SELECT a.notification_id, a.type, a.actor, a.second_actor, a.actor_count, a.contribution_count,
    a.head_text, a.arguments, r.locale, p.nickname, s.nickname
  FROM alarms a
  JOIN profiles r ON r.user_id = a.recipient
  LEFT JOIN profiles p ON p.user_id = a.actor
  LEFT JOIN profiles s ON s.user_id = a.second_actor
  WHERE a.notification_id = ANY (ids) AND NOT a.retracted;
END
$$;

-- As in migration 0011, with what is new of notifications.
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
        d.recipient, d.type, d.subject,
        CASE WHEN bool_or(d.grouped) THEN (max(d.first_at) AT TIME ZONE 'UTC')::date END,
        max(d.actor) FILTER (WHERE d.rank = 1),
        (array_agg(d.actor ORDER BY d.rank)
          FILTER (WHERE d.rank <= 1000 AND d.grouped AND d.type <> 3 AND d.actor <> d.newest_actor))[1],
        CASE
          WHEN max(d.actor) FILTER (WHERE d.rank = 1) IS NULL THEN 0
          WHEN bool_and(d.actor IS NOT DISTINCT FROM d.source) THEN count(*)
          ELSE count(DISTINCT d.actor) FILTER (WHERE d.rank <= 1000)
        END,
        count(*), max(d.post_id) FILTER (WHERE d.rank = 1),
        max(d.comment_id) FILTER (WHERE d.rank = 1), max(d.head_text) FILTER (WHERE d.rank = 1),
        max(d.first_at), min(d.first_at), max(d.raised_source) FILTER (WHERE d.rank = 1),
        max(d.image_url) FILTER (WHERE d.rank = 1),
        (array_agg(d.arguments) FILTER (WHERE d.rank = 1))[1]) AS content
    FROM (
      SELECT a.notification_id, a.recipient, a.type, a.subject, a.source, a.actor, a.post_id,
        a.comment_id, a.head_text, a.first_at, a.image_url, a.arguments,
        is_grouped(a.grouped, a.type) AS grouped,
        CASE WHEN a.grouped IS NOT NULL THEN a.source END AS raised_source,
        row_number() OVER newest_first AS rank, first_value(a.actor) OVER newest_first AS newest_actor
      FROM notification_actors a
      JOIN notification_recipients r ON r.user_id = a.recipient
      LEFT JOIN notification_marks m
        ON m.recipient = a.recipient AND m.notification_id = a.notification_id
      WHERE a.active AND NOT notification_muted(a.recipient, a.type, a.first_at)
        AND a.first_at > greatest(r.deleted_all_at, m.deleted_at)
      WINDOW newest_first AS (
        PARTITION BY a.notification_id ORDER BY a.first_at DESC, a.source DESC)
    ) d
    GROUP BY d.notification_id, d.recipient, d.type, d.subject
  ) e
  FULL JOIN (
    SELECT n.notification_id, jsonb_build_array(
        n.recipient, n.type, n.subject, n.bucket, n.actor, n.second_actor, n.actor_count,
        n.contribution_count, n.post_id, n.comment_id, n.head_text, n.raised_at, n.oldest_at,
        n.source, n.image_url, n.arguments) AS content
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

-- As in migration 0004, with what is new of alarms.
CREATE OR REPLACE FUNCTION verify_alarms()
RETURNS TABLE (invariant text, subject text, expected text, found text)
LANGUAGE sql STABLE AS $$
  SELECT 'every shown notification has an alarm with the same content',
    n.notification_id::text, n.content::text, coalesce(a.content::text, 'no alarm')
  FROM (
    SELECT n.notification_id, n.generation, n.counter,
      jsonb_build_array(
        n.recipient, n.type, n.actor, n.second_actor, n.actor_count, n.contribution_count,
        n.post_id, n.comment_id, n.head_text, n.raised_at, coalesce(n.image_url, ''),
        coalesce(n.arguments, '{}')) AS content
    FROM shown_notifications n
  ) n
  LEFT JOIN (
    SELECT a.notification_id, a.generation, a.counter,
      jsonb_build_array(
        a.recipient, a.type, a.actor, a.second_actor, a.actor_count, a.contribution_count,
        a.post_id, a.comment_id, a.head_text, a.raised_at, coalesce(a.image_url, ''),
        coalesce(a.arguments, '{}')) AS content
    FROM alarms a WHERE NOT a.retracted
  ) a ON a.notification_id = n.notification_id
  WHERE a.content IS DISTINCT FROM n.content
    OR (a.generation, a.counter) < (n.generation, n.counter)
  UNION ALL
  SELECT 'every alarm above its recipient''s deletion marks has a notification',
    a.notification_id::text, 'a notification', 'none'
  FROM alarms a
  LEFT JOIN notification_recipients r ON r.user_id = a.recipient
  LEFT JOIN notification_marks m
    ON m.recipient = a.recipient AND m.notification_id = a.notification_id
  WHERE NOT a.retracted
    AND a.raised_at > greatest(r.deleted_all_at, m.deleted_at, '-infinity')
    AND NOT EXISTS (SELECT FROM notifications n WHERE n.notification_id = a.notification_id)
  UNION ALL
  SELECT 'an alarm''s text is its segments joined', a.notification_id::text, j.joined, a.text
  FROM alarms a
  CROSS JOIN LATERAL (
    SELECT string_agg(s.segment ->> 'text', '' ORDER BY s.position) AS joined
    FROM jsonb_array_elements(a.segments) WITH ORDINALITY AS s (segment, position)
  ) j
  WHERE NOT a.retracted AND j.joined IS DISTINCT FROM a.text
  UNION ALL
  SELECT 'an alarm highlights nobody but its actors', a.notification_id::text,
    concat_ws(', ', a.actor, a.second_actor), s.span ->> 'actor'
  FROM alarms a
  CROSS JOIN LATERAL jsonb_array_elements(a.spans) AS s (span)
  WHERE NOT a.retracted AND s.span ->> 'actor' NOT IN (coalesce(a.actor, ''), coalesce(a.second_actor, ''))
  UNION ALL
  SELECT 'unread_count and badge are the numbers of unread and of unseen rows of alarm_page', u.recipient,
    u.unread || ' and ' || u.unseen, unread_count(u.recipient) || ' and ' || badge(u.recipient)
  FROM (
    SELECT s.recipient, count(*) FILTER (WHERE p.unread) AS unread,
      count(*) FILTER (WHERE p.unseen) AS unseen
    FROM (
      SELECT a.recipient FROM shown_alarms a GROUP BY a.recipient HAVING count(*) <= 200
    ) s
    CROSS JOIN LATERAL alarm_page(s.recipient, NULL, 200) p
    GROUP BY s.recipient
  ) u
  WHERE u.unread <> unread_count(u.recipient) OR (u.unread > 0) <> has_unread(u.recipient)
    OR u.unseen <> badge(u.recipient) OR (u.unseen > 0) <> has_unseen(u.recipient)
  UNION ALL
  SELECT 'no rendering is pending', p.user_id, 'none', p.part
  FROM pending_renders p
$$;
