/// The statements of a batch of posts, in execution order. Each has its own snapshot
/// (READ COMMITTED), so the statements after a lock see everything committed before it was granted.
enum PostSQL {
  /// Locks the row of every author whose posts this batch writes, both the new author of each post
  /// and its current one, and saves them in `magpie.locked_authors` for `takeBack`. $1 posts,
  /// $2 authors.
  ///
  /// While these locks are held, no other transaction changes the followers, the posts or the
  /// follower counts of these authors.
  static let lockAuthors = """
    WITH locked AS MATERIALIZED (
      SELECT u.user_key
      FROM users u
      WHERE u.user_key IN (
        SELECT a.user_key FROM users a WHERE a.user_id = ANY ($2::text[])
        UNION
        SELECT p.author FROM posts p WHERE p.post_id = ANY ($1::text[]))
      ORDER BY u.user_key
      FOR NO KEY UPDATE
    )
    SELECT set_config('magpie.locked_authors', string_agg(user_key::text, ','), true)
    FROM locked
    """

  /// Whether posts of the author `a` with the counts `c` are pulled: from the push limit, $N, until
  /// the author has fewer than four fifths as many followers.
  private static func pulls(_ pushLimit: String) -> String {
    """
    (coalesce(c.followers, 0) >= \(pushLimit)::bigint
      OR (coalesce(a.pulling, false) AND coalesce(c.followers, 0) * 5 >= \(pushLimit)::bigint * 4))
    """
  }

  /// Counts the entries that the batch would write, now that the authors are locked, and returns
  /// the number of events of each piece into which the batch must be cut. $1 the author of each
  /// event (NULL: nothing is delivered), $2 push limit, $3 the maximum number of entries per piece,
  /// give or take one post's.
  ///
  /// If the batch must be cut, the statements after this one do nothing. Each piece is measured
  /// again, so this may count too many entries (for a version that is not the newest, or a post
  /// that already exists), but never too few.
  static let measure = """
    -- The piece of each event, from the running total of entries.
    WITH weighed AS (
      SELECT
        (sum(w.entries) OVER (ORDER BY w.place) - w.entries) / $3::bigint AS piece
      FROM (
        SELECT
          i.place, CASE WHEN \(pulls("$2")) THEN 0 ELSE coalesce(c.followers, 0) END AS entries
        FROM unnest($1::text[]) WITH ORDINALITY AS i (author_id, place)
        LEFT JOIN users u ON u.user_id = i.author_id
        LEFT JOIN follow_counts c ON c.user_key = u.user_key
        LEFT JOIN pull_authors a ON a.author = u.user_key
      ) w
    )
    SELECT
      p.sizes, set_config('magpie.is_cut', (cardinality(p.sizes) > 1)::text, true)
    FROM (
      SELECT array_agg(s.events ORDER BY s.piece) AS sizes
      FROM (SELECT floor(w.piece) AS piece, count(*) AS events FROM weighed w GROUP BY 1) s
    ) p
    """

  /// Removes the posts that this batch replaces, and their feed entries.
  /// $1 posts, $2 and $3 versions, $4 the maximum number of entries to delete.
  ///
  /// Beyond that, the entries of the posts with the most readers stay, and their keys are retired.
  ///
  /// The author is locked, so `follows` tells which feeds have an entry. If the author is not
  /// locked (the post changed its author after `lockAuthors`), the transaction restarts.
  static let takeBack = """
    -- Delete the old versions; restart if an author is not locked.
    WITH replaced AS (
      DELETE FROM posts p
      USING unnest($1::text[], $2::timestamptz[], $3::text[]) AS i (post_id, time, id)
      WHERE p.post_id = i.post_id AND (p.version_time, p.version_id) < (i.time, i.id)
        AND NOT current_setting('magpie.is_cut')::boolean
      RETURNING
        p.post_key, p.delivery,
        CASE
          WHEN p.author::text
            = ANY (string_to_array(current_setting('magpie.locked_authors'), ','))
          THEN p.author
          ELSE feeds_retry('the author of a post changed concurrently')
        END AS author
    ),
    -- The running total of entries to delete, posts with the fewest followers first.
    weighed AS MATERIALIZED (
      SELECT
        r.post_key, r.author,
        sum(coalesce(c.followers, 0)) OVER (ORDER BY coalesce(c.followers, 0), r.post_key) AS rows
      FROM replaced r LEFT JOIN follow_counts c ON c.user_key = r.author
      WHERE r.delivery = 'push' AND r.post_key IS NOT NULL
    ),
    -- Beyond $4 entries: retire the keys and queue a sweep.
    retired AS (
      INSERT INTO retired_keys (post_key)
      SELECT w.post_key FROM weighed w WHERE w.rows > $4::bigint ORDER BY w.post_key
      ON CONFLICT DO NOTHING
    ),
    queued AS (
      INSERT INTO feed_trims (kind, person)
      SELECT 'garbage', pg_current_xact_id()::text::bigint
      WHERE EXISTS (SELECT FROM weighed w WHERE w.rows > $4::bigint)
        AND NOT EXISTS (SELECT FROM feed_trims t WHERE t.kind = 'garbage' AND t.person > 0)
      ON CONFLICT DO NOTHING
    ),
    -- Up to $4 entries: delete them now.
    doomed AS MATERIALIZED (
      SELECT f.follower AS owner, w.post_key
      FROM weighed w JOIN follows f ON f.followee = w.author AND f.active
      WHERE w.rows <= $4::bigint
    )
    DELETE FROM feed_entries e
    USING doomed d
    WHERE e.owner = d.owner AND e.post_key = d.post_key
    """

