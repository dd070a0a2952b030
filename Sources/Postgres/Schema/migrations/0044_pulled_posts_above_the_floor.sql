-- compatible-from: 9
-- A feed page reads the posts of a famous author whom the reader follows down to the floor of the feed, not all that
-- they ever published: where the index stops is given by time, and a key is at most 2^20 above that of its time.
DO $do$
DECLARE
  was CONSTANT text := 'AND p.post_key >= floor_key AND p.first_at >= lowest_time';
  old CONSTANT text := pg_get_functiondef('feed_page(text, text, int)'::regprocedure);
BEGIN
  IF cardinality(string_to_array(old, was)) <> 2 THEN
    RAISE EXCEPTION 'feed_page does not contain % as expected', was;
  END IF;
  EXECUTE replace(old, was, 'AND p.post_key >= floor_key
        AND p.first_at >= greatest(lowest_time, feeds_key_time(floor_key - 1048576))');
END
$do$;
