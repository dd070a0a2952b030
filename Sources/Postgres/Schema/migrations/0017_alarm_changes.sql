-- compatible-from: 9
-- alarm-worker publishes what it renders to the topic alarm-changes: see docs/decisions/0030. Workers of an
-- older version write alarms without a version and publish nothing: once the last of them is replaced, call
-- publish_alarms() if the topic already has consumers.

-- The version under which the row's content was published. 0: not published, because an older worker or a
-- rebuild wrote the row. The sequence is drawn while the row is locked, so that a later content of the row
-- has a greater version. It is not part of the rebuilt tables: versions are unique across rebuilds.
CREATE SEQUENCE alarm_versions AS bigint;
ALTER TABLE alarms ADD COLUMN version bigint NOT NULL DEFAULT 0;

-- A worker of an older version changes the content and leaves the version.
CREATE FUNCTION forget_alarm_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := 0;
  RETURN NEW;
END
$$;
CREATE TRIGGER forget_alarm_version BEFORE UPDATE ON alarms
FOR EACH ROW WHEN (NEW.version = OLD.version AND OLD.version > 0)
EXECUTE FUNCTION forget_alarm_version();

-- At most one row: every alarm with an id below below_id is still to be published again.
CREATE TABLE pending_publications (
  part text COLLATE "C" PRIMARY KEY DEFAULT 'all' CHECK (part = 'all'),
  below_id uuid NOT NULL DEFAULT 'ffffffff-ffff-ffff-ffff-ffffffffffff'
);

-- Publishes every alarm again under a new version, in pieces, after the other backlog. For use after a
-- swap of rebuilt tables, which calls it, and after records of alarm-changes were lost.
CREATE FUNCTION publish_alarms() RETURNS void LANGUAGE sql AS $$
  INSERT INTO pending_publications DEFAULT VALUES
  ON CONFLICT (part) DO UPDATE SET below_id = DEFAULT
$$;