  /// Stores the missing posts (new, or just removed by `takeBack`) and returns their deliveries:
  /// one row per author, with the keys of the author's posts, the followers, and the followers'
  /// floors if any of them matters (NULL: 0). The author is locked, so until the commit nobody
  /// follows or unfollows them and no follower's floor is lowered.
  ///
  /// $1 posts, $2 authors, $3 keys (NULL: deleted), $4 titles, $5 captions, $6 image URLs, $7 and
  /// $8 versions, $9 push limit, $10 the probability that a post queues its readers' feeds for
  /// trimming.
  ///
  /// If the key of a post is taken, in the table or by another post of the batch, a random one of
  /// the 2^20 keys from its microsecond on is drawn, above the 2^11 regular keys of that
  /// microsecond. The n-th of m such posts draws from the n-th of m equal parts, so posts of one
  /// microsecond never draw the same key. 32 draws fail only if nearly all keys are taken; then the
  /// table's constraint rejects the post. A retired key stays taken.
  ///
  /// `high` holds the feeds whose floor is above the oldest new post. There are usually few, so
  /// looking up followers among them in memory is cheaper than looking up each follower in `feeds`
  /// (measured: a tenth to a fifth of the statement's time).
  static let publish = """
    -- The posts to insert; crowded: the key is taken.
    WITH missing AS (
      SELECT
        i.*, u.user_key,
        i.post_key IS NOT NULL AND (
          row_number() OVER (PARTITION BY i.post_key ORDER BY i.post_id COLLATE "C") > 1
          OR EXISTS (SELECT FROM posts p WHERE p.post_key = i.post_key)
          OR EXISTS (SELECT FROM retired_keys r WHERE r.post_key = i.post_key)
        ) AS crowded
      FROM unnest(
          $1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[],
          $7::timestamptz[], $8::text[])
        AS i (post_id, author_id, post_key, title, caption, image_url, time, id)
      JOIN users u ON u.user_id = i.author_id
      WHERE NOT EXISTS (SELECT FROM posts p WHERE p.post_id = i.post_id)
        AND NOT current_setting('magpie.is_cut')::boolean
    ),
    -- The part of the key range that each crowded post draws from.
    numbered AS (
      SELECT
        m.*,
        row_number() OVER (PARTITION BY m.crowded ORDER BY m.post_key, m.post_id COLLATE "C") - 1
          AS part,
        count(*) OVER (PARTITION BY m.crowded) AS parts
      FROM missing m
    ),
    -- Push or pull.
    weighed AS MATERIALIZED (
      SELECT n.*, a.pulling, \(pulls("$9")) AS pulls
      FROM numbered n
      LEFT JOIN follow_counts c ON c.user_key = n.user_key
      LEFT JOIN pull_authors a ON a.author = n.user_key
    ),
    -- The final keys; a crowded post draws one of the free keys near its own.
    keyed AS MATERIALIZED (
      SELECT
        n.post_id,
        CASE WHEN n.crowded THEN (
          SELECT d.post_key
          FROM (
            SELECT (n.post_key >> 11 << 11) + 2048
              + floor((n.part + random()) / n.parts * (1048576 - 2048))::bigint AS post_key
            FROM generate_series(1, 32)
          ) d
          WHERE NOT EXISTS (SELECT FROM posts p WHERE p.post_key = d.post_key)
            AND NOT EXISTS (SELECT FROM retired_keys r WHERE r.post_key = d.post_key)
          LIMIT 1
        ) ELSE n.post_key END AS post_key,
        n.user_key, CASE WHEN n.pulls THEN 'pull' ELSE 'push' END AS delivery,
        n.post_key IS NULL AS deleted, n.title, n.caption, n.image_url, n.time, n.id
      FROM weighed n
    ),
    stored AS (
      INSERT INTO posts (
        post_id, post_key, author, delivery, deleted, title, caption, image_url,
        version_time, version_id)
      SELECT
        k.post_id, k.post_key, k.user_key, k.delivery, k.deleted, k.title, k.caption, k.image_url,
        k.time, k.id
      FROM keyed k
      ORDER BY k.post_key, k.post_id COLLATE "C"
      ON CONFLICT DO NOTHING
      RETURNING post_key, author, delivery, deleted
    ),
    -- Update the authors that changed between push and pull, and new authors with pulled posts.
    pulled AS (
      INSERT INTO pull_authors (author, pulling)
      SELECT w.user_key, bool_or(w.pulls)
      FROM weighed w
      GROUP BY w.user_key
      HAVING coalesce(
        bool_or(w.pulling) <> bool_or(w.pulls), bool_or(w.pulls AND w.post_key IS NOT NULL))
      ORDER BY w.user_key
      ON CONFLICT (author) DO UPDATE SET pulling = excluded.pulling
    ),
    -- The feeds whose floor excludes some of the posts; beyond 10,000 each follower is looked up.
    high AS MATERIALIZED (
      SELECT b.owner
      FROM feeds b
      WHERE b.floor > (
        SELECT min(s.post_key) FROM stored s WHERE s.delivery = 'push' AND NOT s.deleted)
      LIMIT 10001
    ),
    -- Sometimes queue the author's followers for trimming.
    queued AS (
      INSERT INTO feed_trims (kind, person)
      SELECT DISTINCT 'followers', s.author
      FROM stored s
      WHERE s.delivery = 'push' AND NOT s.deleted AND random() < $10::double precision
      ORDER BY s.author
      ON CONFLICT DO NOTHING
    )
    -- One row per author: keys, followers, floors.
    SELECT a.posts, r.readers, r.floors
    FROM (
      SELECT
        s.author, array_agg(s.post_key ORDER BY s.post_key) AS posts, max(s.post_key) AS newest
      FROM stored s
      WHERE s.delivery = 'push' AND NOT s.deleted
      GROUP BY s.author
    ) a
    CROSS JOIN LATERAL (
      SELECT
        array_agg(f.follower) AS readers,
        CASE WHEN count(f.floor) > 0 THEN array_agg(f.floor) END AS floors
      FROM (
        SELECT
          f.follower,
          CASE
            WHEN (SELECT count(*) FROM high) > 10000 OR f.follower IN (SELECT owner FROM high)
            THEN (SELECT b.floor FROM feeds b WHERE b.owner = f.follower)
          END AS floor
        FROM follows f
        WHERE f.followee = a.author AND f.active
      ) f
      WHERE coalesce(f.floor, 0) <= a.newest
    ) r
    WHERE r.readers IS NOT NULL
    """

  /// Restarts the transaction unless every post of the batch is stored in this version or a newer
  /// one; returns how many are pulled. $1 posts, $2 and $3 versions.
  ///
  /// A missing post means that another transaction concurrently stored the same post or took its
  /// key.
  static let confirm = """
    SELECT count(
      CASE
        WHEN p.post_id IS NULL
        THEN feeds_retry('another transaction concurrently wrote the same post or key')
        WHEN p.delivery = 'pull' AND NOT p.deleted THEN 1
      END) AS pulled
    FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS i (post_id, time, id)
    LEFT JOIN posts p
      ON p.post_id = i.post_id AND (p.version_time, p.version_id) >= (i.time, i.id)
    WHERE NOT current_setting('magpie.is_cut')::boolean
    """
}
