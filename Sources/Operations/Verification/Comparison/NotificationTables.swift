/// The notification-worker's tables.
extension CanonicalTable {
  static let notificationTables: [CanonicalTable] = [
    CanonicalTable(
      "likes", .notifications, person: "l.post_owner", key: ["l.post_id", "l.actor"],
      fields: Field.plain("l.active") + [Field("first_at", time("l.first_at"))]
        + Field.version("l"),
      slicedBy: "l.post_id", from: "FROM likes l"),
    CanonicalTable(
      "comments", .notifications, person: "c.post_owner", key: ["c.comment_id"],
      fields: Field.plain("c.post_id", "c.actor", "c.text", "c.active")
        + [Field("mentions", "to_json(c.mentions)"), Field("first_at", time("c.first_at"))]
        + Field.version("c"),
      from: "FROM comments c"),
    CanonicalTable(
      "post_counts", .notifications, person: "coalesce(p.author, '')", key: ["c.post_id"],
      fields: Field.plain("c.likes", "c.comments"), slicedBy: "c.post_id",
      from: """
        FROM post_counts c LEFT JOIN post_facts p ON p.post_id = c.post_id
        WHERE (c.likes, c.comments) <> (0, 0)
        """),
    CanonicalTable(
      "post_facts", .notifications, person: "p.author", key: ["p.post_id"],
      fields: Field.plain("p.head_text", "p.image_url", "p.deleted")
        + [Field("mentions", "to_json(p.mentions)"), Field("first_at", time("p.first_at"))]
        + Field.version("p"),
      from: "FROM post_facts p"),
    // Only the writing transaction uses overruled_receiver and overruled_sender.
    CanonicalTable(
      "message_facts", .notifications, person: "f.receiver", key: ["f.message_id"],
      fields: Field.plain("f.sender") + Field.version("f"), from: "FROM message_facts f"),
    // swept_at is the progress of garbage removal.
    CanonicalTable(
      "notification_recipients", .notifications, person: "r.user_id", key: [],
      fields: [
        Field("read_all_at", time("r.read_all_at")),
        Field("deleted_all_at", time("r.deleted_all_at")),
        Field("seen_all_at", time("r.seen_all_at")),
      ],
      from: """
        FROM notification_recipients r
        WHERE greatest(r.read_all_at, r.deleted_all_at, r.seen_all_at) > '-infinity'
        """),
    CanonicalTable(
      "notification_marks", .notifications, person: "m.recipient", key: ["m.notification_id"],
      fields: [
        Field("read_at", time("m.read_at")), Field("deleted_at", time("m.deleted_at")),
      ],
      from: "FROM notification_marks m"),
    CanonicalTable(
      "conversation_reads", .notifications, person: "c.user_id", key: ["c.peer_id"],
      fields: [Field("read_at", time("c.read_at"))], from: "FROM conversation_reads c"),
    CanonicalTable(
      "notification_mutes", .notifications, person: "m.recipient",
      key: ["m.type", time("m.at"), "m.event_id"], fields: Field.plain("m.muted"),
      from: "FROM notification_mutes m"),
    CanonicalTable(
      "notification_silences", .notifications, person: "s.recipient",
      key: ["s.scope", "s.type", "s.value", time("s.at"), "s.event_id"],
      fields: Field.plain("s.silenced") + [Field("until", time("s.until"))],
      from: "FROM notification_silences s"),
    CanonicalTable(
      "person_blocks", .notifications, person: "b.blocker", key: ["b.blocked"],
      fields: Field.plain("b.active") + Field.version("b"), from: "FROM person_blocks b"),
    CanonicalTable(
      "author_subscriptions", .notifications, person: "s.subscriber",
      key: ["s.author", time("s.at"), "s.event_id"], fields: Field.plain("s.subscribed"),
      from: "FROM author_subscriptions s"),
    // `muted` is maintained only for visible contributions. For contributions under review, readers
    // already apply the mutes themselves. A comment's or mention's row is as old as its withdrawal, or as a later
    // edit, depending on the batches.
    CanonicalTable(
      "notification_actors", .notifications, person: "a.recipient",
      key: ["a.type", "a.subject", "a.source"],
      fields: Field.plain("c.actor", "a.active") + [
        Field(
          "muted",
          """
          CASE WHEN a.active AND a.first_at > \(deletion("r", "m")) THEN
            CASE WHEN EXISTS (
              SELECT FROM \(reviews) v WHERE v.recipient = a.recipient AND v.type IN (-1, a.type))
            THEN contribution_muted(a.recipient, a.type, a.subject, a.actor, a.first_at)
            ELSE a.muted END
          END
          """),
        Field("first_at", time("a.first_at")),
      ]
        + Field.plain(
          "a.notification_id", "c.post_id", "a.comment_id", "c.head_text", "a.image_url",
          "a.arguments")
        + [Field("caused_at", time("a.caused_at"))] + Field.version("c"),
      from: """
        FROM notification_actors a
        LEFT JOIN LATERAL (
          SELECT a.actor, a.post_id, a.head_text, a.version_time, a.version_id
          WHERE a.active OR a.type NOT IN (1, 4)
        ) c ON true
        LEFT JOIN notification_recipients r ON r.user_id = a.recipient
        LEFT JOIN notification_marks m
          ON m.recipient = a.recipient AND m.notification_id = a.notification_id
        """),
    // When a deletion covers a contribution, the size is unused and depends on arrival order.
    CanonicalTable(
      "notification_sizes", .notifications, person: "coalesce(g.recipient, '')",
      key: ["s.notification_id"], fields: Field.plain("s.contributions", "s.others"),
      from: """
        FROM (
          SELECT s.notification_id, s.contributions, s.others FROM notification_sizes s
          WHERE NOT EXISTS (
            SELECT FROM \(reviews) v
            JOIN notification_actors a ON a.recipient = v.recipient AND v.type IN (-1, a.type)
            WHERE a.notification_id = s.notification_id)
          UNION ALL
          SELECT a.notification_id, count(*),
            count(*) FILTER (WHERE a.actor IS DISTINCT FROM a.source AND a.type <> 3)
          FROM notification_actors a
          WHERE EXISTS (
              SELECT FROM \(reviews) v WHERE v.recipient = a.recipient AND v.type IN (-1, a.type))
            AND a.active AND is_grouped(a.grouped, a.type)
            AND NOT contribution_muted(a.recipient, a.type, a.subject, a.actor, a.first_at)
          GROUP BY a.notification_id
        ) s
        LEFT JOIN (
          SELECT a.notification_id, min(a.recipient) AS recipient,
            bool_or(a.active AND a.first_at <= \(deletion("r", "m"))) AS is_cut
          FROM notification_actors a
          LEFT JOIN notification_recipients r ON r.user_id = a.recipient
          LEFT JOIN notification_marks m
            ON m.recipient = a.recipient AND m.notification_id = a.notification_id
          WHERE a.notification_id IS NOT NULL
          GROUP BY a.notification_id
        ) g ON g.notification_id = s.notification_id
        WHERE s.contributions <> 0 AND g.is_cut IS NOT TRUE
        """),
    // Visible notifications; rows hidden by a deletion are garbage until swept.
    CanonicalTable(
      "notifications", .notifications, person: "n.recipient", key: ["n.notification_id"],
      fields: Field.plain(
        "n.type", "n.subject", "n.bucket", "n.actor", "n.second_actor", "n.actor_count",
        "n.contribution_count", "n.post_id", "n.comment_id", "n.head_text")
        + [Field("raised_at", time("n.raised_at")), Field("oldest_at", time("n.oldest_at"))]
        + Field.plain("n.unread", "n.source", "n.image_url", "n.arguments", "n.unseen"),
      from: "FROM shown_notifications n"),
  ]

  /// SQL: for whom and of which types contributions are under review; -1 for all types.
  private static let reviews = """
    (SELECT r.recipient, r.type FROM notification_reviews r
      UNION ALL SELECT r.recipient, r.type FROM notification_scoped_reviews r)
    """

  /// SQL: the time up to which a recipient's row and a notification's mark delete.
  static func deletion(_ recipient: String, _ mark: String) -> String {
    "greatest(\(recipient).deleted_all_at, \(mark).deleted_at, '-infinity')"
  }
}
