import Events
import Model
import Postgres
import Testing

@testable import Feeds

/// What would be too many rows for one transaction.
@Suite struct BoundedWorkTests {
  private func crowd(_ database: FeedDatabase) throws -> [Event] {
    let events =
      (0..<20).map { Say.follow("reader\($0)", "star", at: 0) }
      + [Say.follow("reader1", "neighbour", at: 0)]
    try database.apply(events)
    return events
  }

  @Test("a burst of posts by people with many followers is merged when read; neighbours' are not")
  func burst() throws {
    let database = try FeedDatabase(FeedLimits(entriesMax: 50))
    var events = try crowd(database)
    let burst =
      (0..<10).map { Say.post("s\($0)", by: "star", at: Int64($0)) }
      + [Say.post("n", by: "neighbour", at: 5)]
    events += burst
    #expect(try database.apply(burst) == ["deliveries": 41, "pruned": 0, "pulled": 8])
    #expect(try database.stored("reader1") == ["n", "s1", "s0"])
    #expect(try database.differences(from: Model(events)) == [])
    // The next post is pushed as before: the author has no more followers than the limit.
    events.append(Say.post("s10", by: "star", at: 10))
    #expect(try database.apply([events[events.count - 1]])["deliveries"] == 20)
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("deleted posts with too many entries vanish at once; their entries go later")
  func massDeletion() throws {
    let database = try FeedDatabase(FeedLimits(entriesMax: 200, blocksAtOnce: 1))
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
    // The entries that are left make no page short.
    for limit in [1, 2, 3] {
      #expect(try database.differences(from: Model(events)) { limit } == [])
    }

    #expect(try database.sweep() == 20 * 7)
    #expect(try database.count("feed_entries") == 21)
    #expect(try database.violations() == [])
    #expect(try database.differences(from: Model(events)) == [])
  }

  @Test("a retired key is never given to another post, also not to the same post's next version")
  func retiredKeys() throws {
    let database = try FeedDatabase(FeedLimits(entriesMax: 50))
    var events = try crowd(database)
    events.append(Say.post("p", by: "star", at: 7, id: "a"))
    events.append(Say.post("p", by: "star", at: 7, id: "b"))
    let unlimited = try FeedDatabase(url: database.url, handler: feedHandler())
    try unlimited.apply([events[events.count - 2]])
    let entries = try database.count("feed_entries")
    try database.apply([events[events.count - 1]])
    #expect(entries == 20)
    #expect(try database.count("feed_entries") == 2 * entries, "of the old key and of the new one")
    #expect(try database.count("retired_keys") == 1)
    events.append(Say.post("p", by: "neighbour", at: 7, id: "c"))
    try database.apply([events[events.count - 1]])
    #expect(try database.stored("reader1") == ["p"])
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }
}
