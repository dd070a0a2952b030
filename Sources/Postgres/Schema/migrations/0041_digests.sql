-- compatible-from: 9
-- What a digest says, as in migration 0025, without reading what was seen or read by a mark for all alarms. Before, a
-- digest of somebody who sees all their alarms read all of them.
GRANT SELECT ON notification_recipients TO magpie_reminder;

CREATE OR REPLACE FUNCTION digest_content(user_id text, since timestamptz, kinds smallint[], digest smallint)
RETURNS TABLE (alarms bigint, newest text)
LANGUAGE plpgsql STABLE ROWS 1
-- The plan is made for each person: one for all would begin with everybody's reviews.
AS $$
#variable_conflict use_column
DECLARE
  -- greatest ignores NULL, of somebody without notifications.
  unseen_after CONSTANT timestamptz := greatest($2, (
    SELECT greatest(r.deleted_all_at, r.read_all_at, r.seen_all_at)
    FROM notification_recipients r WHERE r.user_id = $1));
BEGIN
  RETURN QUERY
  SELECT count(*), coalesce(string_agg(a.notification_id::text, ',' ORDER BY a.place) FILTER (WHERE a.place <= 10), '')
  FROM (
    SELECT a.notification_id, row_number() OVER (ORDER BY a.raised_at DESC, a.notification_id DESC) AS place
    FROM (
      SELECT a.notification_id, a.raised_at
      FROM shown_alarms a
      WHERE a.recipient = $1 AND a.raised_at > unseen_after AND a.unread AND a.unseen
        AND ($3 IS NULL OR a.type = ANY ($3)) AND a.type <> $4
      ORDER BY a.raised_at DESC, a.notification_id DESC
      LIMIT 100
    ) a
  ) a;
END
$$;
