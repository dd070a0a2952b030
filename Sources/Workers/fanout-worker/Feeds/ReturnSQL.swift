/// The statements that restore the feeds of returning readers, in execution order. Each has its own
/// snapshot (READ COMMITTED).
///
/// Lowering a floor promises that all entries above it are stored. So all followed authors are
/// locked in shared mode, which keeps new posts out, and then the feeds, which keeps new follows
/// out.
///
/// Whether a feed is evicted is asked of `floor + 0`, which no index has: until statistics know how many
/// are, the planner expects one, and would read all of them by `feeds_by_floor`.
enum ReturnSQL {
  /// Picks a few readers from the queue. Only locks their rows; `SettleSQL` removes them. $1 the
  /// maximum number of readers, $2 of authors they follow, give or take one reader's, who follows at
  /// most $3. Whoever follows more is taken off the queue: their pages are joined. $4 whether feeds are trimmed
  /// instead if any are queued for that: the first is locked, so that `TrimSQL.pick` finds it.
  ///
  /// `magpie.feed_order` lets this transaction lower floors: see migration 0019.
  static let pick = """
    WITH trims AS MATERIALIZED (
      SELECT
      FROM feed_trims t
      WHERE t.kind IN ('owner', 'followers') AND $4::boolean
      ORDER BY t.queued_at
      LIMIT 1
      FOR UPDATE SKIP LOCKED
    ),
    due AS MATERIALIZED (
      SELECT r.owner
      FROM feed_returns r
      WHERE NOT EXISTS (SELECT FROM trims)
      ORDER BY r.owner
      LIMIT $1::bigint
      FOR UPDATE SKIP LOCKED
    ),
    followed AS (
      SELECT
        d.owner, coalesce(c.following, 0) AS following,
        coalesce(c.following, 0) > $3::bigint AS is_left_out
      FROM due d LEFT JOIN follow_counts c ON c.user_key = d.owner
    ),
    weighed AS (
      SELECT
        f.owner, f.is_left_out,
        sum(f.following) FILTER (WHERE NOT f.is_left_out) OVER (ORDER BY f.owner) - f.following
          AS before
      FROM followed f
    ),
    settled AS (SELECT w.owner, w.is_left_out FROM weighed w WHERE w.is_left_out OR w.before < $2::bigint)
    SELECT
      set_config(
        'magpie.returning',
        coalesce(string_agg(owner::text, ',') FILTER (WHERE NOT is_left_out), ''), true),
      set_config(
        'magpie.busy',
        CASE
          WHEN count(*) FILTER (WHERE NOT is_left_out) > 0 THEN 'returning'
          WHEN EXISTS (SELECT FROM trims) THEN 'trimming'
          ELSE ''
        END,
        true),
      set_config('magpie.feed_order', 'first_at', true),
      set_config('magpie.settled', coalesce(string_agg(owner::text, ','), ''), true),
      count(*) FILTER (WHERE NOT is_left_out) AS picked
    FROM settled
    """

  /// Locks the authors that the picked readers follow.
  static let lockFollowees = """
    WITH locked AS MATERIALIZED (
      SELECT u.user_key
      FROM users u
      WHERE u.user_key IN (
        SELECT f.followee
        FROM unnest(string_to_array(current_setting('magpie.returning'), ',')::bigint[]) AS r (owner)
        JOIN follows f ON f.follower = r.owner AND f.active)
      ORDER BY u.user_key
      FOR SHARE
    )
    SELECT
      set_config('magpie.locked_authors', coalesce(string_agg(user_key::text, ','), ''), true)
    FROM locked
    """

  /// Locks the feeds of the picked readers.
  static let lockFeeds = """
    SELECT b.owner
    FROM feeds b
    WHERE b.owner = ANY (string_to_array(current_setting('magpie.returning'), ',')::bigint[])
    ORDER BY b.owner
    FOR NO KEY UPDATE
    """

  /// Restarts the transaction if one of the readers followed another author before the feed was
  /// locked: that author is not locked. From here on none of them can.
  static let confirm = """
    WITH unlocked AS (
      SELECT f.followee
      FROM unnest(string_to_array(current_setting('magpie.returning'), ',')::bigint[]) AS r (owner)
      JOIN follows f ON f.follower = r.owner AND f.active
      EXCEPT
      SELECT unnest(string_to_array(current_setting('magpie.locked_authors'), ',')::bigint[])
    )
    SELECT feeds_retry('a returning reader concurrently followed another author')
    FROM unlocked
    LIMIT 1
    """

