-- compatible-from: 9
-- A search is planned for its word, which decides whether the trigram index is of use, and the details of the people found
-- were planned with it, which took longer than everything else. The empty query ran through the search's declarations.

-- Those whom search_people finds, of the profiles of migration 0024, in order: query, who asks, before, limit. No reader
-- sees anything of somebody who is being erased and has come back; neither do they.
CREATE FUNCTION people_found(text, text, text, int)
RETURNS TABLE (user_id text, nickname text, name text, major text, image_url text)
LANGUAGE plpgsql STABLE ROWS 50
-- Not as search_people sets them.
SET plan_cache_mode = force_custom_plan SET enable_bitmapscan = on SET enable_seqscan = on
AS $$
#variable_conflict use_column
DECLARE
  before_name CONSTANT text := (SELECT c.name FROM search_cursor_parts($3) c);
  before_id CONSTANT text := (SELECT c.id FROM search_cursor_parts($3) c);
  hides CONSTANT boolean := has_blocks($2);
  pattern CONSTANT text := search_pattern($1);
  folded CONSTANT text := search_fold($1);
  -- Whether the pattern leaves no letter open: then what it finds needs no folding.
  is_exact CONSTANT boolean :=
    pattern = '%' || regexp_replace(folded, '([\\%_])', '\\\1', 'g') || '%';
BEGIN
  IF hides AND is_erasing($2) THEN RETURN; END IF;
  RETURN QUERY
  SELECT p.user_id, p.nickname, p.name, p.major, p.image_url FROM profiles p
  WHERE (p.version_time > '-infinity' OR p.has_edits)
    AND (
      p.name ILIKE pattern AND (is_exact OR strpos(search_fold(p.name), folded) > 0)
      OR p.nickname ILIKE pattern AND (is_exact OR strpos(search_fold(p.nickname), folded) > 0)
      OR p.major ILIKE pattern AND (is_exact OR strpos(search_fold(p.major), folded) > 0))
    AND p.user_id <> $2
    AND (NOT hides OR NOT is_blocked($2, p.user_id))
    AND (
      before_name IS NULL
      OR (p.name COLLATE "C", p.user_id) > (before_name COLLATE "C", before_id))
  ORDER BY p.name COLLATE "C", p.user_id
  LIMIT feeds_page_size($4);
END
$$;

-- Their details. The plan is made once per connection and follows indexes: see migration 0002.
CREATE OR REPLACE FUNCTION search_people(query text, asking text, before text, "limit" int)
RETURNS TABLE (
  user_id text, nickname text, name text, major text, image_url text, cursor text,
  shown_name text, is_followed boolean, follows_viewer boolean
)
LANGUAGE plpgsql STABLE ROWS 50
SET plan_cache_mode = force_generic_plan SET enable_bitmapscan = off SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET max_parallel_workers_per_gather = 0 SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  viewer_key CONSTANT bigint := (SELECT u.user_key FROM users u WHERE u.user_id = $2);
BEGIN
  RETURN QUERY
  SELECT p.user_id, p.nickname, p.name, p.major, p.image_url,
    length(p.name) || ':' || p.name || p.user_id, d.name, d.is_followed, d.follows_viewer
  FROM people_found($1, $2, $3, $4) p
  CROSS JOIN LATERAL person_details(viewer_key, p.user_id) d
  ORDER BY p.name COLLATE "C", p.user_id;
END
$$;

-- As search_people did for the empty query.
DO $do$
DECLARE
  old CONSTANT text := pg_get_functiondef('people_by_name'::regproc);
  was CONSTANT text := E'BEGIN\n';
BEGIN
  IF cardinality(string_to_array(old, was)) <> 2 THEN
    RAISE EXCEPTION 'people_by_name does not contain % as expected', was;
  END IF;
  EXECUTE replace(old, was, was || E'  IF hides AND is_erasing($1) THEN RETURN; END IF;\n');
END
$do$;

-- One of the two runs, and PostgreSQL inlines this function.
CREATE OR REPLACE FUNCTION search_users(query text, user_id text, before text, "limit" int)
RETURNS TABLE (
  user_id text, nickname text, name text, major text, image_url text, cursor text,
  shown_name text, is_followed boolean, follows_viewer boolean
)
LANGUAGE sql STABLE AS $$
  SELECT * FROM people_by_name($2, $3, $4) WHERE $1 = ''
  UNION ALL
  SELECT * FROM search_people($1, $2, $3, $4) WHERE $1 <> ''
$$;
