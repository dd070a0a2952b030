/// One numbered SQL file of `migrations/`, compiled into the binary.
public struct Migration: Sendable {
  /// 1, 2, 3, … without gaps.
  public let version: Int
  /// The file's name without number and extension.
  public let name: String
  let bytes: [UInt8]
  /// The lowest schema version whose code can run with the migration applied, declared by the
  /// file's line `-- compatible-from: N`; without that line, the migration's own version.
  public let compatibleFrom: Int

  /// The SQL text.
  public var sql: String { String(decoding: bytes, as: UTF8.self) }

  /// The file's name in `migrations/`.
  public var fileName: String {
    let number = String(version)
    return String(repeating: "0", count: max(0, 4 - number.count)) + "\(number)_\(name).sql"
  }

  init(_ version: Int, _ name: String, _ bytes: [UInt8]) {
    self.version = version
    self.name = name
    self.bytes = bytes
    let marker = "-- compatible-from: "
    let declared = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
      .first { $0.hasPrefix(marker) }.flatMap { Int($0.dropFirst(marker.count)) }
    compatibleFrom = declared ?? version
  }
}

extension Migrations {
  /// Every migration, in order. A new file in `migrations/` needs a line here (a test checks it);
  /// SwiftPM names its bytes after the file, with the first digit replaced by `_`.
  public static let all: [Migration] = [
    Migration(1, "pipeline", PackageResources._001_pipeline_sql),
    Migration(2, "feeds", PackageResources._002_feeds_sql),
    Migration(3, "notifications", PackageResources._003_notifications_sql),
    Migration(4, "alarms", PackageResources._004_alarms_sql),
    Migration(5, "dead_letters", PackageResources._005_dead_letters_sql),
    Migration(6, "generations", PackageResources._006_generations_sql),
    Migration(7, "bounded_feeds", PackageResources._007_bounded_feeds_sql),
    Migration(8, "audit", PackageResources._008_audit_sql),
    Migration(9, "own_rows", PackageResources._009_own_rows_sql),
    Migration(10, "last_record", PackageResources._010_last_record_sql),
    Migration(11, "one_winner", PackageResources._011_one_winner_sql),
    Migration(12, "cursors", PackageResources._012_cursors_sql),
    Migration(13, "reviews", PackageResources._013_reviews_sql),
    Migration(14, "search", PackageResources._014_search_sql),
    Migration(15, "kinds", PackageResources._015_kinds_sql),
    Migration(16, "bell", PackageResources._016_bell_sql),
    Migration(17, "alarm_changes", PackageResources._017_alarm_changes_sql),
    Migration(18, "people", PackageResources._018_people_sql),
    Migration(19, "places", PackageResources._019_places_sql),
    Migration(20, "scoped_reviews", PackageResources._020_scoped_reviews_sql),
    Migration(21, "screens", PackageResources._021_screens_sql),
    Migration(22, "versions_after_a_crash", PackageResources._022_versions_after_a_crash_sql),
    Migration(23, "read_and_edited", PackageResources._023_read_and_edited_sql),
    Migration(24, "page_plans", PackageResources._024_page_plans_sql),
    Migration(25, "reminders", PackageResources._025_reminders_sql),
    Migration(26, "applied_before_a_reset", PackageResources._026_applied_before_a_reset_sql),
    Migration(27, "follow_page_plan", PackageResources._027_follow_page_plan_sql),
    Migration(28, "push", PackageResources._028_push_sql),
    Migration(29, "bounded_counts", PackageResources._029_bounded_counts_sql),
    Migration(30, "erasures", PackageResources._030_erasures_sql),
    Migration(31, "forgotten_feeds", PackageResources._031_forgotten_feeds_sql),
    Migration(32, "forgotten_notifications", PackageResources._032_forgotten_notifications_sql),
    Migration(33, "forgotten_alarms", PackageResources._033_forgotten_alarms_sql),
    Migration(34, "forgotten_devices", PackageResources._034_forgotten_devices_sql),
    Migration(35, "forgotten_dead_letters", PackageResources._035_forgotten_dead_letters_sql),
    Migration(36, "forgotten_alarms", PackageResources._036_forgotten_alarms_sql),
    Migration(37, "alarm_layout", PackageResources._037_alarm_layout_sql),
    Migration(38, "feed_history", PackageResources._038_feed_history_sql),
    Migration(39, "feed_entries_by_time", PackageResources._039_feed_entries_by_time_sql),
    Migration(40, "push_active_since", PackageResources._040_push_active_since_sql),
    Migration(41, "digests", PackageResources._041_digests_sql),
    Migration(42, "late_for_a_digest", PackageResources._042_late_for_a_digest_sql),
    Migration(43, "pages_during_erasures", PackageResources._043_pages_during_erasures_sql),
    Migration(
      44, "pulled_posts_above_the_floor", PackageResources._044_pulled_posts_above_the_floor_sql),
    Migration(45, "reminders_to_come", PackageResources._045_reminders_to_come_sql),
    Migration(46, "posts_pushed", PackageResources._046_posts_pushed_sql),
    Migration(47, "digest_plans", PackageResources._047_digest_plans_sql),
    Migration(48, "mentions_in_force", PackageResources._048_mentions_in_force_sql),
    Migration(49, "pages_under_review", PackageResources._049_pages_under_review_sql),
    Migration(50, "newest_of_the_pulled", PackageResources._050_newest_of_the_pulled_sql),
    Migration(51, "alarms_to_render_again", PackageResources._051_alarms_to_render_again_sql),
    Migration(
      52, "sizes_and_late_reminders", PackageResources._052_sizes_and_late_reminders_sql),
    Migration(53, "next_to_be_swept", PackageResources._053_next_to_be_swept_sql),
    Migration(54, "settled_states", PackageResources._054_settled_states_sql),
    Migration(55, "cheaper_pages", PackageResources._055_cheaper_pages_sql),
    Migration(56, "due_digests", PackageResources._056_due_digests_sql),
    Migration(57, "search_plans", PackageResources._057_search_plans_sql),
    Migration(58, "searches_by_index", PackageResources._058_searches_by_index_sql),
    Migration(59, "lookups_by_key", PackageResources._059_lookups_by_key_sql),
  ]
}
