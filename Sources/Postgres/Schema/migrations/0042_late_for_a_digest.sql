-- compatible-from: 9
-- What a digest says, as in migration 0041, and also what became visible too late for the digest before: raised in the
-- day before that one was decided, after the `previous` one (null if there is none), and not counted by it.
-- `counted` are the newest ten alarms that it counted. If there are ten, their oldest is the limit: an alarm that is
-- newer and not one of them was not visible then.
CREATE FUNCTION digest_content(
  user_id text, since timestamptz, previous timestamptz, counted uuid[], kinds smallint[], digest smallint)
RETURNS TABLE (alarms bigint, newest text)
LANGUAGE plpgsql STABLE ROWS 1
-- The plan is made for each person: one for all would begin with everybody's reviews.
AS $$
#variable_conflict use_column
DECLARE
  oldest_counted CONSTANT timestamptz := CASE WHEN cardinality($4) = 10 THEN coalesce((
    SELECT min(a.raised_at) FROM alarms a WHERE a.notification_id = ANY ($4) AND a.raised_at <= $2), $2) END;
  -- greatest ignores NULL.
  unseen_after CONSTANT timestamptz := greatest($2 - interval '1 day', $3, oldest_counted, (
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
        AND (a.raised_at > $2 OR a.notification_id <> ALL ($4))
        AND ($5 IS NULL OR a.type = ANY ($5)) AND a.type <> $6
      ORDER BY a.raised_at DESC, a.notification_id DESC
      LIMIT 100
    ) a
  ) a;
END
$$;
