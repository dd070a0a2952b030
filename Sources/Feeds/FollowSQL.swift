/// The statements of a batch of follows, in the order in which they run, each with a snapshot of
/// its own (READ COMMITTED).
enum FollowSQL {
  /// Locks everybody who is followed or unfollowed, as authors: meanwhile nobody delivers their
  /// posts, edits or deletes them. $1 followees.
  static let lockFollowees = """
    SELECT u.user_key
    FROM users u
    WHERE u.user_id = ANY ($1::text[])
    ORDER BY u.user_key
    FOR NO KEY UPDATE
    """

  /// Locks the feeds of those who begin to follow: nobody stores them again meanwhile. $1 followers.
  ///
  /// A feed without a row gets one here, in key order among the others: `apply` may raise its floor, and
  /// must not wait for a row then. DO UPDATE locks the rows that are there and, WHERE false, leaves
  /// them as they are.
  static let lockFeeds = """
    INSERT INTO feeds (owner, floor)
    SELECT u.user_key, 0 FROM users u WHERE u.user_id = ANY ($1::text[]) ORDER BY u.user_key
    ON CONFLICT (owner) DO UPDATE SET floor = feeds.floor WHERE false
    """

  /// Stores the follows that are newer; those whose `active` flipped move both people's counts,
  /// backfill the follower's feed with the followee's posts or prune it of them.
  /// $1 followees, $2 followers, $3 active, $4 and $5 versions, $6 the length of a feed, $7 how many
  /// entries to write at most, $8 an entry's chance to have its feed trimmed.
  ///
  /// `newer` compares with what this statement's snapshot shows, which is also what is in the rows,
  /// because the followees are locked. A feed is given no more entries than its length: then its floor
  /// rises to the last of them, or, where an author has more posts, above the first of those beyond
  /// it (their keys are up to 2^20 off the order of time). Beyond $7 entries, beginning with the
  /// feeds that would get most, the feed is not stored for now.
  ///
  /// A follower's count is reached from many followees, so counts are taken in key order.
  static let apply = """
    WITH newer AS MATERIALIZED (
      SELECT
        e.user_key AS followee, r.user_key AS follower, i.active, i.time, i.id,
        i.active <> coalesce(f.active, false) AS flips
      FROM unnest($1::text[], $2::text[], $3::boolean[], $4::timestamptz[], $5::text[])
        AS i (followee_id, follower_id, active, time, id)
      JOIN users e ON e.user_id = i.followee_id
      JOIN users r ON r.user_id = i.follower_id
      LEFT JOIN follows f ON f.followee = e.user_key AND f.follower = r.user_key
      WHERE f.followee IS NULL OR (f.version_time, f.version_id) < (i.time, i.id)
    ),
    stored AS (
      INSERT INTO follows (followee, follower, active, version_time, version_id)
      SELECT followee, follower, active, time, id FROM newer ORDER BY followee, follower
      ON CONFLICT (followee, follower) DO UPDATE
        SET active = excluded.active, version_time = excluded.version_time,
          version_id = excluded.version_id
    ),
    flipped AS (SELECT followee, follower, active FROM newer WHERE flips),
    counted AS (
      INSERT INTO follow_counts (user_key, followers, following)
      SELECT c.user_key, sum(c.followers), sum(c.following)
      FROM (
        SELECT f.followee, CASE WHEN f.active THEN 1 ELSE -1 END, 0 FROM flipped f
        UNION ALL
        SELECT f.follower, 0, CASE WHEN f.active THEN 1 ELSE -1 END FROM flipped f
      ) c (user_key, followers, following)
      GROUP BY c.user_key
      ORDER BY c.user_key
      ON CONFLICT (user_key) DO UPDATE
        SET followers = follow_counts.followers + excluded.followers,
          following = follow_counts.following + excluded.following
    ),
    candidates AS MATERIALIZED (
      SELECT f.follower AS owner, p.post_key, p.cut
      FROM flipped f
      LEFT JOIN feeds b ON b.owner = f.follower
      CROSS JOIN LATERAL (
        SELECT
          n.post_key,
          CASE WHEN count(*) OVER () <= $6::bigint THEN 0
            ELSE feeds_time_key(min(n.version_time) OVER ()) + 1048576 END AS cut
        FROM (
          SELECT p.post_key, p.version_time
          FROM posts p
          WHERE p.author = f.followee AND NOT p.deleted AND p.delivery = 'push'
            AND p.version_time >= feeds_key_time(coalesce(b.floor, 0) - 1048576)
            AND p.post_key >= coalesce(b.floor, 0)
          ORDER BY p.version_time DESC, p.post_id DESC
          LIMIT $6::bigint + 1
        ) n
      ) p
      WHERE f.active
    ),
    ranked AS (
      SELECT
        owner, post_key, max(cut) OVER (PARTITION BY owner) AS cut,
        count(*) OVER (PARTITION BY owner) AS total,
        row_number() OVER (PARTITION BY owner ORDER BY post_key DESC) AS place
      FROM candidates
    ),
    weighed AS (
      SELECT
        owner, post_key,
        greatest(
          cut,
          CASE WHEN total > $6::bigint
            THEN min(post_key) FILTER (WHERE place <= $6::bigint) OVER (PARTITION BY owner) END
        ) AS floor,
        count(*) FILTER (WHERE place <= $6::bigint)
          OVER (ORDER BY least(total, $6::bigint), owner) AS rows
      FROM ranked
    ),
    wanted AS MATERIALIZED (
      SELECT
        owner, post_key,
        CASE WHEN rows > $7::bigint THEN 9223372036854775807 ELSE floor END AS floor
      FROM weighed
    ),
    raised AS (
      INSERT INTO feeds (owner, floor)
      SELECT DISTINCT owner, floor FROM wanted WHERE floor > 0 ORDER BY owner
      ON CONFLICT (owner) DO UPDATE SET floor = greatest(feeds.floor, excluded.floor)
    ),
    unstored AS (
      INSERT INTO feed_returns (owner)
      SELECT DISTINCT owner FROM wanted WHERE floor = 9223372036854775807 ORDER BY owner
      ON CONFLICT DO NOTHING
    ),
    garbage AS (
      INSERT INTO feed_trims (kind, person)
      SELECT 'garbage', pg_current_xact_id()::text::bigint
      WHERE EXISTS (SELECT FROM wanted WHERE floor > 0)
        AND NOT EXISTS (SELECT FROM feed_trims t WHERE t.kind = 'garbage' AND t.person > 0)
      ON CONFLICT DO NOTHING
    ),
    queued AS (
      INSERT INTO feed_trims (kind, person)
      SELECT 'owner', owner
      FROM wanted
      GROUP BY owner
      HAVING random() < count(*) * $8::double precision
      ORDER BY owner
      ON CONFLICT DO NOTHING
    ),
    backfilled AS (
      INSERT INTO feed_entries (owner, post_key)
      SELECT owner, post_key FROM wanted WHERE post_key >= floor ORDER BY owner, post_key
      RETURNING 1
    ),
    doomed AS MATERIALIZED (
      SELECT f.follower AS owner, p.post_key
      FROM flipped f
      LEFT JOIN feeds b ON b.owner = f.follower
      JOIN posts p ON p.author = f.followee AND NOT p.deleted AND p.delivery = 'push'
        AND p.version_time >= feeds_key_time(coalesce(b.floor, 0) - 1048576)
        AND p.post_key >= coalesce(b.floor, 0)
      WHERE NOT f.active
    ),
    pruned AS (
      DELETE FROM feed_entries e
      USING doomed d
      WHERE e.owner = d.owner AND e.post_key = d.post_key
      RETURNING 1
    )
    SELECT
      (SELECT count(*) FROM backfilled) AS backfilled, (SELECT count(*) FROM pruned) AS pruned
    """
}
