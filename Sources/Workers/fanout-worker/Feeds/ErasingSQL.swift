/// The statements that delete what an erased person left. $1 is their id, $2 the time up to which they are
/// erased.
///
/// Their order of locks is that of other transactions: see decision 0024. No transaction that applies an event
/// of the person runs meanwhile: see `internUsers`.
enum ErasingSQL {
  /// Their key. A constant to the planner, so that it follows an index until a piece is full.
  private static let key = "(SELECT u.user_key FROM users u WHERE u.user_id = $1)"

  /// Locks the person as an author.
  static let lockAuthor = "SELECT FROM users u WHERE u.user_id = $1 FOR NO KEY UPDATE"

  // MARK: Posts

  /// Deletes the oldest posts, and their feed entries. $3 the time of the last post done, $4 the maximum number of
  /// posts, $5 of entries.
  static let posts = """
    WITH replaced AS (
      DELETE FROM posts p
      USING (
        SELECT p.post_id FROM posts p
        WHERE p.author = \(key) AND NOT p.deleted AND p.first_at <= $2 AND p.version_time <= $2
          AND p.first_at >= coalesce(nullif($3, '')::timestamptz, '-infinity')
        ORDER BY p.first_at, p.post_id
        LIMIT $4::bigint
      ) d
      WHERE p.post_id = d.post_id
      RETURNING p.post_key, p.delivery, p.author, p.first_at
    ),
    \(PostSQL.prune("$5")),
    moved AS (
      UPDATE fanout_erasures
      SET position = (SELECT max(first_at)::text FROM replaced)
      WHERE user_id = $1 AND EXISTS (SELECT FROM replaced)
    )
    SELECT EXISTS (SELECT FROM replaced)
    """

  /// Deletes the tombstones of posts. $3 their maximum number.
  static let deletions = """
    DELETE FROM posts p
    USING (
      SELECT p.post_id FROM posts p
      WHERE p.author = \(key) AND p.deleted AND p.version_time <= $2
      LIMIT $3::bigint
    ) d
    WHERE p.post_id = d.post_id
    """

  /// Later tombstones: nothing was published before. $3 their maximum number.
  static let laterDeletions = """
    UPDATE posts p
    SET first_at = 'infinity'
    FROM (
      SELECT p.post_id FROM posts p
      WHERE p.author = \(key) AND p.deleted AND p.version_time > $2 AND p.first_at <= $2
      LIMIT $3::bigint
    ) d
    WHERE p.post_id = d.post_id
    """

  /// Removes posts that were published before and after, to be applied again as their newest event.
  /// $3 the maximum number of posts, $4 of entries.
  static let laterPosts = """
    WITH replaced AS (
      DELETE FROM posts p
      USING (
        SELECT p.post_id FROM posts p
        WHERE p.author = \(key) AND NOT p.deleted AND p.first_at <= $2 AND \(hasPosts)
        ORDER BY p.first_at, p.post_id
        LIMIT (
          SELECT greatest(1, least($3::bigint, $4::bigint / (1 + coalesce(max(c.followers), 0))))
          FROM follow_counts c WHERE c.user_key = \(key))
      ) d
      WHERE p.post_id = d.post_id
      RETURNING p.*
    ),
    \(PostSQL.prune("$4"))
    SELECT post_id, title, caption, image_url, version_time, version_id FROM replaced
    """

  /// Usually false after `posts`, so that the index, full of what was deleted, is not read.
  private static let hasPosts =
    "EXISTS (SELECT FROM author_posts a WHERE a.author = \(key) AND a.posts > 0)"

  // MARK: Follows

