/// The statements of a batch of messages, in execution order. Each has its own snapshot
/// (READ COMMITTED).
enum MessageSQL {
  /// Locks the pairs whose messages this batch writes, both the new pair of each message and its
  /// current one, and saves them in `magpie.locked_pairs`. $1 messages, $2 and $3 the two people of each
  /// pair.
  ///
  /// A pair's lock is its row with owner <= peer. Creates missing ones in the same statement, because the sweep of an
  /// erased person may delete an empty conversation: ON CONFLICT locks the row that is there, or inserts another.
  static let lockConversations = """
    WITH pairs AS MATERIALIZED (
      SELECT least(a.user_key, b.user_key) AS low, greatest(a.user_key, b.user_key) AS high
      FROM unnest($2::text[], $3::text[]) AS i (sender_id, receiver_id)
      JOIN users a ON a.user_id = i.sender_id
      JOIN users b ON b.user_id = i.receiver_id
      UNION
      SELECT least(m.sender, m.receiver), greatest(m.sender, m.receiver)
      FROM messages m
      WHERE m.message_id = ANY ($1::text[])
    ),
    locked AS (
      INSERT INTO conversations AS c (owner, peer)
      SELECT p.low, p.high FROM pairs p
      ORDER BY p.low, p.high
      ON CONFLICT (owner, peer) DO UPDATE SET read_at = c.read_at WHERE false
    )
    SELECT set_config('magpie.locked_pairs', string_agg(low || '-' || high, ','), true)
    FROM pairs
    """

  /// Creates the missing conversations of the other sides of the locked pairs, empty at first.
  static let ensureOtherSides = """
    INSERT INTO conversations (owner, peer)
    SELECT p.high, p.low FROM (\(lockedPairs)) AS p
    ORDER BY p.high, p.low
    ON CONFLICT DO NOTHING
    """

  private static let lockedPairs = """
    SELECT split_part(p, '-', 1)::bigint AS low, split_part(p, '-', 2)::bigint AS high
    FROM unnest(string_to_array(current_setting('magpie.locked_pairs'), ',')) AS p
    """

  /// Removes the messages that this batch replaces. $1 messages, $2 and $3 versions.
  static let takeBack = """
    DELETE FROM messages m
    USING unnest($1::text[], $2::timestamptz[], $3::text[]) AS i (message_id, time, id)
    WHERE m.message_id = i.message_id AND (m.version_time, m.version_id) < (i.time, i.id)
    RETURNING CASE
      WHEN least(m.sender, m.receiver) || '-' || greatest(m.sender, m.receiver)
        = ANY (string_to_array(current_setting('magpie.locked_pairs'), ','))
      THEN 0
      ELSE feeds_retry('a message concurrently moved to another conversation')
    END
    """

  /// Stores the missing messages (new, or just removed by `takeBack`).
  /// $1 messages, $2 senders, $3 receivers, $4 texts, $5 and $6 versions.
  static let store = """
    INSERT INTO messages (message_id, sender, receiver, text, version_time, version_id)
    SELECT i.message_id, a.user_key, b.user_key, i.text, i.time, i.id
    FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[])
      AS i (message_id, sender_id, receiver_id, text, time, id)
    JOIN users a ON a.user_id = i.sender_id
    JOIN users b ON b.user_id = i.receiver_id
    WHERE NOT EXISTS (SELECT FROM messages m WHERE m.message_id = i.message_id)
    ORDER BY i.message_id COLLATE "C"
    ON CONFLICT DO NOTHING
    """

  /// Restarts the transaction unless every message of the batch is stored in this version or a
  /// newer one. A missing one was written concurrently by another transaction.
  /// $1 messages, $2 and $3 versions.
  static let confirm = """
    SELECT feeds_retry('another transaction concurrently wrote the same message')
    FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS i (message_id, time, id)
    WHERE NOT EXISTS (
      SELECT FROM messages m
      WHERE m.message_id = i.message_id AND (m.version_time, m.version_id) >= (i.time, i.id))
    LIMIT 1
    """

  /// Raises the times up to which people have read. The pairs are locked. $1 readers, $2 peers,
  /// $3 times.
  static let raiseReads = """
    UPDATE conversations c SET read_at = i.time
    FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS i (user_id, peer_id, time)
    JOIN users o ON o.user_id = i.user_id
    JOIN users p ON p.user_id = i.peer_id
    WHERE c.owner = o.user_key AND c.peer = p.user_key AND c.read_at < i.time
    """

  /// Finds the newest message of every locked pair and stores it in both sides' conversations.
  static let refreshConversations = """
    WITH pairs AS MATERIALIZED (\(lockedPairs)),
    sides AS (
      SELECT low AS owner, high AS peer, low, high FROM pairs
      UNION
      SELECT high, low, low, high FROM pairs
    )
    UPDATE conversations c
    SET last_time = l.version_time, last_message_id = l.message_id
    FROM sides s
    LEFT JOIN LATERAL (
      SELECT m.version_time, m.message_id
      FROM messages m
      WHERE least(m.sender, m.receiver) = s.low AND greatest(m.sender, m.receiver) = s.high
      ORDER BY m.version_time DESC, m.message_id DESC
      LIMIT 1
    ) l ON true
    WHERE c.owner = s.owner AND c.peer = s.peer
      AND (c.last_time, c.last_message_id) IS DISTINCT FROM (l.version_time, l.message_id)
    """
}
