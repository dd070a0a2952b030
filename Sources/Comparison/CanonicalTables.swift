extension CanonicalTable {
  /// Every table of the workers. The one list: checksums, `--diff`, `verify --deep` and the tests all
  /// go by it.
  public static let all: [CanonicalTable] = feedTables + notificationTables + alarmTables

  /// The tables of one room.
  public static func of(_ room: Room) -> [CanonicalTable] { all.filter { $0.room == room } }

  /// Tables that say nothing about people: the pipeline's own, and what is derived for speed and
  /// shows in other tables when it is wrong.
  public static let ownedByPipeline: [String: String] = [
    "schema_migrations": "which migrations were applied",
    "consumer_offsets": "how far the tables are",
    "dead_letters": "what could not be applied",
    "dead_letter_history": "what became of it",
    "batch_audit": "how the offsets moved, during fault campaigns",
    "users": "interned ids: every other table of the room is read through it",
    "retired_keys": "which feed entries are garbage",
    "feed_trims": "work to do",
    "feed_returns": "work to do",
    "feed_visits": "who was here when: no event says so",
    "notification_generations": "versions of snapshots",
    "notification_counter": "versions of snapshots",
    "notification_reviews": "work to do",
    "contribution_check": "work to do",
    "pending_renders": "work to do",
  ]
}