  /// Deletes the next follows of the person, and the entries of what the person has published since, as an unfollow
  /// does. $3 the last follower done, $4 the maximum number of follows, $5 of entries.
  static let followers = """
    WITH slice AS MATERIALIZED (
      SELECT f.followee, f.follower FROM follows f
      WHERE f.followee = \(key) AND f.follower > $3::bigint
      ORDER BY f.follower
      LIMIT (
        SELECT greatest(1, least($4::bigint, $5::bigint / (1 + coalesce(max(a.posts), 0))))
        FROM author_posts a WHERE a.author = \(key))
    ),
    \(erase),
    moved AS (
      UPDATE fanout_erasures
      SET position = (SELECT max(follower)::text FROM slice)
      WHERE user_id = $1 AND EXISTS (SELECT FROM slice)
    ),
    \(FollowSQL.prune(if: hasPosts))
    SELECT EXISTS (SELECT FROM slice)
    """

  /// Picks follows by the person. $3 the maximum number.
  static let pickFollowees = """
    SELECT set_config('magpie.erased_followees', coalesce(string_agg(followee::text, ','), ''), true)
    FROM (
      (
        SELECT f.followee FROM follows f
        WHERE f.follower = \(key) AND f.active AND f.version_time <= $2
        ORDER BY f.version_time LIMIT $3::bigint
      )
      UNION ALL
      (
        SELECT f.followee FROM follows f
        WHERE f.follower = \(key) AND NOT f.active AND f.version_time <= $2
        ORDER BY f.version_time LIMIT $3::bigint
      )
      LIMIT $3::bigint
    ) f
    """

  private static let pickedFollowees =
    "unnest(string_to_array(current_setting('magpie.erased_followees'), ',')::bigint[])"

  /// Locks them as authors.
  static let lockFollowees = """
    SELECT u.user_key
    FROM users u
    WHERE u.user_key IN (SELECT \(pickedFollowees))
    ORDER BY u.user_key
    FOR NO KEY UPDATE
    """

  /// Raises the floor of the person's feed above everything, so that no entry need be deleted with a follow.
  static let closeFeed = """
    INSERT INTO feeds (owner, floor)
    SELECT u.user_key, 9223372036854775807 FROM users u
    WHERE u.user_id = $1 AND current_setting('magpie.erased_followees') <> ''
    ON CONFLICT (owner) DO UPDATE SET floor = excluded.floor WHERE feeds.floor < excluded.floor
    """

  /// Deletes the picked follows.
  static let followees = """
    WITH slice AS MATERIALIZED (
      SELECT i.followee, \(key) AS follower FROM \(pickedFollowees) AS i (followee)
    ),
    \(erase)
    SELECT EXISTS (SELECT FROM slice)
    """

  /// The part of a statement that deletes those follows of `slice` that are old enough, and adjusts the counts.
  /// Those that were active are `flipped`.
  private static let erase = """
    deleted AS (
      DELETE FROM follows f
      USING slice s
      WHERE f.followee = s.followee AND f.follower = s.follower AND f.version_time <= $2
      RETURNING f.followee, f.follower, f.active
    ),
    flipped AS (SELECT followee, follower, false AS active FROM deleted WHERE active),
    \(FollowSQL.count)
    """

  // MARK: Messages

  /// Finds the next conversations, their messages to be erased, and who sent those that stay theirs. $3 the last
  /// peer done, $4 the maximum number of conversations, $5 of messages.
  static let pickMessages = """
    WITH pairs AS MATERIALIZED (
      SELECT c.owner, c.peer, p.user_id
      FROM conversations c JOIN users p ON p.user_key = c.peer
      WHERE c.owner = \(key) AND c.peer > $3::bigint
      ORDER BY c.peer
      LIMIT $4::bigint
    ),
    old AS MATERIALIZED (
      SELECT m.message_id, p.user_id, m.sender <> p.owner AND NOT \(isErased("p.user_id")) AS stays
      FROM pairs p
      CROSS JOIN LATERAL (
        SELECT m.message_id, m.sender, m.version_time
        FROM messages m
        WHERE least(m.sender, m.receiver) = least(p.owner, p.peer)
          AND greatest(m.sender, m.receiver) = greatest(p.owner, p.peer) AND m.version_time <= $2
        ORDER BY m.version_time, m.message_id
        LIMIT $5::bigint
      ) m
      LIMIT $5::bigint
    )
    SELECT
      (SELECT coalesce(array_agg(user_id), '{}') FROM pairs) AS peers,
      (SELECT max(peer)::text FROM pairs) AS last,
      coalesce(array_agg(message_id), '{}') AS messages,
      coalesce(array_agg(DISTINCT user_id) FILTER (WHERE stays), '{}') AS senders
    FROM old
    """

