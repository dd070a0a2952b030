/// The statements of a batch of posts, in the order in which they run, each with a snapshot of its
/// own (READ COMMITTED), so that each sees what was committed before it got its locks' rows.
enum PostSQL {
  /// Locks the row of every author whose posts this batch writes, the new author and the one that
  /// the post has now, and remembers them for `takeBack`. $1 posts, $2 authors.
  ///
  /// Under these locks nobody else changes who reads these authors, what they posted, or their
  /// number of followers.
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

  /// Whether the author `a`, of whom `c` are the counts, has posts pulled: at the push limit, $N, and
  /// then until there are fewer than four fifths of it.
  private static func pulls(_ pushLimit: String) -> String {
    """
    (coalesce(c.followers, 0) >= \(pushLimit)::bigint
      OR (coalesce(a.pulling, false) AND coalesce(c.followers, 0) * 5 >= \(pushLimit)::bigint * 4))
    """
  }

  /// How many entries the batch would write, now that the authors are locked; answers into how many
  /// events each it is to be cut. $1 the author of each event (NULL: nothing is delivered), $2 push
  /// limit, $3 how many entries to write at most, give or take one post's.
  ///
  /// If it is to be cut, the statements behind this one do nothing. Pieces are measured once more, so
  /// this may count too much (a version that is not the newest, a post that is there already), never
  /// too little.
  static let measure = """
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
  /// $1 posts, $2 and $3 versions, $4 how many entries at most.
  ///
  /// Beyond that, beginning with the posts that have the most readers, the entries stay, and the
  /// keys that they hold are retired.
  ///
  /// Who has an entry is known from follows, because the author is locked. An author who is not
  /// (the post moved to them after `lockAuthors` looked) makes the transaction start again.
  static let takeBack = """
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
          ELSE feeds_retry('a post got another author meanwhile')
        END AS author
    ),
    weighed AS MATERIALIZED (
      SELECT
        r.post_key, r.author,
        sum(coalesce(c.followers, 0)) OVER (ORDER BY coalesce(c.followers, 0), r.post_key) AS rows
      FROM replaced r LEFT JOIN follow_counts c ON c.user_key = r.author
      WHERE r.delivery = 'push' AND r.post_key IS NOT NULL
    ),
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
    doomed AS MATERIALIZED (
      SELECT f.follower AS owner, w.post_key
      FROM weighed w JOIN follows f ON f.followee = w.author AND f.active
      WHERE w.rows <= $4::bigint
    )
    DELETE FROM feed_entries e
    USING doomed d
    WHERE e.owner = d.owner AND e.post_key = d.post_key
    """

  /// Stores the posts that are not there (new, or just removed by `takeBack`) and tells to whom they
  /// are to be delivered: a row for each author, with the keys of their posts, their followers, and,
  /// where it matters, the floors of these (NULL: 0). The author is locked, so until the commit nobody
  /// follows or unfollows them, and no floor of a follower sinks.
  ///
  /// $1 posts, $2 authors, $3 keys (NULL: deleted), $4 titles, $5 captions, $6 image URLs, $7 and
  /// $8 versions, $9 push limit, $10 the chance of a post to have its readers' feeds trimmed.
  ///
  /// A post whose key is taken, in the table or by another post of the batch, draws one of the
  /// 2^20 keys that start at its microsecond, beyond the 2^11 that posts of that microsecond would
  /// have by themselves. The n-th of m such posts draws from the n-th of m equal parts: no two of
  /// one microsecond draw the same. 32 draws fail only if nearly all are taken; then the table's
  /// constraint refuses the post. A retired key is taken for ever.
  ///
  /// `high` are the feeds whose floor is above any post: commonly few, then a follower is looked up
  /// among them, in memory, instead of each in `feeds` (measured: a tenth to a fifth of the statement).
  static let publish = """
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
    numbered AS (
      SELECT
        m.*,
        row_number() OVER (PARTITION BY m.crowded ORDER BY m.post_key, m.post_id COLLATE "C") - 1
          AS part,
        count(*) OVER (PARTITION BY m.crowded) AS parts
      FROM missing m
    ),
    weighed AS MATERIALIZED (
      SELECT n.*, a.pulling, \(pulls("$9")) AS pulls
      FROM numbered n
      LEFT JOIN follow_counts c ON c.user_key = n.user_key
      LEFT JOIN pull_authors a ON a.author = n.user_key
    ),
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
    high AS MATERIALIZED (
      SELECT b.owner
      FROM feeds b
      WHERE b.floor > (
        SELECT min(s.post_key) FROM stored s WHERE s.delivery = 'push' AND NOT s.deleted)
      LIMIT 10001
    ),
    queued AS (
      INSERT INTO feed_trims (kind, person)
      SELECT DISTINCT 'followers', s.author
      FROM stored s
      WHERE s.delivery = 'push' AND NOT s.deleted AND random() < $10::double precision
      ORDER BY s.author
      ON CONFLICT DO NOTHING
    )
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

  /// Every post of the batch is stored now as this batch has it, or newer; how many are pulled.
  /// $1 posts, $2 and $3 versions.
  ///
  /// If not, another transaction stored the same post or took the same key at the same moment.
  static let confirm = """
    SELECT count(
      CASE
        WHEN p.post_id IS NULL
        THEN feeds_retry('a post or its key was written by another transaction meanwhile')
        WHEN p.delivery = 'pull' AND NOT p.deleted THEN 1
      END) AS pulled
    FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS i (post_id, time, id)
    LEFT JOIN posts p
      ON p.post_id = i.post_id AND (p.version_time, p.version_id) >= (i.time, i.id)
    WHERE NOT current_setting('magpie.is_cut')::boolean
    """
}
