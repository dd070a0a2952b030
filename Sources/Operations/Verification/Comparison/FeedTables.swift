/// The floor of a feed with the row `l` of `feeds`, if it has one.
private let floor = "greatest(l.floor, (SELECT h.floor FROM feed_history h))"

/// The fanout-worker's tables.
extension CanonicalTable {
  static let feedTables: [CanonicalTable] = [
    CanonicalTable(
      "follows", .feeds, person: user("r", "f.follower"), key: [user("e", "f.followee")],
      fields: Field.plain("f.active") + Field.version("f"),
      from: """
        FROM follows f LEFT JOIN users e ON e.user_key = f.followee
        LEFT JOIN users r ON r.user_key = f.follower
        """),
    CanonicalTable(
      "follow_counts", .feeds, person: user("u", "c.user_key"), key: [],
      fields: Field.plain("c.followers", "c.following"),
      from: """
        FROM follow_counts c LEFT JOIN users u ON u.user_key = c.user_key
        WHERE (c.followers, c.following) <> (0, 0)
        """),
    CanonicalTable(
      "author_posts", .feeds, person: user("u", "c.author"), key: [],
      fields: Field.plain("c.posts"),
      from: """
        FROM author_posts c LEFT JOIN users u ON u.user_key = c.author WHERE c.posts <> 0
        """),
    CanonicalTable(
      "posts", .feeds, person: user("u", "p.author"), key: ["p.post_id"],
      fields: Field.plain("p.deleted", "p.title", "p.caption", "p.image_url")
        + [Field("first_at", time("nullif(p.first_at, 'infinity')"))] + Field.version("p"),
      from: "FROM posts p LEFT JOIN users u ON u.user_key = p.author"),
    // What feed_page returns down to its last page: entries stored above the floor, posts pulled
    // above it, and the join below it. It is therefore independent of which posts are pushed or
    // pulled and of the floors. Sliced by author, so that each follow and each post is in exactly
    // one slice.
    CanonicalTable(
      "feeds", .feeds, covers: ["feeds", "feed_entries", "feed_history", "pull_authors"],
      person: user("u", "d.owner"), key: ["d.post_id"], fields: [],
      slicedBy: "coalesce(a.user_id, '')",
      from: """
        FROM (
          SELECT e.owner, p.author,
            coalesce(p.post_id, 'no post has the key ' || e.post_key) AS post_id
          FROM feed_entries e
          LEFT JOIN feeds l ON l.owner = e.owner
          LEFT JOIN posts p ON p.post_key = e.post_key
          WHERE e.post_key >= \(floor)
            -- Skip garbage entries of retired keys, which feeds do not show.
            AND (
              p.post_id IS NOT NULL
              OR NOT EXISTS (SELECT FROM retired_keys k WHERE k.post_key = e.post_key))
          UNION ALL
          SELECT f.follower, p.author, p.post_id
          FROM follows f
          JOIN pull_authors a ON a.author = f.followee
          JOIN posts p ON p.author = f.followee AND NOT p.deleted AND p.delivery = 'pull'
          LEFT JOIN feeds l ON l.owner = f.follower
          WHERE f.active AND p.post_key >= \(floor)
          UNION ALL
          SELECT f.follower, p.author, p.post_id
          FROM follows f
          LEFT JOIN feeds l ON l.owner = f.follower
          JOIN posts p ON p.author = f.followee AND NOT p.deleted AND p.post_key < \(floor)
          WHERE f.active AND \(floor) > 0
        ) d
        LEFT JOIN users u ON u.user_key = d.owner
        LEFT JOIN users a ON a.user_key = d.author
        """),
    CanonicalTable(
      "messages", .feeds, person: user("r", "m.receiver"), key: ["m.message_id"],
      fields: [Field("sender", user("s", "m.sender"))] + Field.plain("m.text")
        + Field.version("m"),
      from: """
        FROM messages m LEFT JOIN users s ON s.user_key = m.sender
        LEFT JOIN users r ON r.user_key = m.receiver
        """),
    // Conversations without a message are not listed; a read mark may arrive before any message.
    CanonicalTable(
      "conversations", .feeds, person: user("o", "c.owner"), key: [user("p", "c.peer")],
      fields: [Field("last_time", time("c.last_time"))] + Field.plain("c.last_message_id")
        + [Field("read_at", time("c.read_at"))],
      from: """
        FROM conversations c LEFT JOIN users o ON o.user_key = c.owner
        LEFT JOIN users p ON p.user_key = c.peer
        WHERE c.last_message_id IS NOT NULL OR c.read_at > '-infinity'
        """),
  ]

  /// The id behind an interned key, or an error text if there is none.
  private static func user(_ alias: String, _ key: String) -> String {
    "coalesce(\(alias).user_id, 'no user has the key ' || \(key))"
  }
}