  /// Deletes the entries that remain from before the eviction.
  static let clean = """
    WITH doomed AS MATERIALIZED (
      SELECT e.owner, e.post_key
      FROM feeds b JOIN feed_entries e ON e.owner = b.owner
      WHERE b.owner = ANY (string_to_array(current_setting('magpie.returning'), ',')::bigint[])
        AND b.floor + 0 = 9223372036854775807
    )
    DELETE FROM feed_entries e USING doomed d WHERE e.owner = d.owner AND e.post_key = d.post_key
    """

  /// Stores the newest entries of each evicted feed and lowers its floor to the oldest of them.
  /// $1 the length of a feed. The affected rows are the entries stored.
  ///
  /// First samples the newest posts of each followed author, about twice the feed length in total.
  /// The time of the n-th newest of these bounds which posts can be needed. Times are compared with
  /// a margin of 512 microseconds (2^20 keys), because keys deviate from the order of time by up to
  /// that. What is below the floor for all feeds is not stored, and not read: of an author whose posts
  /// are pulled, it would be all of them.
  static let store = """
    -- The followed authors, and how many posts to sample from each.
    WITH people AS MATERIALIZED (
      SELECT
        b.owner, f.followee, 2 * $1::bigint / count(*) OVER (PARTITION BY b.owner) + 1 AS samples
      FROM feeds b JOIN follows f ON f.follower = b.owner AND f.active
      WHERE b.owner = ANY (string_to_array(current_setting('magpie.returning'), ',')::bigint[])
        AND b.floor + 0 = 9223372036854775807
    ),
    -- The time of the $1-th newest sampled post.
    bounds AS MATERIALIZED (
      SELECT s.owner, min(s.first_at) - interval '512 microseconds' AS since
      FROM (
        SELECT
          p.owner, n.first_at,
          row_number() OVER (PARTITION BY p.owner ORDER BY n.first_at DESC) AS place
        FROM people p
        CROSS JOIN LATERAL (
          SELECT t.first_at
          FROM posts t
          WHERE t.author = p.followee AND NOT t.deleted AND t.delivery = 'push'
            AND t.first_at >= \(feedHistoryStart)
          ORDER BY t.first_at DESC, t.post_id DESC
          LIMIT p.samples
        ) n
      ) s
      WHERE s.place = $1::bigint
      GROUP BY s.owner
    ),
    -- Each author's posts since then, $1 + 1 at most;
    -- cut: a floor above all posts beyond $1, 0 if there are none.
    candidates AS (
      SELECT p.owner, n.post_key, n.cut, p.since
      FROM (
        SELECT p.owner, p.followee, r.since
        FROM people p LEFT JOIN bounds r ON r.owner = p.owner
      ) p
      CROSS JOIN LATERAL (
        SELECT
          t.post_key,
          CASE WHEN count(*) OVER () <= $1::bigint THEN 0
            ELSE feeds_time_key(min(t.first_at) OVER ()) + 1048576 END AS cut
        FROM (
          SELECT t.post_key, t.first_at
          FROM posts t
          WHERE t.author = p.followee AND NOT t.deleted AND t.delivery = 'push'
            AND t.first_at >= greatest(p.since, \(feedHistoryStart))
          ORDER BY t.first_at DESC, t.post_id DESC
          LIMIT $1::bigint + 1
        ) t
      ) n
    ),
    ranked AS (
      SELECT
        owner, post_key, since, max(cut) OVER (PARTITION BY owner) AS cut,
        count(*) OVER (PARTITION BY owner) AS total,
        row_number() OVER (PARTITION BY owner ORDER BY post_key DESC) AS place
      FROM candidates
    ),
    -- The new floor of each feed.
    wanted AS MATERIALIZED (
      SELECT
        owner, post_key,
        greatest(
          cut,
          CASE WHEN total > $1::bigint OR since IS NOT NULL
            THEN min(post_key) FILTER (WHERE place <= $1::bigint) OVER (PARTITION BY owner) END
        ) AS floor
      FROM ranked
    ),
    lowered AS (
      UPDATE feeds b
      SET floor = coalesce((SELECT max(w.floor) FROM wanted w WHERE w.owner = b.owner), 0)
      WHERE b.owner = ANY (string_to_array(current_setting('magpie.returning'), ',')::bigint[])
        AND b.floor + 0 = 9223372036854775807
    )
    INSERT INTO feed_entries (owner, post_key)
    SELECT w.owner, w.post_key
    FROM wanted w
    WHERE w.post_key >= greatest(w.floor, \(feedHistoryFloor))
    ORDER BY w.owner, w.post_key
    ON CONFLICT DO NOTHING
    """
}
