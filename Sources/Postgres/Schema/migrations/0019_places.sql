-- compatible-from: 9
-- A post's place in feeds, on home and in profiles is the time of its earliest publication, whatever is edited
-- later: see docs/decisions/0032.
--
-- Existing posts get the time of their newest event, by which they were ordered: publications before an edit are
-- not stored. Until they are applied again (docs/deploy.md), edited posts stay where their edit had moved them,
-- and `magpie verify --deep` reports them. The table is written once in full; readers and workers wait meanwhile.
--
-- Workers of an older version order posts by version_time, which is never before first_at:
-- - Posts that they write get version_time as first_at (see the trigger): their edits move posts, as before.
-- - For a new follow they select an author's newest posts by version_time. The floor that they set is above all
--   posts that they leave out, because no key is above version_time, and they compare keys with floors exactly.
-- - Restoring a feed, they would leave out posts above its floor: see the trigger on feeds.
-- - They sort an author's posts instead of reading an index.
-- So verify_feeds() finds no violation beside them either.

ALTER TABLE posts ADD COLUMN first_at timestamptz;
DROP INDEX posts_by_author, posts_pulled, posts_by_time;
ALTER TABLE posts
  ALTER COLUMN first_at TYPE timestamptz USING CASE WHEN deleted THEN 'infinity' ELSE version_time END,
  ALTER COLUMN first_at SET NOT NULL,
  ADD CONSTRAINT posts_first_at_is_not_later CHECK (
    first_at <= version_time OR (deleted AND first_at = 'infinity'));
COMMENT ON COLUMN posts.first_at IS
  'The time of the earliest publication, whether or not it won: published_at to readers, and the origin '
  'of post_key. infinity: only deletions were seen.';
COMMENT ON COLUMN posts.version_time IS 'The time of the newest event.';
CREATE INDEX posts_by_author ON posts (author, first_at, post_id)
  INCLUDE (post_key, delivery) WHERE NOT deleted;
CREATE INDEX posts_pulled ON posts (author, first_at, post_id)
  INCLUDE (post_key) WHERE NOT deleted AND delivery = 'pull';
CREATE INDEX posts_by_time ON posts (first_at, post_id) WHERE NOT deleted;

-- A worker of an older version inserts posts without first_at, with keys made from version_time.
CREATE FUNCTION posts_fill_first_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.first_at := CASE WHEN NEW.deleted THEN 'infinity' ELSE NEW.version_time END;
  RETURN NEW;
END
$$;
CREATE TRIGGER posts_fill_first_at BEFORE INSERT ON posts
FOR EACH ROW WHEN (NEW.first_at IS NULL)
EXECUTE FUNCTION posts_fill_first_at();

-- A worker of an older version that restores a feed bounds it by version_time. A post edited since would pass
-- with its low key, and the floor, which is the lowest key stored, would promise posts that were left out. So
-- the feed stays unstored, with correct pages; feed_touch queues it again.
CREATE FUNCTION feeds_stay_unstored() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN NULL;
END
$$;
CREATE TRIGGER feeds_stay_unstored BEFORE UPDATE ON feeds
FOR EACH ROW WHEN (
  OLD.floor = 9223372036854775807 AND NEW.floor < OLD.floor
  AND current_setting('magpie.returning', true) <> ''
  AND current_setting('magpie.feed_order', true) IS DISTINCT FROM 'first_at')
EXECUTE FUNCTION feeds_stay_unstored();

-- feed_page and home_page of migration 0018 and verify_feeds of migration 0007, by first_at.
DO $$
DECLARE
  change record;
  old text;
  new text;
BEGIN
  FOR change IN
    SELECT * FROM (VALUES
      ('feed_page(text, text, int)', 'version_time', 'first_at'),
      ('home_page(text, text, int)', 'version_time', 'first_at'),
      ('verify_feeds()', 'extract(epoch FROM p.version_time)', 'extract(epoch FROM p.first_at)')
    ) AS c (function, was, becomes)
  LOOP
    old := pg_get_functiondef(change.function::regprocedure);
    new := replace(old, change.was, change.becomes);
    IF new = old THEN
      RAISE EXCEPTION '% does not contain % as expected', change.function, change.was;
    END IF;
    EXECUTE new;
  END LOOP;
END
$$;
