import Events
import Model
import Postgres
import Testing

@testable import Feeds

/// The restoring of a feed, stopped between two statements while other writers continue.
@Suite struct ReturnRaceTests {
  private static let limits = FeedLimits(feedLength: 5, evictIdleDays: 1)
  private var backlog: [Statement] {
    feedBacklog(limits: Self.limits, after: DeliveryPace()).statements
  }

  /// bo follows ann and cy, was away and has just returned; dee has a post, too.
  private func world() throws -> (FeedDatabase, FeedDatabase, [Event]) {
    let database = try FeedDatabase(Self.limits)
    let events = [
      Say.follow("bo", "ann", at: 0), Say.follow("bo", "cy", at: 0),
      Say.post("a", by: "ann", at: 1000), Say.post("c", by: "cy", at: 2000),
      Say.post("d", by: "dee", at: 3000),
    ]
    try database.apply(events)
    _ = try database.touch("bo")
    try database.passDays(2)
    try database.runBacklog()
    #expect(try database.stored("bo") == [])
    #expect(try !database.touch("bo"))
    let other = try FeedDatabase(url: database.url, handler: database.handler)
    _ = try other.connection.query("SET lock_timeout = '200ms'")
    return (database, other, events)
  }

  @Test("restoring waits for a post that is being delivered, and then includes it")
  func deliveryFirst() throws {
    let (database, other, events) = try world()
    let post = Say.post("new", by: "cy", at: 5000)
    try database.connection.transaction {
      let work = try database.handler.apply(.posts, [post])
      _ = try database.connection.pipeline(work.statements)
      let error = #expect(throws: PostgresError.self) { try other.runBacklog() }
      #expect(error?.sqlstate == "55P03")
    }
    try other.runBacklog()
    #expect(try database.stored("bo") == ["new", "c", "a"])
    #expect(try database.differences(from: Model(events + [post])) == [])
    #expect(try database.violations() == [])
  }

  @Test("posts, deletions, unfollows and new follows wait for restoring", arguments: 0..<4)
  func others(number: Int) throws {
    let (database, other, events) = try world()
    let event = [
      Say.post("new", by: "ann", at: 5000), Say.delete("a", by: "ann", at: 5000),
      Say.unfollow("bo", "cy", at: 5000), Say.follow("bo", "dee", at: 5000),
    ][number]
    try database.connection.transaction {
      _ = try database.connection.pipeline(backlog)
      let error = #expect(throws: PostgresError.self) { try other.apply(event) }
      #expect(error?.sqlstate == "55P03")
    }
    try other.apply(event)
    let model = Model(events + [event])
    #expect(try database.stored("bo") == model.feed(of: "bo").map(\.id))
    #expect(try database.violations() == [])
  }

  @Test("a follow between the two locks restarts restoring")
  func followBetween() throws {
    let (database, other, events) = try world()
    let follow = Say.follow("bo", "dee", at: 5000)
    let statements = backlog
    let error = #expect(throws: PostgresError.self) {
      try database.connection.transaction {
        _ = try database.connection.pipeline(Array(statements.prefix(3)))
        try other.apply(follow)
        _ = try database.connection.pipeline(Array(statements.dropFirst(3)))
      }
    }
    #expect(error?.sqlstate == "40001")
    try database.runBacklog()
    #expect(try database.stored("bo") == ["d", "c", "a"])
    #expect(try database.differences(from: Model(events + [follow])) == [])
    #expect(try database.violations() == [])
  }

  @Test("so does a follow of an author without posts, even if there is nothing to store")
  func followBetweenWithNothingToStore() throws {
    let database = try FeedDatabase(Self.limits)
    let follows = [Say.follow("bo", "ann", at: 0), Say.follow("bo", "dee", at: 1)]
    try database.apply([follows[0]])
    _ = try database.touch("bo")
    try database.passDays(2)
    try database.runBacklog()
    #expect(try !database.touch("bo"))
    let other = try FeedDatabase(url: database.url, handler: database.handler)
    let statements = backlog
    let error = #expect(throws: PostgresError.self) {
      try database.connection.transaction {
        _ = try database.connection.pipeline(Array(statements.prefix(3)))
        try other.apply(follows[1])
        _ = try database.connection.pipeline(Array(statements.dropFirst(3)))
      }
    }
    #expect(error?.sqlstate == "40001")
    try database.runBacklog()
    let post = Say.post("d", by: "dee", at: 3000)
    try database.apply(post)
    #expect(try database.stored("bo") == ["d"])
    #expect(try database.differences(from: Model(follows + [post])) == [])
    #expect(try database.violations() == [])
  }

  @Test("two lanes never restore a feed twice; an eviction in between wins or is seen")
  func twoLanes() throws {
    let (database, other, events) = try world()
    try database.connection.transaction {
      _ = try database.connection.pipeline(backlog)
      #expect(try other.handler.runBacklogDirectly(on: other.connection).counts["returned"] == 0)
    }
    #expect(try database.count("feed_entries") == 2)
    try database.passDays(2)
    #expect(try database.runBacklog()["evicted"] == 1)
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("the role for feed_touch may only record visits; a read-only role may not")
  func roles() throws {
    let (database, _, _) = try world()
    #expect(try !database.touch("bo"))
    _ = try database.connection.query("SET ROLE magpie_backend")
    #expect(try database.feed("bo") == ["c", "a"])
    for damage in [
      "DELETE FROM feed_visits", "UPDATE feeds SET floor = 0", "DELETE FROM feed_returns",
      "INSERT INTO feed_entries VALUES (1, 1)", "UPDATE users SET user_id = user_id",
      "INSERT INTO feed_trims (kind, person) VALUES ('owner', 1)",
    ] {
      let error = #expect(throws: PostgresError.self) { try database.connection.query(damage) }
      #expect(error?.sqlstate == "42501", "\(damage)")
    }
    _ = try database.connection.query("SET ROLE magpie_reader")
    let error = #expect(throws: PostgresError.self) {
      try database.connection.query("SELECT feed_touch('dee')")
    }
    #expect(error?.sqlstate == "42501")
  }
}
