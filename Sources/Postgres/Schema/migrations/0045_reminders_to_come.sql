-- compatible-from: 9
-- The checks of reminders, as in migration 0025, and also whether what repeats will ring at all. What is due counts as
-- neither wrong nor to come: a worker has yet to decide on it, as after a swap of rebuilt tables.
CREATE OR REPLACE FUNCTION verify_reminders(grace interval DEFAULT '1 minute')
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
  FROM reminders r WHERE r.next_at <= r.decided_through AND r.due_at >= now()
  UNION ALL
  SELECT 'what repeats without an end has a next occurrence, a cycle within two weeks',
    concat_ws(', reminder ', r.user_id, r.reminder_id), 'after ' || r.decided_through, coalesce(r.next_at::text, 'none')
  FROM reminders r
  -- Not all rules with an interval have an occurrence at all, such as on the 30th of every twelfth month.
  WHERE r.next_at IS NULL AND r.definition ->> 'repeats' !~* 'COUNT|UNTIL|MONTHLY.*INTERVAL|INTERVAL.*MONTHLY'
      AND coalesce(r.definition ->> 'at' < '2100' OR r.definition ->> 'form' = 'digest', false)
    OR r.definition ? 'window' AND (r.next_at <= r.decided_through + interval '15 days') IS NOT TRUE
  UNION ALL
  SELECT 'nothing is decided before its day', concat_ws(', reminder ', r.user_id, r.reminder_id),
    'before ' || now(), r.decided_through::text
  FROM reminders r WHERE r.decided_through > now() AT TIME ZONE 'UTC' + interval '2 days'
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
  FROM reminders r
  -- A repetition that ends did not count while it was due: see docs/decisions/0036.
  WHERE r.due_at > now() AND r.reminder_id <> '' AND (r.definition ->> 'repeats' ~* 'COUNT|UNTIL') IS NOT TRUE
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
