/// The statements of a batch of follows, in execution order. Each has its own snapshot
/// (READ COMMITTED).
enum FollowSQL {
  /// Locks all followees, as authors: until the commit no other transaction delivers, edits or
  /// deletes their posts. $1 followees.
  static let lockFollowees = """
    SELECT u.user_key
    FROM users u
    WHERE u.user_id = ANY ($1::text[])
    ORDER BY u.user_key
    FOR NO KEY UPDATE
    """

  /// Locks the feeds of the new followers, so that no other transaction restores them.
  /// $1 followers.
  ///
  /// Inserts missing rows, in key order: `apply` may raise the floor of such a feed and must not
  /// wait for its row then. ON CONFLICT DO UPDATE ... WHERE false locks existing rows without
  /// changing them.
  static let lockFeeds = """
    INSERT INTO feeds (owner, floor)
    SELECT u.user_key, 0 FROM users u WHERE u.user_id = ANY ($1::text[]) ORDER BY u.user_key
    ON CONFLICT (owner) DO UPDATE SET floor = feeds.floor WHERE false
    """

  /// The part of a statement that adjusts both users' counts to the follows that were `flipped`.
  static let count = """
    -- Both users' counts.
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
    )
    """

  /// The part of a statement that deletes the entries of the follows that were `flipped` to inactive, if `condition`
  /// holds.
  static func prune(if condition: String = "true") -> String {
    """
    -- For each unfollow, the entries to delete.
    doomed AS MATERIALIZED (
      SELECT f.follower AS owner, p.post_key
      FROM flipped f
      LEFT JOIN feeds b ON b.owner = f.follower
      JOIN posts p ON p.author = f.followee AND NOT p.deleted AND p.delivery = 'push'
        AND p.first_at >= feeds_key_time(\(floor) - 1048576) AND p.post_key >= \(floor)
      WHERE NOT f.active AND \(condition)
    ),
    pruned AS (
      DELETE FROM feed_entries e
      USING doomed d
      WHERE e.owner = d.owner AND e.post_key = d.post_key
      RETURNING 1
    )
    """
  }

  /// The floor of a feed with the row `b` of `feeds`, if it has one.
  private static let floor = "greatest(b.floor, \(feedHistoryFloor))"

  /// Stores the follows that are newer than the stored ones. Where `active` changes, adjusts both
  /// users' counts and adds the followee's posts to the follower's feed or removes them from it.
  ///
  /// $1 followees, $2 followers, $3 active, $4 and $5 versions, $6 the length of a feed, $7 the
  /// maximum number of entries to write, $8 the probability that an entry queues its feed for
  /// trimming.
  ///
  /// `newer` compares with this statement's snapshot, which is current because the followees are
  /// locked. A feed gets at most $6 entries. If there are more candidates, its floor rises to the
  /// last entry kept; if a single author has more than $6 posts, it rises above the first post
  /// beyond them (keys deviate from the order of time by up to 2^20). Beyond $7 entries in total,
  /// the feeds that would get the most are left unstored for now.
  ///
  /// One user's counts may change through many followees, so counts are locked in key order.
  static let apply = """
    -- The follows that are newer than the stored ones.
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
    flipped AS (SELECT followee, follower, active FROM newer WHERE flips),
    -- PostgreSQL runs what nothing reads in reverse order: counts, which other batches wait for, last.
    \(count),
    stored AS (
      INSERT INTO follows (followee, follower, active, version_time, version_id)
      SELECT followee, follower, active, time, id FROM newer ORDER BY followee, follower
      ON CONFLICT (followee, follower) DO UPDATE
        SET active = excluded.active, version_time = excluded.version_time,
          version_id = excluded.version_id
    ),
    -- For each new follow, the followee's newest posts above the follower's floor;
    -- cut: a floor above all posts beyond the limit, 0 if there are none.
    candidates AS MATERIALIZED (
      SELECT f.follower AS owner, p.post_key, p.cut
      FROM flipped f
      LEFT JOIN feeds b ON b.owner = f.follower
      CROSS JOIN LATERAL (
        SELECT
          n.post_key,
          CASE WHEN count(*) OVER () <= $6::bigint THEN 0
            ELSE feeds_time_key(min(n.first_at) OVER ()) + 1048576 END AS cut
        FROM (
          SELECT p.post_key, p.first_at
          FROM posts p
          WHERE p.author = f.followee AND NOT p.deleted AND p.delivery = 'push'
            AND p.first_at >= feeds_key_time(\(floor) - 1048576) AND p.post_key >= \(floor)
          ORDER BY p.first_at DESC, p.post_id DESC
          LIMIT $6::bigint + 1
        ) n
      ) p
      WHERE f.active
    ),
    -- The candidates of each feed, newest first.
    ranked AS (
      SELECT
        owner, post_key, max(cut) OVER (PARTITION BY owner) AS cut,
        count(*) OVER (PARTITION BY owner) AS total,
        row_number() OVER (PARTITION BY owner ORDER BY post_key DESC) AS place
      FROM candidates
    ),
    -- The new floor of each feed, and the running total of entries, smallest feeds first.
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
    -- Feeds beyond the bound of $7 get the highest floor: they store nothing.
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
    -- Queue unstored feeds for restoring, garbage for sweeping, and grown feeds for trimming.
    unstored AS (
      INSERT INTO feed_returns (owner)
      SELECT DISTINCT owner FROM wanted WHERE floor = 9223372036854775807 ORDER BY owner
      ON CONFLICT DO NOTHING
    ),
    garbage AS (
      \(SweepSQL.request(if: "SELECT FROM wanted WHERE floor > 0"))
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
    \(prune())
    SELECT
      (SELECT count(*) FROM backfilled) AS backfilled, (SELECT count(*) FROM pruned) AS pruned
    """
}
