-- compatible-from: 9
-- Reminders, cycles and digests: what reminder-worker rings, and when. See docs/sql.md and docs/decisions/0036.
--
-- Workers of an older version go on beside this schema. Until reminder-worker runs, nothing reads the topic
-- reminders.

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'magpie_reminder') THEN
    BEGIN
      CREATE ROLE magpie_reminder NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
  END IF;
END
$$;

-- What every worker may do: see migrations 0001, 0005, 0008 and 0009.
DO $$
DECLARE
  shared text;
BEGIN
  FOREACH shared IN ARRAY
    ARRAY['consumer_offsets', 'dead_letters', 'dead_letter_history', 'batch_audit']
  LOOP
    EXECUTE format(
      'CREATE POLICY reminder_writes_its_own ON %I TO magpie_reminder USING (consumer_group LIKE ''%%reminder'')',
      shared);
  END LOOP;
END
$$;
GRANT SELECT, INSERT, UPDATE ON consumer_offsets, dead_letters TO magpie_reminder;
GRANT SELECT, INSERT ON dead_letter_history TO magpie_reminder;
GRANT INSERT ON batch_audit TO magpie_reminder;

-- The fence of a transaction that applies no records: raises if the caller is not the owner any more, and keeps
-- others from claiming the partitions until the transaction ends.
CREATE FUNCTION fence_hold(
  consumer_group text, topics text[], partitions int[], owner_epochs bigint[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  held int;
BEGIN
  SELECT count(*) INTO held FROM (
    SELECT FROM consumer_offsets c
    JOIN unnest(topics, partitions, owner_epochs) AS f (topic, partition, owner_epoch)
      ON c.topic = f.topic AND c.partition = f.partition AND c.owner_epoch = f.owner_epoch
    WHERE c.consumer_group = fence_hold.consumer_group
    ORDER BY c.topic, c.partition
    FOR SHARE OF c
  ) c;
  IF held <> cardinality(partitions) THEN
    RAISE EXCEPTION 'fenced: % of % partitions of consumer group % have another owner',
      cardinality(partitions) - held, cardinality(partitions), consumer_group
      USING ERRCODE = 'MG001', HINT = 'Another process was assigned the partition.';
  END IF;
END
$$;

-- The time zone of each person whose profile names one. The row is the lock of the person's reminders.
CREATE TABLE reminder_people (
  user_id text COLLATE "C" PRIMARY KEY,
  zone text NOT NULL DEFAULT '',
  version_time timestamptz NOT NULL DEFAULT '-infinity',
  version_id text COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 70);
COMMENT ON COLUMN reminder_people.zone IS
  'of the newest profile.changed, or of a newer profile.edited that names one; empty if unknown';

-- The newest event of each reminder and cycle, and of each person's digest, whose id is empty.
CREATE TABLE reminders (
  user_id text COLLATE "C" NOT NULL,
  reminder_id text COLLATE "C" NOT NULL,
  version_time timestamptz NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  -- Null: cancelled.
  definition jsonb,
  -- The partition of the newest record. The lane that owns it rings the reminder.
  partition int NOT NULL,
  -- All occurrences up to this local time have rung, or will not.
  decided_through timestamp NOT NULL,
  -- The next occurrence: its local time, its zone, and the time that this is. Null if there is none.
  next_at timestamp,
  zone text NOT NULL,
  due_at timestamptz,
  -- The version of the time zone data that due_at is computed with, such as 2025b; empty if unknown.
  zone_data text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (user_id, reminder_id),
  CHECK ((next_at IS NULL) = (due_at IS NULL))
);
CREATE INDEX reminders_due ON reminders (partition, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX reminders_by_zone_data ON reminders (partition, zone_data) WHERE due_at IS NOT NULL;
CREATE INDEX reminders_to_come ON reminders (user_id, due_at, reminder_id) WHERE due_at IS NOT NULL;

-- What rang. An occurrence is named by its local date and time. A row is committed before it is published, so
-- nothing is ever published that was not decided, and what is published twice is the same.
CREATE TABLE reminder_rings (
  user_id text COLLATE "C" NOT NULL,
  reminder_id text COLLATE "C" NOT NULL,
  occurrence timestamp NOT NULL,
  -- rung; withdrawn: cancelled or moved before it was due, by an event that arrived later; missed: it was due
  -- for longer than reminder-worker's --late-bound.
  state text NOT NULL CHECK (state IN ('rung', 'withdrawn', 'missed')),
  due_at timestamptz NOT NULL,
  zone text NOT NULL,
  -- When the state became what it is.
  decided_at timestamptz NOT NULL,
  content jsonb NOT NULL,
  -- Counts the changes of state.
  revision int NOT NULL DEFAULT 0,
  partition int NOT NULL,
  is_published boolean NOT NULL,
  PRIMARY KEY (user_id, reminder_id, occurrence)
);
CREATE INDEX reminder_rings_to_publish ON reminder_rings (partition, due_at) WHERE NOT is_published;
CREATE INDEX reminder_rings_by_time ON reminder_rings (user_id, due_at, reminder_id, occurrence);

-- The items that a cycle has shown since it last had shown all of them.
CREATE FUNCTION cycle_shown(user_id text, reminder_id text)
RETURNS TABLE (round int, items text[])
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT r.round, array_agg(r.item)
  FROM (
    SELECT (r.content ->> 'round')::int AS round, r.content ->> 'item' AS item
    FROM reminder_rings r
    WHERE r.user_id = $1 AND r.reminder_id = $2 AND r.state = 'rung' AND r.content ? 'item'
    ORDER BY r.occurrence DESC
    LIMIT 50
  ) r
  GROUP BY r.round
  ORDER BY r.round DESC
  LIMIT 1
$$;

-- What a digest says: the number of alarms raised after `since` that are unread and unseen, at most 100, and the
-- newest ten of them. Earlier digests do not count.
CREATE FUNCTION digest_content(user_id text, since timestamptz, kinds smallint[], digest smallint)
RETURNS TABLE (alarms bigint, newest text)
-- PL/pgSQL, so that the large plan of shown_alarms is made for digests only.
LANGUAGE plpgsql STABLE ROWS 1 AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT count(*), coalesce(string_agg(a.notification_id::text, ',' ORDER BY a.place) FILTER (WHERE a.place <= 10), '')
  FROM (
    SELECT a.notification_id, row_number() OVER (ORDER BY a.raised_at DESC, a.notification_id DESC) AS place
    FROM (
      SELECT a.notification_id, a.raised_at
      FROM shown_alarms a
      WHERE a.recipient = $1 AND a.raised_at > $2 AND a.unread AND a.unseen
        AND ($3 IS NULL OR a.type = ANY ($3)) AND a.type <> $4
      ORDER BY a.raised_at DESC, a.notification_id DESC
      LIMIT 100
    ) a
  ) a;
END
$$;

-- An occurrence's name, which is the source of its alarm, such as 2026-11-23T07:00:00.
CREATE FUNCTION occurrence_name(occurrence timestamp) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT to_char($1, 'YYYY-MM-DD"T"HH24:MI:SS')
$$;

-- What is to come, the soonest first.
CREATE FUNCTION reminder_page(user_id text, before text, "limit" int)
RETURNS TABLE (
  reminder_id text, form text, kind text, title text, memo text, symbol text, link text, due_at timestamptz,
  local_time text, zone text, repeats text, cursor text)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  after_time CONSTANT timestamptz := CASE WHEN $2 IS NULL THEN '-infinity' ELSE unix_cursor_time($2) END;
  after_id CONSTANT text := feeds_cursor_id($2);
BEGIN
  RETURN QUERY
  SELECT
    r.reminder_id, r.definition ->> 'form', r.definition ->> 'kind',
    CASE r.definition ->> 'form' WHEN 'reminder' THEN r.definition -> 'items' -> 0 ->> 'title' ELSE '' END,
    CASE r.definition ->> 'form' WHEN 'reminder' THEN r.definition -> 'items' -> 0 ->> 'memo' ELSE '' END,
    CASE r.definition ->> 'form' WHEN 'reminder' THEN r.definition -> 'items' -> 0 ->> 'symbol' ELSE '' END,
    CASE r.definition ->> 'form' WHEN 'reminder' THEN r.definition -> 'items' -> 0 ->> 'link' ELSE '' END,
    r.due_at, occurrence_name(r.next_at), coalesce(nullif(r.zone, ''), 'UTC'), coalesce(r.definition ->> 'repeats', ''),
    unix_cursor(r.due_at, r.reminder_id)
  FROM reminders r
  WHERE r.user_id = $1 AND r.due_at IS NOT NULL
    AND (r.due_at, r.reminder_id) > (after_time, after_id)
  ORDER BY r.due_at, r.reminder_id
  LIMIT feeds_page_size($3);
END
$$;

-- What rang, was missed or was withdrawn, the newest first.
CREATE FUNCTION reminder_history(user_id text, before text, "limit" int)
RETURNS TABLE (
  reminder_id text, local_time text, zone text, due_at timestamptz, state text, kind text, title text,
  memo text, symbol text, link text, cursor text)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
#variable_conflict use_column
DECLARE
  before_time CONSTANT timestamptz := unix_cursor_time($2);
  before_id CONSTANT text := feeds_cursor_id($2);
BEGIN
  RETURN QUERY
  SELECT r.reminder_id, occurrence_name(r.occurrence), coalesce(nullif(r.zone, ''), 'UTC'), r.due_at, r.state, r.content ->> 'kind',
    coalesce(r.content ->> 'title', ''), coalesce(r.content ->> 'memo', ''),
    coalesce(r.content ->> 'symbol', ''), coalesce(r.content ->> 'link', ''),
    unix_cursor(r.due_at, occurrence_name(r.occurrence) || r.reminder_id)
  FROM reminder_rings r
  WHERE r.user_id = $1 AND r.due_at <= before_time
    AND (r.due_at, occurrence_name(r.occurrence) || r.reminder_id COLLATE "C") < (before_time, before_id)
  ORDER BY r.due_at DESC, occurrence_name(r.occurrence) || r.reminder_id COLLATE "C" DESC
  LIMIT feeds_page_size($3);
END
$$;
-- A person's digest, if there is one. While holds is true, alarms of its kinds (all, if there are none) wait for it
-- and do not ring on their own.
CREATE FUNCTION digest_setting(user_id text)
RETURNS TABLE (at text, zone text, days text[], kinds text[], holds boolean, due_at timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT r.definition ->> 'at', r.zone,
    ARRAY(SELECT jsonb_array_elements_text(r.definition -> 'days')),
    ARRAY(SELECT jsonb_array_elements_text(r.definition -> 'kinds')),
    (r.definition ->> 'holds')::boolean, r.due_at
  FROM reminders r
  WHERE r.user_id = $1 AND r.reminder_id = '' AND r.definition IS NOT NULL
$$;

-- profile with the person's time zone, only shown to oneself.
DO $do$
DECLARE
  columns CONSTANT text := 'is_muted boolean)';
  source CONSTANT text := E'\n  FROM profile_stats($2) s';
  zone CONSTANT text := '
    CASE WHEN $1 = $2 THEN coalesce((SELECT z.zone FROM reminder_people z WHERE z.user_id = $2), '''') END';
  old CONSTANT text := pg_get_functiondef('profile(text, text)'::regprocedure);
BEGIN
  IF strpos(old, columns) = 0 OR strpos(old, source) = 0 THEN
    RAISE EXCEPTION 'profile does not contain % and % as expected', columns, source;
  END IF;
  DROP FUNCTION profile(text, text);
  EXECUTE replace(
    replace(old, columns, 'is_muted boolean, zone text)'), source, ',' || zone || source);
END
$do$;

-- The hash in the ids of the events that publish an occurrence's ring, as reminder-worker computes it: its parts, each
-- after its length.
CREATE FUNCTION ring_hash(user_id text, reminder_id text, occurrence text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT left(encode(sha256(convert_to(concat(
    octet_length($1), ':', $1, octet_length($2), ':', $2, octet_length($3), ':', $3), 'UTF8')), 'hex'), 32)
$$;

-- For `magpie verify`: what is overdue, and where rings, contributions and times disagree. Rings and contributions are
-- compared once they are older than `grace`, which notification-worker may be behind.
CREATE FUNCTION verify_reminders(grace interval DEFAULT '1 minute')
RETURNS TABLE (invariant text, subject text, expected text, found text)
LANGUAGE sql STABLE
SET jit = off
AS $$
  SELECT 'what is due has been decided', concat_ws(', reminder ', r.user_id, r.reminder_id), 'decided',
    'due at ' || r.due_at
  FROM reminders r WHERE r.due_at < now() - grace
  UNION ALL
  SELECT 'the next occurrence is after all that are decided', concat_ws(', reminder ', r.user_id, r.reminder_id),
    'after ' || r.decided_through, r.next_at::text
  FROM reminders r WHERE r.next_at <= r.decided_through
  UNION ALL
  SELECT 'a due time is its local time in its zone, or after a gap', concat_ws(', reminder ', r.user_id, r.reminder_id),
    r.next_at || ' ' || z.name, (r.due_at AT TIME ZONE z.name)::text
  FROM reminders r
  JOIN pg_timezone_names z ON z.name = coalesce(nullif(r.zone, ''), 'UTC')
  WHERE r.due_at AT TIME ZONE z.name < r.next_at
    OR r.due_at AT TIME ZONE z.name > r.next_at AND r.next_at AT TIME ZONE z.name AT TIME ZONE z.name = r.next_at
  UNION ALL
  SELECT 'a reminder without a zone is in its person''s', concat_ws(', reminder ', r.user_id, r.reminder_id),
    e.zone, r.zone
  FROM reminders r
  LEFT JOIN reminder_people p ON p.user_id = r.user_id
  CROSS JOIN LATERAL (SELECT coalesce(nullif(r.definition ->> 'zone', ''), p.zone, '') AS zone) e
  WHERE r.definition IS NOT NULL AND r.zone <> e.zone
  UNION ALL
  SELECT 'nobody has more than 1000 reminders to come', r.user_id, '1000', count(*)::text
  FROM reminders r WHERE r.due_at IS NOT NULL AND r.reminder_id <> ''
  GROUP BY r.user_id HAVING count(*) > 1000
  UNION ALL
  SELECT 'a ring is published', concat_ws(', ', r.user_id, r.reminder_id, r.occurrence), 'published', r.state
  FROM reminder_rings r WHERE NOT r.is_published AND r.decided_at < now() - grace
  UNION ALL
  SELECT 'a ring is a contribution of its event, active unless it was withdrawn',
    concat_ws(', ', r.user_id, r.reminder_id, r.source), r.expected, coalesce(a.found, 'none')
  FROM (
    SELECT r.user_id, r.reminder_id, s.source, r.content ->> 'kind' AS kind, concat_ws(' ', r.state,
      r.due_at, lpad(to_hex(r.revision), 8, '0') || '-' || ring_hash(r.user_id, r.reminder_id, s.source)) AS expected
    FROM reminder_rings r
    CROSS JOIN LATERAL (SELECT occurrence_name(r.occurrence) AS source) s
    WHERE r.state <> 'missed' AND r.is_published AND r.decided_at < now() - grace
  ) r
  LEFT JOIN (
    SELECT a.recipient, a.type, a.subject, a.source, concat_ws(' ',
      CASE WHEN a.active THEN 'rung' ELSE 'withdrawn' END, a.version_time, a.version_id) AS found
    FROM notification_actors a
  ) a ON a.recipient = r.user_id AND a.type = substr(r.kind, 2)::smallint AND a.subject = r.reminder_id
    AND a.source = r.source
  WHERE a.found IS DISTINCT FROM r.expected
  UNION ALL
  SELECT 'a contribution of reminder-worker''s events has a ring', concat_ws(', ', a.recipient, a.subject, a.source),
    'F' || lpad(a.type::text, 2, '0'), 'none'
  FROM notification_actors a
  WHERE a.actor IS NULL AND a.active AND octet_length(a.version_id) = 41
    AND right(a.version_id, 32) = ring_hash(a.recipient, a.subject, a.source)
    AND NOT EXISTS (
      SELECT FROM reminder_rings r
      WHERE r.user_id = a.recipient AND r.reminder_id = a.subject
        AND occurrence_name(r.occurrence) = a.source
        AND substr(r.content ->> 'kind', 2)::smallint = a.type)
$$;

-- The plans of page functions are made once per connection and follow indexes: see migration 0002.
DO $$
DECLARE
  page text;
BEGIN
  FOREACH page IN ARRAY ARRAY['reminder_page(text, text, int)', 'reminder_history(text, text, int)'] LOOP
    EXECUTE format(
      'ALTER FUNCTION %s SET plan_cache_mode = force_generic_plan SET enable_bitmapscan = off
        SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
        SET max_parallel_workers_per_gather = 0 SET jit = off', page);
  END LOOP;
END
$$;

GRANT SELECT, INSERT, UPDATE ON reminder_people, reminders, reminder_rings TO magpie_reminder;
GRANT SELECT ON reminder_people, reminders, reminder_rings TO magpie_reader;
-- The workers' roles may read all that pages show: see migration 0021.
GRANT SELECT ON reminder_people TO magpie_fanout, magpie_notification, magpie_alarm;
-- What shown_alarms reads, for digests.
GRANT SELECT ON shown_alarms, shown_notifications, settled_notifications, reviewed_notifications, alarms,
  notifications, notification_actors, notification_recipients, notification_marks, notification_mutes,
  notification_silences, notification_reviews, notification_scoped_reviews, notification_sizes, person_blocks,
  post_facts, author_subscriptions, conversation_reads
  TO magpie_reminder;
