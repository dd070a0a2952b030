-- compatible-from: 9
-- unread_count and badge stop at 1,000, so that a person with a million unread alarms costs no more than one with a
-- thousand. Workers of an older version go on beside this schema; push-worker sends what badge says.

DO $$
DECLARE
  page text;
  old text;
  new text;
BEGIN
  FOREACH page IN ARRAY ARRAY['unread_count(text)', 'badge(text)'] LOOP
    old := pg_get_functiondef(page::regprocedure);
    new := replace(
      replace(old, 'SELECT count(*) FROM ', 'SELECT count(*) FROM (SELECT FROM '),
      'a.raised_at > seen_all)', 'a.raised_at > seen_all LIMIT 1000) n)');
    -- For people whose notifications are under review, and for everybody else.
    IF (length(new) - length(old)) / length('(SELECT FROM  LIMIT 1000) n') <> 2 THEN
      RAISE EXCEPTION '% does not count as expected', page;
    END IF;
    EXECUTE new;
  END LOOP;
END
$$;
