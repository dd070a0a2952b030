import Events
import Foundation
import Kafka
import Postgres

extension BenchStack {
  /// Writes a workload's people and follows with SQL, as if fanout-worker had applied them before
  /// any posts.
  func load(_ workload: FanoutWorkload) throws {
    let pairs = workload.followers.enumerated().flatMap { author, readers in
      readers.map { (FanoutWorkload.author(author), FanoutWorkload.reader($0)) }
    }
    try connection.query(
      """
      INSERT INTO users (user_id)
      SELECT DISTINCT id FROM (
        SELECT unnest($1::text[]) UNION ALL SELECT unnest($2::text[])
      ) AS ids (id)
      """, [.textArray(pairs.map(\.0)), .textArray(pairs.map(\.1))])
    try connection.query(
      """
      INSERT INTO follows (followee, follower, active, version_time, version_id)
      SELECT e.user_key, r.user_key, true, now() - interval '1 day', 'loaded'
      FROM unnest($1::text[], $2::text[]) AS f (followee, follower)
      JOIN users e ON e.user_id = f.followee
      JOIN users r ON r.user_id = f.follower
      ORDER BY 1, 2
      """, [.textArray(pairs.map(\.0)), .textArray(pairs.map(\.1))])
    try countFollows()
  }

  /// Computes all counts from the follows.
  func countFollows() throws { try connection.query(LoadedCounts.follows) }

  func databaseGiB() throws -> Double {
    let bytes = try connection.query("SELECT pg_database_size(current_database())").only.int(0)
    return Double(bytes) / Double(1 << 30)
  }

  /// Runs `magpie verify` after a measurement without alarm-worker.
  func verifyWithAlarms() throws {
    try start("alarm-worker", owning: .notificationChanges)
    try waitForAlarms()
    try verify()
  }

  /// Waits until alarm-worker has applied all published changes.
  func waitForAlarms() throws {
    let topic = Topic.notificationChanges
    let admin = try Admin(configuration: broker.configuration)
    try wait("all alarms") {
      let ends = try admin.watermarks(topics: [broker.name(topic)])
      return try appliedRecords(topic, by: "alarm-worker")
        >= Int(ends.values.reduce(0) { $0 + $1.high })
    }
  }
}

enum LoadedCounts {
  /// Computes all counts from the follows.
  static let follows = """
    INSERT INTO follow_counts (user_key, followers, following)
    SELECT person, sum(followers), sum(following)
    FROM (
      SELECT followee, count(*), 0 FROM follows GROUP BY followee
      UNION ALL
      SELECT follower, 0, count(*) FROM follows GROUP BY follower
    ) AS c (person, followers, following)
    GROUP BY person ORDER BY person
    """
}
