-- compatible-from: 9
-- PostgreSQL parses and plans an SQL function that it cannot inline again in each execution of a page. A page of posts
-- took 1.7 times, and one of alarms 1.07 times the processor time.

-- Whether the viewer is being erased is found out once for each page, not for each post.
DO $do$
DECLARE
  was CONSTANT text := 'NOT is_erasing($1)';
  old CONSTANT text := pg_get_functiondef('post_as_seen'::regproc);
BEGIN
  IF cardinality(string_to_array(old, was)) <> 2 THEN
    RAISE EXCEPTION 'post_as_seen does not contain % as expected', was;
  END IF;
  EXECUTE replace(old, was, 'NOT EXISTS (SELECT FROM erasures e WHERE e.user_id = $1)');
END
$do$;

-- A STRICT function is not inlined if it contains CASE, nor an IMMUTABLE one if it contains a STABLE operator, such as
-- text || smallint. Without these, both still return NULL for NULL.
CREATE OR REPLACE FUNCTION kind_code(type smallint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 'F' || CASE WHEN $1 < 10 THEN '0' ELSE '' END || $1::text
$$;

DO $do$
DECLARE
  was CONSTANT text := $$ELSE 'ltr' END$$;
  old CONSTANT text := pg_get_functiondef('locale_direction'::regproc);
BEGIN
  IF cardinality(string_to_array(old, was)) <> 2 OR cardinality(string_to_array(old, ' STRICT')) <> 2 THEN
    RAISE EXCEPTION 'locale_direction does not contain % as expected', was;
  END IF;
  EXECUTE replace(replace(old, was, $$WHEN $1 IS NOT NULL THEN 'ltr' END$$), ' STRICT', '');
END
$do$;

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
  was CONSTANT text := $$coalesce(
    nullif(feeds_cursor_id($2), ''), '00000000-0000-0000-0000-000000000000')::uuid$$;
  old CONSTANT text := pg_get_functiondef('alarm_page(text, text, int)'::regprocedure);
BEGIN
  IF cardinality(string_to_array(old, was)) <> 2 THEN
    RAISE EXCEPTION 'alarm_page does not contain % as expected', was;
  END IF;
  EXECUTE replace(old, was, 'alarm_cursor_id($2)');
END
$do$;
