import Events
import Model
import Postgres
import Testing

@testable import Feeds

/// Work with too many rows for one transaction.
@Suite struct BoundedWorkTests {
  private func crowd(_ database: FeedDatabase) throws -> [Event] {
    let events =
      (0..<20).map { Say.follow("reader\($0)", "star", at: 0) }
      + [Say.follow("reader1", "neighbour", at: 0)]
    try database.apply(events)
    return events
  }

  @Test("a burst by authors below the push limit is stored completely, in bounded transactions")
  func burst() throws {
    let (authors, followers, budget) = (24, 40, 500)
    let database = try FeedDatabase(
      FeedLimits(pushLimit: followers + 1, deliveriesMax: budget, entriesMax: budget))
    try database.apply(
      (0..<authors).flatMap { author in
        (0..<followers).map { Say.follow("reader\($0)", "author\(author)", at: 0) }
      })
    let posts = (0..<1200).map {
      Say.post("p\($0)", by: "author\($0 % authors)", at: Int64($0) * 1000)
    }
    var counts: [String: Int] = [:]
    for first in stride(from: 0, to: posts.count, by: FeedLimits.postsMax) {
      let batch = Array(posts[first..<min(first + FeedLimits.postsMax, posts.count)])
      counts.merge(try database.apply(batch), uniquingKeysWith: +)
    }
    #expect(counts == ["deliveries": posts.count * followers, "pruned": 0, "pulled": 0])
    #expect(try database.count("feed_entries") == posts.count * followers)
    #expect(try database.count("pull_authors") == 0)
    #expect(try database.count("posts WHERE delivery = 'pull'") == 0)
    let largest = try database.connection.query(
      "SELECT max(n) FROM (SELECT count(*) AS n FROM feed_entries GROUP BY xmin::text) t"
    ).only.int(0)
    #expect(largest <= budget + followers)
    #expect(largest > budget / 2, "and not much smaller than they may be")
    #expect(try database.violations() == [])
  }

  @Test("deliveries that were written slowly are written in smaller transactions")
  func slowWrites() throws {
    let (posts, followers) = (4, 1_000)
    let database = try FeedDatabase(FeedLimits())
    try database.apply((0..<followers).map { Say.follow("reader\($0)", "author", at: 0) })
    let owner = try Connection(database.url, applicationName: "feeds test")
    defer { owner.close() }
    try owner.script(
      """
      CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_sleep(0.0003);
        RETURN new;
      END $$;
      CREATE TRIGGER take_long BEFORE INSERT ON feed_entries
        FOR EACH ROW EXECUTE FUNCTION take_long()
      """)
    for batch in 0..<2 {
      let published = (0..<posts).map {
        Say.post("p\(batch).\($0)", by: "author", at: Int64(batch * posts + $0))
      }
      #expect(try database.apply(published)["deliveries"] == posts * followers)
      let transactions = try database.count(
        "(SELECT FROM posts WHERE post_id LIKE 'p\(batch).%' GROUP BY xmin::text) t")
      // Half of a second's deliveries are fewer than 1,700, so two posts; the first batch was not known to be slow.
      #expect(batch == 0 ? transactions == 1 : (2...posts).contains(transactions))
    }
    #expect(try database.stored("reader7").count == 2 * posts)
    #expect(try database.violations() == [])
  }

