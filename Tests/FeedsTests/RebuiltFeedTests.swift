import Dispatch
import Handling
import Model
import Postgres
import TestSupport
import Testing

@testable import Feeds

/// What a rebuild does differently: see decision 0043.
@Suite struct RebuiltFeedTests {
  @Test("two lanes of a rebuild, whose feed_entries has no key at first, leave the model's feeds")
  func lanes() throws {
    var random = SeededGenerator()
    for (pushLimit, feedLength) in [(3, 4), (100, 1_000)] {
      let limits = FeedLimits(
        pushLimit: pushLimit, feedLength: feedLength, isRebuild: true, deliveriesMax: 20,
        entriesMax: 20)
      let database = try FeedDatabase(limits)
      try database.asOwner {
        try database.connection.script(
          "ALTER TABLE feed_entries DROP CONSTRAINT feed_entries_pkey")
      }
      let events = collidingEvents(1_000, people: 6, things: 80, using: &random)
      let (threads, lanes) = (FeedThreads(database), DispatchGroup())
      for number in 0..<2 {
        let share = batches(
          of: events.enumerated().filter { $0.offset % 2 == number }.map(\.element), upTo: 40,
          using: &random)
        threads.start(lanes) { lane in
          for batch in share {
            for (topic, events) in Dictionary(grouping: batch, by: \.topic) {
              try lane.handler.runAhead(events, topic: topic, on: lane.connection)
            }
            _ = try lane.applyRetrying(batch)
          }
        }
      }
      lanes.wait()
      #expect(threads.failures.withLock { $0 } == [])
      try database.asOwner {
        try database.connection.script(
          "ALTER TABLE feed_entries ADD PRIMARY KEY (owner, post_key)")
      }
      for _ in 0..<2 {
        #expect(try database.differences(from: Model(events)) == [])
        #expect(try database.violations() == [])
        try database.sweep()
      }
      #expect(try database.count("feed_entries e JOIN retired_keys USING (post_key)") == 0)
    }
  }

  @Test("replaced and deleted posts delete no entries; the sweep does")
  func replacedPosts() throws {
    let database = try FeedDatabase(FeedLimits(isRebuild: true))
    try database.apply(
      Say.follow("bo", "ann", at: 0), Say.post("a", by: "ann", at: 1),
      Say.post("b", by: "ann", at: 1))
    #expect(try database.apply([Say.delete("a", by: "ann", at: 2)])["pruned"] == 0)
    #expect(try database.count("feed_entries") == 2)
    #expect(try database.feed("bo") == ["b"])
    #expect(try database.sweep() == 1)
    #expect(try database.violations() == [])
  }
}
