/// The statements that keep feeds short by eviction and trimming, in execution order within a
/// piece. Each has its own snapshot (READ COMMITTED).
///
/// Both only raise floors. Entries below a floor are garbage, which `SweepSQL` deletes.
enum TrimSQL {
  /// Evicts the feeds of readers who have been away too long, unless this transaction already has
  /// other work. $1 days, $2 the maximum number of readers.
  static let evict = """
    WITH idle AS MATERIALIZED (
      SELECT v.user_id, u.user_key AS owner
      FROM feed_visits v LEFT JOIN users u USING (user_id)
      WHERE v.visited_at < now() - $1::bigint * interval '1 day'
        AND current_setting('magpie.busy') = ''
      ORDER BY v.visited_at
      LIMIT $2::bigint
      FOR UPDATE OF v SKIP LOCKED
    ),
    gone AS (DELETE FROM feed_visits v USING idle i WHERE v.user_id = i.user_id),
    garbage AS (
      \(SweepSQL.request(if: "SELECT FROM idle"))
    ),
    evicted AS (
      INSERT INTO feeds (owner, floor)
      SELECT owner, 9223372036854775807 FROM idle WHERE owner IS NOT NULL ORDER BY owner
      ON CONFLICT (owner) DO UPDATE SET floor = excluded.floor
    )
    SELECT
      set_config(
        'magpie.busy',
        CASE WHEN count(*) > 0 THEN 'evicting' ELSE current_setting('magpie.busy') END, true),
      count(*) AS evicted
    FROM idle
    """

  /// Picks a few feeds to trim, unless this transaction already has other work: queued feeds, and
  /// feeds of the followers of a queued author. $1 the maximum number of each.
  ///
  /// Only locks the rows of the queue, which does not block inserts into it; `SettleSQL` removes
  /// them.
  static let pick = """
    -- Queued feeds.
    WITH due AS MATERIALIZED (
      SELECT t.person
      FROM feed_trims t
      WHERE t.kind = 'owner' AND current_setting('magpie.busy') IN ('', 'trimming')
      ORDER BY t.queued_at
      LIMIT $1::bigint
      FOR UPDATE SKIP LOCKED
    ),
    -- A queued author and the last follower done.
    round AS MATERIALIZED (
      SELECT t.person, t.done_to
      FROM feed_trims t
      WHERE t.kind = 'followers' AND current_setting('magpie.busy') IN ('', 'trimming')
      ORDER BY t.queued_at
      LIMIT 1
      FOR UPDATE SKIP LOCKED
    ),
    -- The next followers of this author. Without a join, the index gives them in order.
    slice AS MATERIALIZED (
      SELECT f.follower
      FROM follows f
      WHERE f.followee = (SELECT person FROM round) AND f.follower > (SELECT done_to FROM round)
        AND f.active
      ORDER BY f.follower
      LIMIT $1::bigint
    )
    SELECT
      set_config('magpie.trimming', coalesce(string_agg(owner::text, ','), ''), true),
      set_config(
        'magpie.trimmed', coalesce((SELECT string_agg(person::text, ',') FROM due), ''), true),
      set_config('magpie.round', coalesce((SELECT person::text FROM round), ''), true),
      set_config(
        'magpie.round_done_to',
        coalesce((SELECT max(follower)::text FROM slice HAVING count(*) = $1::bigint), ''), true),
      count(*) + (SELECT count(*) FROM round) AS picked
    FROM (SELECT person FROM due UNION SELECT follower FROM slice) AS p (owner)
    """

  /// Raises the floor of each feed that is longer than $1 entries to its $1-th newest entry. $2
  /// whether eviction is enabled: readers who have never called feed_touch then get a visit now, so
  /// that their idle time starts to count.
  static let raise = """
    WITH picked AS MATERIALIZED (
      SELECT t.owner, coalesce(b.floor, 0) AS floor
      FROM unnest(string_to_array(current_setting('magpie.trimming'), ',')::bigint[]) AS t (owner)
      LEFT JOIN feeds b ON b.owner = t.owner
    ),
    seen AS (
      INSERT INTO feed_visits (user_id, visited_at)
      SELECT u.user_id, now()
      FROM picked p JOIN users u ON u.user_key = p.owner
      WHERE $2::boolean AND p.floor < 9223372036854775807
        AND NOT EXISTS (SELECT FROM feed_visits v WHERE v.user_id = u.user_id)
      ORDER BY u.user_id
      ON CONFLICT DO NOTHING
    ),
    -- The feeds with more than $1 entries, and their $1-th newest key.
    longer AS MATERIALIZED (
      SELECT p.owner, n.post_key
      FROM picked p
      CROSS JOIN LATERAL (
        SELECT max(e.post_key) AS post_key, count(*) AS entries
        FROM (
          SELECT e.post_key
          FROM feed_entries e
          WHERE e.owner = p.owner AND e.post_key >= p.floor
          ORDER BY e.post_key DESC
          OFFSET $1::bigint - 1 LIMIT 2
        ) e
      ) n
      WHERE n.entries = 2
    ),
    garbage AS (
      \(SweepSQL.request(if: "SELECT FROM longer"))
    )
    INSERT INTO feeds (owner, floor) SELECT owner, post_key FROM longer ORDER BY owner
    ON CONFLICT (owner) DO UPDATE SET floor = greatest(feeds.floor, excluded.floor)
    """
}