  @Test("pulled authors do not count towards the bound, however many posts a batch has")
  func pulledWeighNothing() throws {
    let database = try FeedDatabase(FeedLimits(pushLimit: 20, deliveriesMax: 50, entriesMax: 50))
    var events = try crowd(database)
    let batch =
      (0..<10).map { Say.post("s\($0)", by: "star", at: Int64($0)) }
      + [Say.post("n", by: "neighbour", at: 5), Say.delete("s3", by: "star", at: 20)]
    events += batch
    #expect(try database.apply(batch) == ["deliveries": 1, "pruned": 0, "pulled": 9])
    #expect(try database.count("posts GROUP BY xmin::text") == 11, "one transaction")
    #expect(try database.stored("reader1") == ["n"])
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("of versions of one post in different pieces of a batch, the newest wins")
  func versionsAcrossPieces() throws {
    let database = try FeedDatabase(FeedLimits(deliveriesMax: 30, entriesMax: 30))
    var events = try crowd(database)
    let batch = (0..<6).map { Say.post("s\($0 % 2)", by: "star", at: 10 - Int64($0)) }
    events += batch
    try database.apply(batch)
    #expect(try database.stored("reader0") == ["s0", "s1"])
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("deleted posts with too many entries disappear immediately; their entries go later")
  func massDeletion() throws {
    let database = try FeedDatabase(
      FeedLimits(deliveriesMax: 200, entriesMax: 200, blocksAtOnce: 1))
    var events = try crowd(database)
    for number in 0..<10 {
      events.append(Say.post("s\(number)", by: "star", at: Int64(number)))
      try database.apply([events[events.count - 1]])
    }
    events.append(Say.post("n", by: "neighbour", at: 0))
    try database.apply([events[events.count - 1]])
    let deletions = (1..<10).map { Say.delete("s\($0)", by: "star", at: 100) }
    events += deletions
    #expect(try database.apply(deletions)["pruned"] == 40)
    #expect(try database.count("retired_keys") == 7)
    #expect(try database.count("feed_entries") == 20 * 8 + 1)
    #expect(try database.violations() == [])
    // The remaining entries do not shorten any page.
    for limit in [1, 2, 3] {
      #expect(try database.differences(from: Model(events)) { limit } == [])
    }

    #expect(try database.sweep() == 20 * 7)
    #expect(try database.count("feed_entries") == 21)
    #expect(try database.violations() == [])
    #expect(try database.differences(from: Model(events)) == [])
  }

  @Test("edits of posts with many readers write no entries, so they stay in one transaction")
  func edits() throws {
    let database = try FeedDatabase(FeedLimits(deliveriesMax: 50, entriesMax: 50))
    var events = try crowd(database)
    events += (0..<10).map { Say.post("s\($0)", by: "star", at: Int64($0)) }
    try database.apply(Array(events.suffix(10)))
    let edits = (0..<10).map { Say.post("s\($0)", by: "star", at: 100, title: "edited") }
    events += edits
    #expect(try database.apply(edits) == ["deliveries": 0, "pruned": 0, "pulled": 0])
    #expect(try database.count("(SELECT FROM posts GROUP BY xmin::text) t") == 1)
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("an earlier publication weighs as much as the followers of the author who keeps the post")
  func earlierPublications() throws {
    let database = try FeedDatabase(FeedLimits(deliveriesMax: 50, entriesMax: 50))
    var events = try crowd(database)
    events += (0..<10).map { Say.post("s\($0)", by: "star", at: 100 + Int64($0)) }
    try database.apply(Array(events.suffix(10)))
    let late = (0..<10).map { Say.post("s\($0)", by: "nobody", at: 10 - Int64($0)) }
    events += late
    #expect(try database.apply(late)["deliveries"] == 200)
    let largest = try database.connection.query(
      "SELECT max(n) FROM (SELECT count(*) AS n FROM feed_entries GROUP BY xmin::text) t"
    ).only.int(0)
    #expect(largest <= 50 + 20)
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.sweep() > 0)
    #expect(try database.count("feed_entries") == 200)
    #expect(try database.violations() == [])
  }

  @Test("a retired key is never reused, not even when the same post returns to its place")
  func retiredKeys() throws {
    let database = try FeedDatabase(FeedLimits(deliveriesMax: 50, entriesMax: 50))
    var events = try crowd(database)
    func apply(_ event: Event) throws {
      events.append(event)
      try database.apply([event])
    }
    try apply(Say.post("p", by: "star", at: 7))
    try apply(Say.delete("p", by: "star", at: 8))
    #expect(try database.count("retired_keys") == 1)
    #expect(try database.count("feed_entries") == 20)
    try apply(Say.post("p", by: "star", at: 9))
    #expect(try database.count("feed_entries") == 40, "of the old key and of the new one")
    #expect(try database.stored("reader1") == ["p"])
    try apply(Say.post("p", by: "neighbour", at: 10))
    #expect(try database.stored("reader1") == ["p"])
    #expect(try database.count("retired_keys") == 2)
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }
}
