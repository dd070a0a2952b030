import Events

/// A group of tables that is rebuilt together: those of one worker.
public enum TableGroup: String, CaseIterable, Sendable {
  case feeds
  case notifications
  case alarms
  case reminders

  /// The groups for an argument of `magpie replay --rebuild`; nil for an unknown argument.
  ///
  /// Alarms derive from notifications, so rebuilding notifications includes them.
  public static func named(_ name: String) -> [TableGroup]? {
    switch name {
    case "feeds": [.feeds]
    case "notifications": [.notifications, .alarms]
    case "alarms": [.alarms]
    case "reminders": [.reminders]
    case "all": allCases
    default: nil
    }
  }

  /// The consumer group's name without the prefix, which is the worker's name.
  public var worker: String {
    switch self {
    case .feeds: "fanout"
    case .notifications: "notification"
    case .alarms: "alarm"
    case .reminders: "reminder"
    }
  }

  /// Every table of the group; partitions move with their parent. A swap would leave out a table
  /// that is missing here: a test compares the lists with the schema.
  public var tables: [String] {
    switch self {
    case .feeds:
      [
        "users", "follows", "follow_counts", "posts", "pull_authors", "feeds", "feed_entries",
        "feed_history", "messages", "conversations", "retired_keys", "feed_trims", "feed_returns",
        "author_posts", "fanout_erasures",
      ]
    case .notifications:
      [
        "post_counts", "likes", "comments", "post_facts", "message_facts", "contribution_check",
        "notification_recipients", "notification_marks", "notification_mutes",
        "notification_silences", "person_blocks", "notification_actors", "notification_sizes",
        "notifications", "notification_generations", "notification_reviews",
        "notification_scoped_reviews", "author_subscriptions", "subscription_work",
        "conversation_reads", "notification_erasures",
      ]
    case .alarms:
      [
        "profiles", "profile_edits", "alarms", "pending_renders", "pending_publications",
        "alarm_erasures",
      ]
    case .reminders: ["reminders", "reminder_people", "reminder_erasures"]
    }
  }

  /// Sequences that are not owned by a table.
  public var sequences: [String] { self == .notifications ? ["notification_counter"] : [] }

  /// Tables outside every group: offsets, dead letters, schema versions, audit, and data that does
  /// not come from the log. What rang, and what was pushed to whom, depends on the time, too.
  public static let sharedTables = [
    "consumer_offsets", "dead_letters", "dead_letter_history", "schema_migrations", "feed_visits",
    "batch_audit", "reminder_rings", "push_devices", "push_tokens", "push_preferences", "push_due",
    "push_claims", "push_erasures",
  ]

  /// Tables of which a rebuild uses the live ones: whoever was ever erased is kept out of rebuilt tables, too.
  public static let liveTables = ["erasures", "erasure_key"]

  /// Sequences outside every group: their values are unique across rebuilds.
  public static let sharedSequences = ["alarm_versions"]

  /// The views and the groups whose tables they read, in creation order.
  public static let views: [(name: String, tableGroups: Set<TableGroup>)] = [
    ("settled_notifications", [.notifications]),
    ("reviewed_notifications", [.notifications]),
    ("unreviewed_notifications", [.notifications]),
    ("recomputed_notifications", [.notifications]),
    ("shown_notifications", [.notifications]),
    ("rendered_alarms", [.alarms]),
    ("settled_alarms", [.notifications, .alarms]),
    ("unreviewed_alarms", [.notifications, .alarms]),
    ("recomputed_alarms", [.notifications, .alarms]),
    ("shown_alarms", [.notifications, .alarms]),
    ("push_active_devices", []),
  ]
}

/// The order of reading topics that causes the fewest corrections: erasures before what they erase, follows before the posts that
/// are delivered to followers, profiles before the alarms that contain their names.
let readingOrder: [Topic] = [
  .erasures, .profiles, .alarmActions, .people, .follows, .subscriptions, .posts, .comments, .likes,
  .messages, .alarms, .reminders, .notificationChanges,
]

extension [TableGroup] {
  /// For messages.
  var text: String { map(\.rawValue).joined(separator: ", ") }
}
