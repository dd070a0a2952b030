extension CanonicalTable {
  /// All canonical tables. Checksums, `--diff`, `verify --deep` and the tests use this list.
  public static let all: [CanonicalTable] =
    feedTables + notificationTables + alarmTables + reminderTables

  /// The tables of one group.
  public static func of(_ group: Group) -> [CanonicalTable] { all.filter { $0.group == group } }

  /// Tables without content of their own to compare: the pipeline's, and derived ones whose errors
  /// show up in other tables.
  public static let ownedByPipeline: [String: String] = [
    "schema_migrations": "which migrations were applied",
    "consumer_offsets": "stored offsets",
    "dead_letters": "records that could not be applied",
    "dead_letter_history": "how dead letters were resolved",
    "batch_audit": "offset changes, recorded during fault campaigns",
    "users": "interned ids: all other tables of the group are read through it",
    "retired_keys": "feed entries that are garbage",
    "feed_trims": "backlog",
    "feed_returns": "backlog",
    "feed_visits": "visits, which no event records",
    "notification_generations": "snapshot versions",
    "notification_counter": "snapshot versions",
    "notification_reviews": "backlog",
    "notification_scoped_reviews": "backlog",
    "subscription_work": "backlog",
    "contribution_check": "backlog",
    "pending_renders": "backlog",
    "pending_publications": "backlog",
    "alarm_versions": "versions of published alarms",
    "reminder_rings": "what rang, which depends on the clock",
    "push_devices": "secrets, whose events are not archived",
    "push_tokens": "secrets, whose events are not archived",
    "push_preferences": "whom to push, of the same topic",
    "push_due": "backlog",
    "push_claims": "what was pushed, which depends on the clock and the providers",
    "erasures": "who was erased, as hashes under a key of the database, and when workers were done",
    "erasure_key": "the key of these hashes",
    "fanout_erasures": "backlog",
    "notification_erasures": "backlog",
    "alarm_erasures": "backlog",
    "reminder_erasures": "backlog",
    "push_erasures": "backlog",
  ]
}