  /// Whether the sender of the message `m`, too, was erased at that time or later.
  private static func isErased(_ sender: String) -> String {
    """
    EXISTS (
      SELECT FROM fanout_erasures q WHERE q.user_id = \(sender) AND q.erased_at >= m.version_time)
    """
  }

  /// Deletes the messages that the person sent, and gives those that they received to their former id. $3 the
  /// messages, $4 the former id.
  static let messages = """
    WITH old AS MATERIALIZED (
      SELECT m.message_id, s.user_id <> $1 AND NOT \(isErased("s.user_id")) AS stays
      FROM messages m JOIN users s ON s.user_key = m.sender
      WHERE m.message_id = ANY ($3::text[]) AND \(key) IN (m.sender, m.receiver)
        AND m.version_time <= $2
    ),
    deleted AS (
      DELETE FROM messages m USING old o WHERE m.message_id = o.message_id AND NOT o.stays
    )
    UPDATE messages m
    SET receiver = f.user_key
    FROM old o, users f
    WHERE m.message_id = o.message_id AND o.stays AND f.user_id = $4
    """

  /// Takes back what was read, and deletes the conversations of which nothing is left. $3 the peers.
  static let conversations = """
    WITH sides AS MATERIALIZED (
      SELECT
        s.owner, s.peer, c.read_at,
        bool_and(c.last_message_id IS NULL AND c.read_at <= $2)
          OVER (PARTITION BY least(s.owner, s.peer), greatest(s.owner, s.peer)) AS is_empty
      FROM (
        SELECT \(key), p.user_key FROM users p WHERE p.user_id = ANY ($3::text[])
        UNION
        SELECT p.user_key, \(key) FROM users p WHERE p.user_id = ANY ($3::text[])
      ) s (owner, peer)
      JOIN conversations c ON c.owner = s.owner AND c.peer = s.peer
    ),
    deleted AS (
      DELETE FROM conversations c USING sides s
      WHERE c.owner = s.owner AND c.peer = s.peer AND s.is_empty
    )
    UPDATE conversations c
    SET read_at = '-infinity'
    FROM sides s
    WHERE c.owner = s.owner AND c.peer = s.peer AND NOT s.is_empty
      AND s.read_at <= $2 AND s.read_at > '-infinity'
    """

  // MARK: The feed, and what is left

  /// Locks the person's feed, so that no other transaction restores it.
  static let lockFeed = "SELECT FROM feeds b WHERE b.owner = \(key) FOR NO KEY UPDATE"

  /// Deletes entries below the floor of the person's feed. Skips those that another transaction deletes.
  /// $2 the maximum number.
  static let entries = """
    WITH doomed AS MATERIALIZED (
      SELECT e.owner, e.post_key FROM feed_entries e
      WHERE e.owner = \(key)
        AND e.post_key < (SELECT b.floor FROM feeds b WHERE b.owner = \(key))
      ORDER BY e.post_key
      LIMIT $2::bigint
      FOR UPDATE SKIP LOCKED
    )
    DELETE FROM feed_entries e USING doomed d WHERE e.owner = d.owner AND e.post_key = d.post_key
    """

