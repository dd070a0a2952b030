import Events
import Model
import Postgres
import Schema
import TestSupport
import Testing

@testable import Feeds

/// Partitions of feed entries by time. Concurrent readers and writers are in `BoundedConcurrencyTests`.
@Suite struct PartitionTests {
  private static let day: Int64 = 86_400_000_000

  /// `days` after now, for `Say`.
  private static func days(_ days: Int64) -> Int64 {
    EventTime.now.microseconds - Say.event("", 0, .follow("", "")).time.microseconds + days * day
  }

  private static func followAndPosts(_ ages: [Int64]) -> [Event] {
    [Say.follow("bo", "ann", at: 0)]
      + ages.map { Say.post("\($0) days ago", by: "ann", at: days(-$0)) }
  }

  @Test("posts older than feeds are stored lose their entries an hour later, but not their place")
  func expired() throws {
    let database = try FeedDatabase()
    var events = Self.followAndPosts([0, 1, 30, 100])
    try database.apply(events)
    #expect(try database.stored("bo").count == 4)
    let now = EventTime.now.microseconds
    // A step every four days, of 64 days of history.
    func steps(_ days: ClosedRange<Int64>, hoursApart: Bool = true) throws {
      for day in stride(from: days.lowerBound, through: days.upperBound, by: 4) {
        try database.keepPartitions(microseconds: 64 * Self.day, at: now + day * Self.day)
        if hoursApart { try database.passHour() }
      }
    }
    // The floor is the beginning of the hour, and nothing is dropped yet.
    try steps(0...68, hoursApart: false)
    #expect(try database.stored("bo") == ["0 days ago"])
    #expect(try database.count("feed_entries") == 4)
    try database.passHour()
    try steps(72...76)
    #expect(try database.count("feed_entries") < 4)
    // Neither a late post nor a follow stores what is below the floor.
    let late = [
      Say.post("late", by: "ann", at: Self.days(-40)), Say.follow("cy", "ann", at: Self.days(0)),
    ]
    #expect(try database.apply(late)["deliveries"] == 0)
    events += late
    #expect(try database.stored("cy") == [])
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
    // Twenty or so partitions, however often.
    try steps(80...400)
    #expect(try database.count("feed_partitions()") <= 24)
    #expect(try database.count("feed_entries") == 0)
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test(
    "a post that is later than partitions are made is pulled; then its author's posts are pushed again"
  )
  func later() throws {
    let database = try FeedDatabase()
    let events = Self.followAndPosts([-9, -36_500, 1])
    try database.apply(events)
    #expect(try database.stored("bo") == ["1 days ago"])
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("a worker of an older version may write entries anywhere")
  func olderWorker() throws {
    let database = try FeedDatabase()
    let (now, history) = (EventTime.now.microseconds, 64 * Self.day)
    try database.apply(Self.followAndPosts([]))
    for day in stride(from: Int64(0), through: 200, by: 4) {
      try database.keepPartitions(microseconds: history, at: now + day * Self.day)
      try database.passHour()
    }
    try database.connection.script(
      """
      INSERT INTO posts (post_id, post_key, author, delivery, deleted, title, caption, image_url,
        first_at, version_time, version_id)
      SELECT 'p' || n, feeds_time_key(at), user_key, 'push', false, '', '', '', at, at, n::text
      FROM users, generate_series(-40, 40) n, LATERAL (SELECT now() + n * interval '30 days' AS at) t
      WHERE user_id = 'ann';
      INSERT INTO feed_entries SELECT user_key, post_key FROM users, posts WHERE user_id = 'bo';
      """)
    let feed = try database.feed("bo")
    #expect(feed.count == 81)
    #expect(try database.violations() == [])
    try database.keepPartitions(microseconds: history, at: now + 208 * Self.day)
    #expect(try database.feed("bo") == feed)
    #expect(try database.violations() == [])
    let beyond = try database.connection.query(
      "SELECT count(*) FROM feed_entries WHERE post_key >= (SELECT made_to FROM feed_history)")
    #expect(try beyond.only.int(0) == 0)
  }

  @Test("who uses the entries is waited for briefly, and then left alone for a minute")
  func inUse() throws {
    let database = try FeedDatabase()
    let reader = try FeedDatabase(url: database.url, handler: database.handler)
    func keep() throws -> Bool {
      try database.keepPartitions(
        microseconds: 64 * Self.day, at: EventTime.now.microseconds + 30 * Self.day)
    }
    try reader.connection.script("BEGIN; SELECT FROM feed_entries")
    #expect(try !keep())
    try reader.connection.script("COMMIT")
    #expect(try !keep())
    try database.asOwner {
      try database.connection.script(
        "UPDATE feed_history SET tried_at = tried_at - interval '2 minutes'")
    }
    #expect(try keep())
  }

  @Test(
    "a table in use keeps its entries and its pages; posts of more than a week ahead are pulled")
  func migrated() throws {
    let connection = try Connection(TestDatabase.empty(), applicationName: "feeds test")
    try Migrations.apply(connection, Array(Migrations.all.prefix(37)))
    try connection.script(
      """
      INSERT INTO users (user_id) SELECT 'person ' || n FROM generate_series(1, 40) n;
      INSERT INTO follows
      SELECT e.user_key, r.user_key, true, now(), '' FROM users e, users r
      WHERE e.user_key <> r.user_key AND (e.user_key * 7 + r.user_key) % 3 = 0;
      INSERT INTO posts (post_id, post_key, author, delivery, deleted, title, caption, image_url,
        first_at, version_time, version_id)
      SELECT 'p' || n, feeds_time_key(at), 1 + n % 40, 'push', false, '', '', '', at, at, ''
      FROM generate_series(1, 400) n, LATERAL (SELECT now() + (n - 350) * interval '7 hours' AS at) t;
      INSERT INTO feed_entries
      SELECT f.follower, p.post_key FROM posts p JOIN follows f ON f.followee = p.author;
      """)
    let pages = """
      SELECT string_agg(u.user_id || p.post_id, ',' ORDER BY u.user_id, p.ordinality)
      FROM users u, feed_page(u.user_id, NULL, 200) WITH ORDINALITY p
      """
    let before = try connection.query(pages).only.text(0)
    let violations = "SELECT count(*) FROM verify_feeds() WHERE invariant LIKE '%feed_entries%'"
    #expect(try connection.query(violations).only.int(0) == 0)
    try Migrations.apply(connection)
    #expect(try connection.query(pages).only.text(0) == before)
    #expect(try connection.query(violations).only.int(0) == 0)
    let pulled = try connection.query(
      """
      SELECT count(*) FILTER (WHERE delivery = 'pull'),
        count(*) FILTER (WHERE first_at > now() + interval '7 days') FROM posts
      """
    ).only
    #expect(try pulled.int(0) == pulled.int(1))
    #expect(try pulled.int(0) > 20)
  }
}
