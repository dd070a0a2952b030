-- compatible-from: 9
-- PostgreSQL parses and plans an SQL function that it cannot inline again in each execution of a page. A page of posts
-- took 1.7 times, and one of alarms 1.07 times the processor time.

-- The id of a cursor of alarm_page. One that is no UUID is an error that says so, as for other pages' cursors.
CREATE FUNCTION alarm_cursor_id(cursor text) RETURNS uuid
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  id CONSTANT text := feeds_cursor_id($1);
BEGIN
  IF $1 IS NULL THEN RETURN '00000000-0000-0000-0000-000000000000'; END IF;
  IF id !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
    RAISE EXCEPTION 'not a cursor: "%"', left(cursor, 100)
      USING ERRCODE = 'invalid_text_representation',
        HINT = 'Pass the cursor of the last row of a page as it is, or NULL for the first page.';
  END IF;
  RETURN id;
END
$$;

DO $do$
DECLARE
  change record;
  old text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      -- Whether the viewer is being erased is found out once for each page, not for each post.
      ('post_as_seen', 'NOT is_erasing($1)', 'NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = $1)'),
      -- A STRICT function is not inlined if it contains CASE, nor an IMMUTABLE one if it contains a STABLE operator, such
      -- as text || smallint. Without these, both still return NULL for NULL.
      ('kind_code', ' STRICT', ''),
      ('kind_code', 'END || $1', 'END || $1::text'),
      ('locale_direction', ' STRICT', ''),
      ('locale_direction', $$ELSE 'ltr' END$$, $$WHEN $1 IS NOT NULL THEN 'ltr' END$$),
      ('alarm_page', $$coalesce(
    nullif(feeds_cursor_id($2), ''), '00000000-0000-0000-0000-000000000000')::uuid$$, 'alarm_cursor_id($2)')
    ) AS c (routine, was, becomes)
  LOOP
    old := pg_get_functiondef(change.routine::regproc);
    IF cardinality(string_to_array(old, change.was)) <> 2 THEN
      RAISE EXCEPTION '% does not contain % as expected', change.routine, change.was;
    END IF;
    EXECUTE replace(old, change.was, change.becomes);
  END LOOP;
END
$do$;
