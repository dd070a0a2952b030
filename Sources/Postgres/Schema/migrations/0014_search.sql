-- compatible-from: 9
-- search_users compares folded text: sigmas of all three forms are one letter, and so on. See docs/sql.md
-- for what is folded and what is not. No index changes: profiles_searched finds the candidates, by a
-- pattern that leaves open what folding would change.

-- Folds the case of letters: what the database's LC_CTYPE says, and what lower() leaves apart although
-- Unicode's CaseFolding.txt does not: final sigma, the Greek symbol forms, the micro sign, sharp s.
CREATE FUNCTION search_fold(value text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT replace(replace(
    translate(lower(value), 'ςϐϑϕϖϰϱϵµ', 'σβθφπκρεμ'), 'ß', 'ss'), 'ẞ', 'ss')
$$;

-- A pattern for ILIKE that every text matches whose folded form contains the query's.
-- Letters that have another form are left open, and so are those of a sharp s, of which the query may
-- hold half.
CREATE FUNCTION search_pattern(query text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT '%' || translate(
    regexp_replace(
      regexp_replace(search_fold(query), '([\\%_])', '\\\1', 'g'), '^s+|s+$|s{2,}', '%', 'g'),
    'σβθφπκρεμ', '_________') || '%'
$$;

-- What search_users returns. PL/pgSQL, so that the cursor is read before anything else; a name of its own,
-- because there a column cannot be called like a parameter.
CREATE FUNCTION search_people(query text, asking text, before text, "limit" int)
RETURNS TABLE (
  user_id text, nickname text, name text, major text, image_url text, cursor text
)
LANGUAGE plpgsql STABLE ROWS 50
SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
  before_name CONSTANT text := (SELECT c.name FROM search_cursor_parts($3) c);
  before_id CONSTANT text := (SELECT c.id FROM search_cursor_parts($3) c);
  pattern CONSTANT text := search_pattern($1);
  folded CONSTANT text := search_fold($1);
BEGIN
  RETURN QUERY
  SELECT p.user_id, p.nickname, p.name, p.major, p.image_url,
    length(p.name) || ':' || p.name || p.user_id
  FROM profiles p
  WHERE $1 <> ''
    AND (
      p.name ILIKE pattern AND strpos(search_fold(p.name), folded) > 0
      OR p.major ILIKE pattern AND strpos(search_fold(p.major), folded) > 0)
    AND p.user_id <> $2
    AND (
      before_name IS NULL
      OR (p.name COLLATE "C", p.user_id) > (before_name COLLATE "C", before_id))
  ORDER BY p.name COLLATE "C", p.user_id
  LIMIT least(greatest(coalesce($4, 50), 1), 200);
END
$$;

CREATE OR REPLACE FUNCTION search_users(query text, user_id text, before text, "limit" int)
RETURNS TABLE (
  user_id text, nickname text, name text, major text, image_url text, cursor text
)
LANGUAGE sql STABLE AS $$
  SELECT * FROM search_people($1, $2, $3, $4)
$$;
