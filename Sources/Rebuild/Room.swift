import Events

/// What can be made anew from the log: the tables of one worker.
public enum Room: String, CaseIterable, Sendable {
  case feeds
  case notifications
  case alarms

  /// The rooms of a name as `magpie replay --rebuild` takes it; nil when there is none of the name.
  ///
  /// Alarms derive from notifications, so they are made anew with them.
  public static func named(_ name: String) -> [Room]? {
    switch name {
    case "feeds": [.feeds]
    case "notifications": [.notifications, .alarms]
    case "alarms": [.alarms]
    case "all": allCases
    default: nil
    }
  }

  /// The consumer group's name without the prefix: its worker's.
  var worker: String {
    switch self {
    case .feeds: "fanout"
    case .notifications: "notification"
    case .alarms: "alarm"
    }
  }

  /// Every table of the room; partitions go with their table. A table that is missing here would
  /// stay behind in an exchange: a test compares the lists with the schema.
  public var tables: [String] {
    switch self {
    case .feeds:
      [
        "users", "follows", "follow_counts", "posts", "pull_authors", "feeds", "feed_entries",
        "messages", "conversations", "retired_keys", "feed_trims", "feed_returns",
      ]
    case .notifications:
      [
        "post_counts", "likes", "comments", "post_facts", "message_facts", "contribution_check",
        "notification_recipients",
        "notification_marks", "notification_mutes", "notification_actors", "notification_sizes",
        "notifications", "notification_generations", "notification_reviews",
      ]
    case .alarms: ["profiles", "alarms", "pending_renders"]
    }
  }

  /// Sequences that no table owns.
  public var sequences: [String] { self == .notifications ? ["notification_counter"] : [] }

  /// The tables that belong to no room: what describes the rooms' tables, the schema, and what the
  /// log does not say.
  public static let sharedTables = [
    "consumer_offsets", "dead_letters", "dead_letter_history", "schema_migrations", "feed_visits",
    "batch_audit",
  ]

  /// Views and the rooms whose tables they show, in the order in which they can be made.
  public static let views: [(name: String, rooms: Set<Room>)] = [
    ("settled_notifications", [.notifications]),
    ("reviewed_notifications", [.notifications]),
    ("shown_notifications", [.notifications]),
    ("settled_alarms", [.notifications, .alarms]),
    ("shown_alarms", [.notifications, .alarms]),
  ]
}

/// The order in which topics are read that leaves the least to correct: who follows whom before
/// what is delivered to them, who is called what before it is written down.
let readingOrder: [Topic] = [
  .profiles, .alarmActions, .follows, .posts, .comments, .likes, .messages, .notificationChanges,
]

extension [Room] {
  /// As a person names them.
  var text: String { map(\.rawValue).joined(separator: ", ") }
}
