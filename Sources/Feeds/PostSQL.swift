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

  /// Removes the posts that this batch replaces, and their feed entries.
  /// $1 posts, $2 and $3 versions.
  ///
  /// Who has an entry is known from follows, because the author is locked. An author who is not
  /// (the post moved to them after `lockAuthors` looked) makes the transaction start again.
  static let takeBack = """
    WITH replaced AS (
      DELETE FROM posts p
      USING unnest($1::text[], $2::timestamptz[], $3::text[]) AS i (post_id, time, id)
      WHERE p.post_id = i.post_id AND (p.version_time, p.version_id) < (i.time, i.id)
      RETURNING
        p.post_key, p.delivery,
        CASE
          WHEN p.author::text
            = ANY (string_to_array(current_setting('magpie.locked_authors'), ','))
          THEN p.author
          ELSE feeds_retry('a post got another author meanwhile')
        END AS author
    ),
    doomed AS MATERIALIZED (
      SELECT f.follower AS owner, r.post_key
      FROM replaced r JOIN follows f ON f.followee = r.author AND f.active
      WHERE r.delivery = 'push' AND r.post_key IS NOT NULL
    )
    DELETE FROM feed_entries e
    USING doomed d
    WHERE e.owner = d.owner AND e.post_key = d.post_key
    """

  /// Stores the posts that are not there (new, or just removed by `takeBack`) and delivers them.
  /// $1 posts, $2 authors, $3 keys (NULL: deleted), $4 titles, $5 captions, $6 image URLs, $7 and
  /// $8 versions, $9 push limit. Affects as many rows as it delivers.
  ///
  /// A post whose key is taken, in the table or by another post of the batch, draws one of the
  /// 2^20 keys that start at its microsecond, beyond the 2^11 that posts of that microsecond would
  /// have by themselves. The n-th of m such posts draws from the n-th of m equal parts: no two of
  /// one microsecond draw the same. 32 draws fail only if nearly all are taken; then the table's
  /// constraint refuses the post.
  ///
  /// The entries need no ON CONFLICT: nobody can have one for a key that was free until now.
  static let publish = """
    WITH missing AS (
      SELECT
        i.*, u.user_key,
        i.post_key IS NOT NULL AND (
          row_number() OVER (PARTITION BY i.post_key ORDER BY i.post_id COLLATE "C") > 1
          OR EXISTS (SELECT FROM posts p WHERE p.post_key = i.post_key)
        ) AS crowded
      FROM unnest(
          $1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[],
          $7::timestamptz[], $8::text[])
        AS i (post_id, author_id, post_key, title, caption, image_url, time, id)
      JOIN users u ON u.user_id = i.author_id
      WHERE NOT EXISTS (SELECT FROM posts p WHERE p.post_id = i.post_id)
    ),
    numbered AS (
      SELECT
        m.*,
        row_number() OVER (PARTITION BY m.crowded ORDER BY m.post_key, m.post_id COLLATE "C") - 1
          AS part,
        count(*) OVER (PARTITION BY m.crowded) AS parts
      FROM missing m
    ),
    stored AS (
      INSERT INTO posts (
        post_id, post_key, author, delivery, deleted, title, caption, image_url,
        version_time, version_id)
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
          LIMIT 1
        ) ELSE n.post_key END,
        n.user_key,
        CASE WHEN coalesce(c.followers, 0) < $9::bigint THEN 'push' ELSE 'pull' END,
        n.post_key IS NULL, n.title, n.caption, n.image_url, n.time, n.id
      FROM numbered n LEFT JOIN follow_counts c ON c.user_key = n.user_key
      ON CONFLICT DO NOTHING
      RETURNING post_key, author, delivery, deleted
    ),
    pulled AS (
      INSERT INTO pull_authors (author)
      SELECT DISTINCT s.author FROM stored s WHERE s.delivery = 'pull' AND NOT s.deleted
      ORDER BY s.author
      ON CONFLICT DO NOTHING
    )
    INSERT INTO feed_entries (owner, post_key)
    SELECT f.follower, s.post_key
    FROM stored s
    JOIN follows f ON f.followee = s.author AND f.active
    LEFT JOIN feeds b ON b.owner = f.follower
    WHERE s.delivery = 'push' AND NOT s.deleted AND s.post_key >= coalesce(b.floor, 0)
    ORDER BY f.follower, s.post_key
    """

  /// Every post of the batch is stored now as this batch has it, or newer.
  /// $1 posts, $2 and $3 versions.
  ///
  /// If not, another transaction stored the same post or took the same key at the same moment.
  static let confirm = """
    SELECT feeds_retry('a post or its key was written by another transaction meanwhile')
    FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS i (post_id, time, id)
    WHERE NOT EXISTS (
      SELECT FROM posts p
      WHERE p.post_id = i.post_id AND (p.version_time, p.version_id) >= (i.time, i.id))
    LIMIT 1
    """
}
