-- compatible-from: 9
-- A follow and the return of a reader look for an author's pushed posts. Without this index they read all pulled posts of a
-- famous author above the floor, too.
CREATE INDEX IF NOT EXISTS posts_pushed ON posts (author, first_at, post_id)
  INCLUDE (post_key) WHERE NOT deleted AND delivery = 'push';