  /// Removes the person from the queues and from the visits. Skips rows that another lane works on.
  static let queues = """
    WITH trims AS (
      DELETE FROM feed_trims t
      WHERE (t.kind, t.person) IN (
        SELECT t.kind, t.person FROM feed_trims t
        WHERE t.kind IN ('owner', 'followers') AND t.person = \(key)
        FOR UPDATE SKIP LOCKED)
    ),
    returns AS (
      DELETE FROM feed_returns r
      WHERE r.owner IN (
        SELECT r.owner FROM feed_returns r WHERE r.owner = \(key) FOR UPDATE SKIP LOCKED)
    )
    DELETE FROM feed_visits v
    WHERE v.user_id IN (
      SELECT v.user_id FROM feed_visits v WHERE v.user_id = $1 FOR UPDATE SKIP LOCKED)
    """

  /// Whether some of these are left.
  static let hasRest = """
    SELECT EXISTS (SELECT FROM feed_visits v WHERE v.user_id = $1)
      OR EXISTS (SELECT FROM feed_trims t WHERE t.kind IN ('owner', 'followers') AND t.person = \(key))
      OR EXISTS (SELECT FROM feed_returns r WHERE r.owner = \(key))
      OR EXISTS (
        SELECT FROM feed_entries e
        WHERE e.owner = \(key)
          AND e.post_key < (SELECT b.floor FROM feeds b WHERE b.owner = \(key)))
    """

  /// Locks the person against everybody.
  static let lockPerson = "SELECT FROM users u WHERE u.user_id = $1 FOR UPDATE"

  /// Deletes the person, if nothing of a new life refers to them, and else has their feed stored again.
  ///
  /// Whatever is left is later than $2, which saves reading index entries of all that was deleted.
  static let person = """
    WITH gone AS (
      DELETE FROM users u
      WHERE u.user_id = $1
        AND NOT EXISTS (
          SELECT FROM follows f WHERE f.followee = u.user_key AND f.active AND f.version_time > $2)
        AND NOT EXISTS (
          SELECT FROM follows f WHERE f.followee = u.user_key AND NOT f.active AND f.version_time > $2)
        AND NOT EXISTS (
          SELECT FROM follows f WHERE f.follower = u.user_key AND f.active AND f.version_time > $2)
        AND NOT EXISTS (
          SELECT FROM follows f WHERE f.follower = u.user_key AND NOT f.active AND f.version_time > $2)
        AND NOT EXISTS (
          SELECT FROM posts p WHERE p.author = u.user_key AND NOT p.deleted AND p.first_at > $2)
        AND NOT EXISTS (
          SELECT FROM posts p WHERE p.author = u.user_key AND p.deleted AND p.version_time > $2)
        AND NOT EXISTS (
          SELECT FROM conversations c
          WHERE c.owner = u.user_key AND c.last_message_id IS NOT NULL AND c.last_time > $2)
        -- Those that neither side has read since are gone.
        AND NOT EXISTS (
          SELECT FROM conversations c WHERE c.owner = u.user_key AND c.last_message_id IS NULL)
      RETURNING u.user_key
    ),
    feed AS (DELETE FROM feeds b USING gone g WHERE b.owner = g.user_key),
    pulling AS (DELETE FROM pull_authors a USING gone g WHERE a.author = g.user_key),
    counts AS (DELETE FROM follow_counts c USING gone g WHERE c.user_key = g.user_key),
    numbers AS (DELETE FROM author_posts c USING gone g WHERE c.author = g.user_key)
    INSERT INTO feed_returns (owner)
    SELECT b.owner FROM feeds b
    WHERE b.owner = \(key) AND b.floor = 9223372036854775807 AND NOT EXISTS (SELECT FROM gone)
    ON CONFLICT DO NOTHING
    """

  /// Deletes what a trim has added since, if the person is gone.
  static let visits = """
    DELETE FROM feed_visits v
    WHERE v.user_id = $1 AND NOT EXISTS (SELECT FROM users u WHERE u.user_id = v.user_id)
    """
}
