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

  /// Stores the follows that are newer; those whose `active` flipped move both people's counts,
  /// backfill the follower's feed with the followee's posts or prune it of them.
  /// $1 followees, $2 followers, $3 active, $4 and $5 versions.
  ///
  /// `newer` compares with what this statement's snapshot shows, which is also what is in the rows,
  /// because the followees are locked. A follower's count is reached from many followees, so counts
  /// are taken in key order.
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
    backfilled AS (
      INSERT INTO feed_entries (owner, post_key)
      SELECT f.follower, p.post_key
      FROM flipped f
      JOIN posts p ON p.author = f.followee AND NOT p.deleted AND p.delivery = 'push'
      LEFT JOIN feeds b ON b.owner = f.follower
      WHERE f.active AND p.post_key >= coalesce(b.floor, 0)
      ORDER BY f.follower, p.post_key
      RETURNING 1
    ),
    doomed AS MATERIALIZED (
      SELECT f.follower AS owner, p.post_key
      FROM flipped f
      JOIN posts p ON p.author = f.followee AND NOT p.deleted AND p.delivery = 'push'
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
