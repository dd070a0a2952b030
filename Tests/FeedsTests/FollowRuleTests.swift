import Model
import Postgres
import Testing

@testable import Lanes

@Suite struct FollowRuleTests {
  @Test("a follow backfills the feed, an unfollow prunes it")
  func backfillAndPrune() throws {
    let database = try FeedDatabase()
    try database.apply(Say.post("p", by: "ann", at: 1), Say.post("q", by: "cy", at: 2))
    try database.apply(Say.delete("gone", by: "ann", at: 3))
    #expect(try database.apply([Say.follow("bo", "ann", at: 4)]) == ["backfilled": 1, "pruned": 0])
    #expect(try database.apply([Say.follow("bo", "cy", at: 4)]) == ["backfilled": 1, "pruned": 0])
    #expect(try database.feed("bo") == ["q", "p"])
    #expect(
      try database.apply([Say.unfollow("bo", "ann", at: 5)]) == ["backfilled": 0, "pruned": 1])
    #expect(try database.feed("bo") == ["q"])
  }

  @Test("an unfollow that arrives before its follow still wins")
  func lateFollow() throws {
    let database = try FeedDatabase()
    try database.apply(Say.post("p", by: "ann", at: 1))
    try database.apply(Say.unfollow("bo", "ann", at: 5), Say.follow("bo", "ann", at: 4))
    #expect(try database.feed("bo") == [])
    #expect(try database.stats("ann") == "1|0|0")
    try database.apply(Say.follow("bo", "ann", at: 6))
    #expect(try database.feed("bo") == ["p"])
    #expect(try database.violations() == [])
  }

  @Test("counts change only when a follow really begins or ends")
  func counts() throws {
    let database = try FeedDatabase()
    try database.apply([
      Say.follow("bo", "ann", at: 1), Say.follow("bo", "cy", at: 1), Say.follow("cy", "ann", at: 1),
    ])
    try database.apply(
      Say.follow("bo", "ann", at: 2), Say.unfollow("bo", "dee", at: 3),
      Say.unfollow("cy", "ann", at: 4),
      Say.unfollow("cy", "ann", at: 5))
    #expect(try database.stats("ann") == "0|1|0")
    #expect(try database.stats("bo") == "0|0|2")
    #expect(try database.stats("cy") == "0|1|0")
    #expect(try database.stats("dee") == "0|0|0")
    #expect(try database.stats("nobody ever heard of") == "0|0|0")
  }

  @Test("a self-follow is a follow like any other")
  func oneself() throws {
    let database = try FeedDatabase()
    try database.apply(Say.follow("ann", "ann", at: 1), Say.post("p", by: "ann", at: 2))
    #expect(try database.feed("ann") == ["p"])
    #expect(try database.stats("ann") == "1|1|1")
    #expect(try database.violations() == [])
  }

  @Test("nothing is stored below the floor, and pages do not change")
  func floor() throws {
    for pushLimit in [1, 2, 100] {
      let database = try FeedDatabase(pushLimit: pushLimit)
      var events = [
        Say.follow("bo", "ann", at: 0), Say.follow("bo", "cy", at: 0), Say.follow("x", "cy", at: 0),
      ]
      try database.apply(events)
      // A floor in the middle of the future entries, for a reader without any yet.
      try database.asOwner {
        _ = try database.connection.query(
          """
          INSERT INTO feeds
          SELECT user_key, ((extract(epoch FROM timestamptz '2024-01-01 00:00:00Z') * 1000000
            - 946684800000000)::bigint + 50) << 11
          FROM users WHERE user_id = 'bo'
          ON CONFLICT (owner) DO UPDATE SET floor = excluded.floor
          """)
      }
      for at in stride(from: Int64(95), to: 0, by: -5) {
        events.append(Say.post("p\(at)", by: at % 2 == 0 ? "ann" : "cy", at: at))
        events.append(Say.post("crowded \(at)", by: "ann", at: at))
      }
      events.append(Say.post("p20", by: "cy", at: 21))
      events.append(Say.delete("p30", by: "ann", at: 96))
      events.append(Say.post("p10", by: "ann", at: 70, title: "moved up"))
      events.append(Say.post("p90", by: "cy", at: 12_000, title: "edited"))
      events.append(Say.unfollow("bo", "cy", at: 100))
      events.append(Say.follow("bo", "cy", at: 101))
      try database.apply(Array(events.dropFirst(3).prefix(20)))
      for event in events.dropFirst(23) { try database.apply(event) }
      #expect(try database.violations() == [])
      for limit in [1, 3, 7, 200] {
        #expect(try database.differences(from: Model(events)) { limit } == [])
      }
      let stored = try database.connection.query(
        "SELECT count(*) FROM feed_entries e JOIN feeds f USING (owner) WHERE post_key < floor")
      #expect(try stored.only.int(0) == 0)
    }
  }

  @Test("a follow waits for a post that is being delivered, and then includes it")
  func followDuringDelivery() throws {
    let database = try FeedDatabase()
    let other = try FeedDatabase(url: database.url, handler: database.handler)
    try database.apply(Say.follow("x", "ann", at: 0))
    _ = try other.connection.query("SET lock_timeout = '200ms'")
    try database.connection.transaction {
      let work = try database.handler.apply(.posts, [Say.post("p", by: "ann", at: 1)])
      _ = try work.run(on: database.connection)
      let error = #expect(throws: PostgresError.self) {
        try other.apply(Say.follow("bo", "ann", at: 2))
      }
      #expect(error?.sqlstate == "55P03")
    }
    try other.apply(Say.follow("bo", "ann", at: 2))
    #expect(try database.feed("bo") == ["p"])
    #expect(try database.violations() == [])
  }
}
