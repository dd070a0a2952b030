-- compatible-from: 9
-- A search read all people, or all names in order until there was a page, instead of the trigram index: for a word that
-- begins or ends with s, of which the pattern kept the other letters only, because an s may be half of an ß; and for words
-- that are rarer than the planner believes. And it looked up for all who match, not for those on the page, whether the
-- asking person has blocked them or is blocked by them.

-- The ILIKE patterns of a query: whatever contains the query after search_fold matches one of them. An s at either end is
-- an s or belongs to an ß or ẞ; several in a row, and Greek letters of several forms, may be anything.
CREATE FUNCTION search_patterns(query text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT array_agg('%' || b.letter || q.inner_part || e.letter || '%')
  FROM (
    SELECT o.escaped,
      translate(
        regexp_replace(regexp_replace(o.escaped, '^s+|s+$', '', 'g'), 's{2,}', '%', 'g'),
        'σβθφπκρεμ', '_________') AS inner_part
    FROM (SELECT regexp_replace(search_fold(query), '([\\%_])', '\\\1', 'g') AS escaped) o
  ) q
  CROSS JOIN LATERAL (
    SELECT unnest(CASE WHEN q.escaped ~ '^s' THEN '{s,ß,ẞ}'::text[] ELSE '{""}' END) AS letter
  ) b
  CROSS JOIN LATERAL (
    SELECT unnest(CASE WHEN q.escaped ~ '[^s]s+$' THEN '{s,ß,ẞ}'::text[] ELSE '{""}' END) AS letter
  ) e
$$;

-- As in migration 0057, but for the patterns and the blocks.
CREATE OR REPLACE FUNCTION people_found(text, text, text, int)
RETURNS TABLE (user_id text, nickname text, name text, major text, image_url text)
LANGUAGE plpgsql STABLE ROWS 50
SET plan_cache_mode = force_custom_plan SET enable_bitmapscan = on SET enable_seqscan = on
AS $$
#variable_conflict use_column
DECLARE
  before_name CONSTANT text := (SELECT c.name FROM search_cursor_parts($3) c);
  before_id CONSTANT text := (SELECT c.id FROM search_cursor_parts($3) c);
  hides CONSTANT boolean := has_blocks($2);
  patterns CONSTANT text[] := search_patterns($1);
  folded CONSTANT text := search_fold($1);
  -- Whether the patterns leave no letter open: then what they find needs no folding.
  is_exact CONSTANT boolean := folded !~ 'ss|[σβθφπκρεμ]';
  page_size CONSTANT int := feeds_page_size($4);
BEGIN
  IF hides AND is_erasing($2) THEN RETURN; END IF;
  RETURN QUERY
  -- Materialized, so that it is planned for 25 pages and read for one: the planner takes rare words for much more frequent
  -- than they are, and would read all names in order until there is a page. Below three letters no index serves.
  WITH found AS MATERIALIZED (
    SELECT f.* FROM (
      SELECT p.user_id, p.nickname, p.name, p.major, p.image_url FROM profiles p
      WHERE (p.version_time > '-infinity' OR p.has_edits)
        AND (
          p.name ILIKE ANY (patterns) AND (is_exact OR strpos(search_fold(p.name), folded) > 0)
          OR p.nickname ILIKE ANY (patterns)
            AND (is_exact OR strpos(search_fold(p.nickname), folded) > 0)
          OR p.major ILIKE ANY (patterns)
            AND (is_exact OR strpos(search_fold(p.major), folded) > 0))
        AND p.user_id <> $2
        AND (
          before_name IS NULL
          OR (p.name COLLATE "C", p.user_id) > (before_name COLLATE "C", before_id))
      ORDER BY p.name COLLATE "C", p.user_id
      OFFSET 0
    ) f
    WHERE NOT hides OR NOT is_blocked($2, f.user_id)
    LIMIT CASE WHEN length(folded) < 3 THEN 1 ELSE 25 END * page_size
  )
  SELECT f.* FROM found f LIMIT page_size;
END
$$;

DROP FUNCTION search_pattern(text);