-- take_pending_renders of migration 0015, with everything that is published of an alarm; if no rendering is
-- pending, alarms that are to be published again. Retracted alarms are returned too. Workers of an older version
-- call the other.
CREATE FUNCTION take_alarms_to_publish("limit" int)
RETURNS TABLE (
  notification_id uuid, recipient text, generation bigint, counter bigint, type smallint, actor text,
  second_actor text, actor_count bigint, contribution_count bigint, post_id text, comment_id text,
  head_text text, raised_at timestamptz, deep_link text, badge_icon text, highlight_style text,
  image_url text, arguments jsonb, recipient_locale text, actor_nickname text,
  second_actor_nickname text
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
  below uuid;
BEGIN
  SELECT array_agg(t.user_id), array_agg(t.part) INTO people, parts
  FROM (
    SELECT user_id, part FROM pending_renders ORDER BY turn LIMIT 100 FOR UPDATE SKIP LOCKED
  ) t;
  IF people IS NULL THEN
    SELECT p.below_id INTO below FROM pending_publications p FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      RETURN;
    END IF;
    SELECT array_agg(f.id) INTO ids
    FROM (
      SELECT a.notification_id AS id FROM alarms a
      WHERE a.notification_id < below ORDER BY a.notification_id DESC LIMIT $1
    ) f;
    IF coalesce(cardinality(ids), 0) < $1 THEN
      DELETE FROM pending_publications;
    ELSE
      UPDATE pending_publications SET below_id = ids[cardinality(ids)];
    END IF;
  ELSE
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
  END IF;

  PERFORM FROM alarms a WHERE a.notification_id = ANY (ids) ORDER BY a.notification_id FOR UPDATE;

  RETURN QUERY
  SELECT a.notification_id, a.recipient, a.generation, a.counter, a.type, a.actor, a.second_actor,
    a.actor_count, a.contribution_count, a.post_id, a.comment_id, a.head_text, a.raised_at,
    a.deep_link, a.badge_icon, a.highlight_style, a.image_url, a.arguments, r.locale, p.nickname,
    s.nickname
  FROM alarms a
  LEFT JOIN profiles r ON r.user_id = a.recipient
  LEFT JOIN profiles p ON p.user_id = a.actor
  LEFT JOIN profiles s ON s.user_id = a.second_actor
  WHERE a.notification_id = ANY (ids);
END
$$;

-- For consumers of alarm-changes: the committed state of an alarm. An event whose version is above the
-- version here is not committed, or not yet. shown: alarm_page has the alarm; the last three columns are NULL if
-- it has not. Always one row; the version is 0 if there is no alarm, or one that was never published.
CREATE FUNCTION alarm_state(user_id text, notification uuid)
RETURNS TABLE (
  version bigint, shown boolean, unread boolean, unseen boolean, image_url text
)
LANGUAGE plpgsql STABLE ROWS 1
SET plan_cache_mode = force_generic_plan
SET enable_bitmapscan = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET max_parallel_workers_per_gather = 0
SET jit = off
AS $$
#variable_conflict use_column
BEGIN
  IF EXISTS (SELECT FROM notification_reviews v WHERE v.recipient = $1) THEN
    RETURN QUERY
    SELECT coalesce(a.version, 0), s.notification_id IS NOT NULL, s.unread, s.unseen,
      CASE WHEN s.notification_id IS NOT NULL
        THEN coalesce(nullif(s.thumbnail, ''), nullif(f.image_url, ''), p.image_url, '') END
    FROM (SELECT) one
    LEFT JOIN alarms a ON a.notification_id = $2 AND a.recipient = $1
    LEFT JOIN shown_alarms s ON s.notification_id = $2 AND s.recipient = $1
    LEFT JOIN profiles p ON p.user_id = s.actor
    LEFT JOIN post_facts f ON f.post_id = s.post_id AND NOT f.deleted;
  ELSE
    RETURN QUERY
    SELECT coalesce(a.version, 0), s.notification_id IS NOT NULL, s.unread, s.unseen,
      CASE WHEN s.notification_id IS NOT NULL
        THEN coalesce(nullif(s.thumbnail, ''), nullif(f.image_url, ''), p.image_url, '') END
    FROM (SELECT) one
    LEFT JOIN alarms a ON a.notification_id = $2 AND a.recipient = $1
    LEFT JOIN settled_alarms s ON s.notification_id = $2 AND s.recipient = $1
    LEFT JOIN profiles p ON p.user_id = s.actor
    LEFT JOIN post_facts f ON f.post_id = s.post_id AND NOT f.deleted;
  END IF;
END
$$;

GRANT USAGE ON SEQUENCE alarm_versions TO magpie_alarm;
GRANT SELECT, UPDATE, DELETE ON pending_publications TO magpie_alarm;
GRANT SELECT ON pending_publications TO magpie_reader;

-- The list of the older clients, which know an alarm by an integer. See docs/sql.md.

-- Where a retracted alarm last was in the list, so that a page can begin after it.
ALTER TABLE alarms ADD COLUMN last_raised_at timestamptz;

-- The first 53 bits of the id, without its version digit: JavaScript's numbers hold them exactly.
CREATE FUNCTION alarm_sequence(notification uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ('x' || substr(h.digits, 1, 12) || substr(h.digits, 14, 2))::bit(56)::bigint >> 3
  FROM (SELECT replace($1::text, '-', '') AS digits) h
$$;

-- The alarm of this person with this sequence, shown or not. An unknown sequence is an error, and so is one
-- that two alarms of the person have. Searches a range of the primary key.
CREATE FUNCTION alarm_of_sequence(user_id text, sequence bigint) RETURNS uuid
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan
SET enable_bitmapscan = off
SET enable_seqscan = off
SET jit = off
AS $$
DECLARE
  prefix CONSTANT text := lpad(to_hex($2 >> 5), 12, '0');
  ids uuid[];
BEGIN
  IF $2 BETWEEN 0 AND 9007199254740991 THEN
    SELECT array_agg(a.notification_id) INTO ids
    FROM alarms a
    WHERE a.notification_id BETWEEN rpad(prefix, 32, '0')::uuid AND rpad(prefix, 32, 'f')::uuid
      AND a.recipient = $1 AND alarm_sequence(a.notification_id) = $2;
  END IF;
  IF $2 IS NULL OR cardinality(ids) IS DISTINCT FROM 1 THEN
    RAISE EXCEPTION 'not the sequence of an alarm: %', $2
      USING ERRCODE = 'invalid_text_representation',
        HINT = 'Pass the sequence of a row of legacy_alarm_list of the same person.';
  END IF;
  RETURN ids[1];
END
$$;

-- alarm_page in the form of the older clients: one JSON object for each alarm. `before` is the sequence of the
-- last row of the previous page, which may have been deleted since.
CREATE FUNCTION legacy_alarm_list(user_id text, before bigint, "limit" int) RETURNS SETOF json
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
  previous uuid;
  previous_time timestamptz;
  cursor text;
BEGIN
  IF $2 IS NOT NULL THEN
    previous := alarm_of_sequence($1, $2);
    IF EXISTS (SELECT FROM notification_reviews v WHERE v.recipient = $1) THEN
      SELECT n.raised_at INTO previous_time
      FROM shown_notifications n WHERE n.recipient = $1 AND n.notification_id = previous;
    END IF;
    IF previous_time IS NULL THEN
      SELECT coalesce(
          n.raised_at, a.raised_at, a.last_raised_at,
          -- Tables that were rebuilt after a deletion.
          (
            SELECT max(c.first_at) FROM notification_actors c
            WHERE c.notification_id = previous AND c.active AND NOT c.muted
          ))
        INTO previous_time
      FROM alarms a LEFT JOIN notifications n ON n.notification_id = a.notification_id
      WHERE a.notification_id = previous;
    END IF;
    IF previous_time IS NULL THEN
      RAISE EXCEPTION 'the alarm with the sequence % was withdrawn', $2
        USING ERRCODE = 'invalid_text_representation', HINT = 'Begin with the first page.';
    END IF;
    cursor := (extract(epoch FROM previous_time) * 1000000)::bigint || ':' || previous;
  END IF;
  RETURN QUERY
  SELECT json_build_object(
    'sequence', alarm_sequence(p.notification_id),
    'notificationType', p.kind,
    'fromNickName', p.legacy_from_nick_name,
    'fromId', p.actor_id,
    'isReading', NOT p.unread,
    'headText', p.legacy_head_text,
    'stationName', p.station,
    'thumbnail', coalesce(nullif(a.image_url, ''), f.image_url, ''),
    'scheme', coalesce(p.deep_link, ''),
    'notificationMessage', p.legacy_message,
    'profileImageURL', p.actor_image_url,
    'notificationDate', to_char(p.raised_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
  FROM alarm_page($1, cursor, $3) p
  JOIN alarms a ON a.notification_id = p.notification_id
  LEFT JOIN post_facts f ON f.post_id = a.post_id AND NOT f.deleted
  ORDER BY p.raised_at DESC, p.notification_id DESC;
END
$$;
