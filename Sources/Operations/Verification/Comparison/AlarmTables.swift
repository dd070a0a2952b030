/// The alarm-worker's tables.
extension CanonicalTable {
  static let alarmTables: [CanonicalTable] = [
    // A row that predates every event exists only as a lock target.
    CanonicalTable(
      "profiles", .alarms, person: "p.user_id", key: [],
      fields: Field.plain(
        "p.nickname", "p.locale", "p.image_url", "p.name", "p.major", "p.bio")
        + Field.version("p"),
      from: "FROM profiles p WHERE p.version_time > '-infinity' OR p.has_edits"),
    CanonicalTable(
      "profile_edits", .alarms, person: "e.user_id", key: ["e.field"],
      fields: Field.plain("e.value") + Field.version("e"), from: "FROM profile_edits e"),
    CanonicalTable(
      "alarms", .alarms, person: "a.recipient", key: ["a.notification_id"],
      fields: alarmFields,
      from: """
        FROM rendered_alarms a
        LEFT JOIN notification_recipients r ON r.user_id = a.recipient
        LEFT JOIN notification_marks m
          ON m.recipient = a.recipient AND m.notification_id = a.notification_id
        WHERE NOT a.retracted AND a.raised_at > \(deletion("r", "m"))
        """),
  ]

  /// All alarms that are not retracted, including those hidden by a deletion: for comparing two
  /// tables at the same offsets whose snapshots may see different deletions.
  public static let alarmsIncludingHidden = CanonicalTable(
    "alarms", .alarms, person: "a.recipient", key: ["a.notification_id"], fields: alarmFields,
    from: "FROM rendered_alarms a WHERE NOT a.retracted")

  private static let alarmFields =
    Field.plain(
      "a.type", "a.actor", "a.second_actor", "a.actor_count", "a.contribution_count", "a.post_id",
      "a.comment_id", "a.head_text")
    + [Field("raised_at", time("a.raised_at"))]
    + Field.plain(
      "a.locale", "a.text", "a.segments", "a.spans", "a.legacy_message", "a.legacy_head_text",
      "a.legacy_from_nick_name", "a.deep_link", "a.badge_icon", "a.highlight_style")
    + [
      Field("image_url", "coalesce(a.image_url, '')"),
      Field("arguments", "coalesce(a.arguments, '{}')"),
    ]
}
