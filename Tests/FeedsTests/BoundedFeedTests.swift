import Events
import Model
import Postgres
import Testing

@testable import Feeds

@Suite struct BoundedFeedTests {
  private func posts(_ numbers: ClosedRange<Int>, by author: String) -> [Event] {
    // A millisecond apart: within 512 microseconds keys need not follow the order of times.
    numbers.map { Say.post("\(author)\($0)", by: author, at: Int64($0) * 1000) }
  }

  @Test("a feed is trimmed to its newest entries, and its pages do not change")
  func trim() throws {
    let database = try FeedDatabase(FeedLimits(feedLength: 20))
    var events = [Say.follow("bo", "ann", at: 0), Say.follow("cy", "ann", at: 0)]
    events += posts(1...200, by: "ann")
    try database.apply(Array(events.prefix(2)))
    for batch in batches(of: Array(events.dropFirst(2)), of: 10) {
      try database.apply(batch)
      try database.runBacklog()
    }
    // On average, every twentieth post queued its readers' feeds for trimming.
    for reader in ["bo", "cy"] {
      let stored = try database.stored(reader).count
      #expect(stored < 180 && stored >= 20, "\(stored)")
    }
    try database.sweep()
    #expect(
      try database.count("feed_entries") == database.stored("bo").count
        + database.stored("cy").count)
    #expect(try database.violations() == [])
    for limit in [1, 7, 20, 200] {
      #expect(try database.differences(from: Model(events)) { limit } == [])
    }
  }

  @Test("a late post below the floor is not stored, but shown")
  func latePost() throws {
    let database = try FeedDatabase(FeedLimits(feedLength: 5))
    var events = [Say.follow("bo", "ann", at: 0)] + posts(10...30, by: "ann")
    try database.apply([events[0]])
    try database.apply(Array(events.dropFirst()))
    #expect(try database.count("feed_entries") == 21)
    _ = try database.connection.query(
      "INSERT INTO feed_trims SELECT 'owner', user_key FROM users ON CONFLICT DO NOTHING")
    #expect(try database.runBacklog()["trimmed"] == 1)
    try database.sweep()
    #expect(try database.count("feed_entries") == 5)
    let late = Say.post("late", by: "ann", at: 1)
    #expect(try database.apply([late])["deliveries"] == 0)
    events.append(late)
    #expect(try database.feed("bo").last == "late")
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test(
    "a reader who is away stores no feed, misses nothing, and gets the feed back on return")
  func eviction() throws {
    let database = try FeedDatabase(FeedLimits(feedLength: 5, evictIdleDays: 30))
    var events = [Say.follow("bo", "ann", at: 0), Say.follow("cy", "ann", at: 0)]
    events += posts(1...8, by: "ann")
    try database.apply(events)
    #expect(try database.touch("bo"))
    try database.runBacklog()
    try database.passDays(20)
    #expect(try database.runBacklog()["evicted"] == nil)
    try database.passDays(20)
    #expect(try database.runBacklog()["evicted"] ?? 0 >= 1)
    #expect(try database.stored("bo") == [])
    try database.sweep()
    let cys = try database.stored("cy").count
    #expect(try database.count("feed_entries") == cys)

    let more = posts(9...10, by: "ann")
    events += more
    #expect(try (database.apply(more)["deliveries"] ?? 0) <= 2, "only cy may have got them")
    events.append(Say.post("e1", by: "eve", at: 500))
    events.append(Say.follow("bo", "eve", at: 11_000))
    #expect(try database.apply(Array(events.suffix(2)))["backfilled"] == 0)
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])

    #expect(try !database.touch("bo"))
    #expect(try database.runBacklog()["returned"] == 1)
    #expect(try database.stored("bo") == ["ann10", "ann9", "ann8", "ann7", "ann6"])
    #expect(try database.touch("bo"))
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("a returning reader's short feed is stored completely; strangers have no feed")
  func shortFeed() throws {
    let database = try FeedDatabase(FeedLimits(feedLength: 50, evictIdleDays: 1))
    try database.apply([Say.follow("bo", "ann", at: 0), Say.follow("bo", "cy", at: 0)])
    try database.apply(posts(1...8, by: "ann") + posts(1...8, by: "cy"))
    _ = try (database.touch("bo"), database.touch("dee"))
    try database.passDays(2)
    try database.runBacklog()
    try database.sweep()
    #expect(try database.count("feed_entries") == 0)
    #expect(try !database.touch("bo"))
    #expect(try !database.touch("nobody ever heard of"))
    try database.runBacklog()
    #expect(try database.count("feed_entries") == 16)
    let floors = try database.connection.query("SELECT floor FROM feeds").map { try $0.int(0) }
    #expect(floors == [0])
  }

  @Test(
    "the feed of somebody who follows too many is not restored; others do not wait, and both pages are right"
  )
  func followsTooMany() throws {
    let database = try FeedDatabase(
      FeedLimits(feedLength: 50, evictIdleDays: 1, returningAtOnce: 1, followedMax: 2))
    var events = ["ann", "cy", "eve"].map { Say.follow("bo", $0, at: 0) }
    events += [Say.follow("dee", "ann", at: 0)] + posts(1...8, by: "ann") + posts(1...8, by: "cy")
    try database.apply(events)
    _ = try (database.touch("bo"), database.touch("dee"))
    try database.passDays(2)
    try database.runBacklog()
    _ = try (database.touch("bo"), database.touch("dee"))
    for _ in 0..<3 { try database.runBacklog() }
    #expect(try database.stored("dee").count == 8 && database.stored("bo") == [])
    #expect(try database.count("feed_returns") == 0)
    #expect(try database.differences(from: Model(events)) == [])

    events.append(Say.unfollow("bo", "eve", at: 1))
    try database.apply(Array(events.suffix(1)))
    _ = try database.touch("bo")
    try database.runBacklog()
    #expect(try database.stored("bo").count == 16)
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("one follow, or many at once, add at most as many entries as the length of a feed")
  func manyFollows() throws {
    let database = try FeedDatabase(FeedLimits(feedLength: 10))
    var events = (0..<30).flatMap { posts(1...20, by: "author\($0)-") }
    try database.apply(events)
    let follows = (0..<30).map { Say.follow("bo", "author\($0)-", at: 0) }
    #expect(try database.apply([follows[0]])["backfilled"] == 10)
    #expect(try database.apply(Array(follows.dropFirst()))["backfilled"] ?? 0 <= 30)
    events += follows
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
    let unfollow = Say.unfollow("bo", "author7-", at: 1)
    #expect(try database.apply([unfollow])["pruned"] ?? 0 <= 30)
    #expect(try database.differences(from: Model(events + [unfollow])) == [])
    #expect(try database.violations() == [])
  }

  @Test("feeds that follows would fill beyond the bound are read from posts, and stored later")
  func followsBeyondTheBound() throws {
    let database = try FeedDatabase(FeedLimits(feedLength: 10, deliveriesMax: 25, entriesMax: 25))
    var events = posts(1...40, by: "ann")
    try database.apply(events)
    let follows = (0..<6).map { Say.follow("reader\($0)", "ann", at: 0) }
    events += follows
    #expect(try database.apply(follows)["backfilled"] ?? 99 <= 25)
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
    #expect(try database.runBacklog()["returned"] == 4)
    #expect(try database.stored("reader5").count >= 9)
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("an author's posts are pulled from the push limit on, and pushed below four fifths of it")
  func hysteresis() throws {
    let database = try FeedDatabase(FeedLimits(pushLimit: 5))
    var (events, at) = ([Event](), Int64(0))
    func delivered(followers: Int) throws -> Int {
      let now = try database.connection.query("SELECT followers FROM profile_stats('ann')")
      let before = try now.only.int(0)
      at += 1000
      for number in before..<max(before, followers) {
        events.append(Say.follow("reader\(number)", "ann", at: at))
        try database.apply([events[events.count - 1]])
      }
      for number in min(before, followers)..<before {
        events.append(Say.unfollow("reader\(number)", "ann", at: at))
        try database.apply([events[events.count - 1]])
      }
      events.append(Say.post("p\(at)", by: "ann", at: at))
      return try database.apply([events[events.count - 1]])["deliveries"] ?? -1
    }
    let steps = [(4, 4), (5, 0), (4, 0), (3, 3), (4, 4), (5, 0), (3, 3)]
    for (followers, expected) in steps {
      #expect(try delivered(followers: followers) == expected, "\(followers)")
      #expect(try database.differences(from: Model(events)) == [])
    }
    #expect(try database.violations() == [])
  }

  /// Cuts the events into batches of one size.
  private func batches(of events: [Event], of size: Int) -> [[Event]] {
    stride(from: 0, to: events.count, by: size).map {
      Array(events[$0..<min($0 + size, events.count)])
    }
  }
}
