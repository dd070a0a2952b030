import Events
import Postgres
import Testing

@testable import Feeds
@testable import Lanes

/// Two writers in a fixed interleaving: the first stops between two statements, the second runs a
/// complete transaction, then the first continues.
@Suite struct RaceTests {
  private func interleave(
    _ database: FeedDatabase, _ topic: Topic, _ first: Event, stoppedAfter statements: Int,
    _ second: Event
  ) throws -> String? {
    let other = try FeedDatabase(url: database.url, handler: database.handler)
    let connection = database.connection
    let work = try database.handler.apply(topic, [first])
    let error = #expect(throws: PostgresError.self) {
      try connection.transaction {
        _ = try connection.pipeline(Array(work.statements.prefix(statements)))
        try other.apply(second)
        _ = try connection.pipeline(Array(work.statements.dropFirst(statements)))
      }
    }
    try database.apply(first)
    return error?.sqlstate
  }

  @Test("another writer publishes the same post after the locks were taken", arguments: 4...7)
  func postMeanwhile(stoppedAfter statements: Int) throws {
    let database = try FeedDatabase()
    try database.apply(Say.follow("bo", "ann", at: 0), Say.follow("dee", "cy", at: 0))
    let events = [Say.post("p", by: "ann", at: 5), Say.post("p", by: "cy", at: 3)]
    let sqlstate = try interleave(
      database, .posts, events[0], stoppedAfter: statements, events[1])
    #expect(sqlstate == "40001")
    #expect(try database.feed("bo") == ["p"])
    #expect(try database.feed("dee") == [])
    #expect(try database.violations() == [])
  }

  @Test(
    "another writer publishes the same post later, so only the place is to be stored",
    arguments: 4...7)
  func laterMeanwhile(stoppedAfter statements: Int) throws {
    let database = try FeedDatabase()
    try database.apply(
      Say.follow("bo", "ann", at: 0), Say.follow("dee", "cy", at: 0), Say.post("q", by: "cy", at: 4)
    )
    let events = [Say.post("p", by: "ann", at: 3), Say.post("p", by: "cy", at: 5)]
    let sqlstate = try interleave(
      database, .posts, events[0], stoppedAfter: statements, events[1])
    #expect(sqlstate == "40001")
    #expect(try database.feed("bo") == [])
    #expect(try database.feed("dee") == ["q", "p"])
    #expect(try database.violations() == [])
  }

  @Test("another writer sends the same message after the locks were taken", arguments: 5...6)
  func messageMeanwhile(stoppedAfter statements: Int) throws {
    let database = try FeedDatabase()
    let events = [
      Say.message("m", from: "ann", to: "bo", at: 5),
      Say.message("m", from: "cy", to: "dee", at: 3),
    ]
    let sqlstate = try interleave(
      database, .messages, events[0], stoppedAfter: statements, events[1])
    #expect(sqlstate == "40001")
    #expect(try database.ids(database.pages("conversation_list", ["bo"])) == ["ann"])
    #expect(try database.pages("conversation_list", ["dee"]) == [])
    #expect(try database.violations() == [])
  }

  @Test("a message waits for an uncommitted message between the same two people")
  func messageDuringMessage() throws {
    let database = try FeedDatabase()
    let other = try FeedDatabase(url: database.url, handler: database.handler)
    try database.apply(Say.message("m0", from: "ann", to: "bo", at: 0))
    _ = try other.connection.query("SET lock_timeout = '200ms'")
    try database.connection.transaction {
      let work = try database.handler.apply(
        .messages, [Say.message("m1", from: "ann", to: "bo", at: 1)])
      // All statements but the last, which would block the other writer by itself.
      _ = try database.connection.pipeline(Array(work.statements.dropLast()))
      let error = #expect(throws: PostgresError.self) {
        try other.apply(Say.message("m2", from: "bo", to: "ann", at: 2))
      }
      #expect(error?.sqlstate == "55P03")
      _ = try database.connection.pipeline(work.statements.suffix(1))
    }
    try other.apply(Say.message("m2", from: "bo", to: "ann", at: 2))
    #expect(try database.pages("conversation_list", ["ann"])[0].string.hasPrefix("bo|m2|"))
    #expect(try database.violations() == [])
  }

  @Test("an unfollow waits for a post that is being delivered, and then removes its entry")
  func unfollowDuringDelivery() throws {
    let database = try FeedDatabase()
    let other = try FeedDatabase(url: database.url, handler: database.handler)
    try database.apply(Say.follow("bo", "ann", at: 0))
    _ = try other.connection.query("SET lock_timeout = '200ms'")
    try database.connection.transaction {
      let work = try database.handler.apply(.posts, [Say.post("p", by: "ann", at: 1)])
      _ = try work.run(on: database.connection)
      #expect(throws: PostgresError.self) { try other.apply(Say.unfollow("bo", "ann", at: 2)) }
    }
    try other.apply(Say.unfollow("bo", "ann", at: 2))
    #expect(try database.count("feed_entries") == 0)
    #expect(try database.violations() == [])
  }

  @Test("of two posts with one key, the second gets another key")
  func sameKey() throws {
    var byKey: [Int64: String] = [:]
    var twins: (String, String)?
    for number in 0... {
      let id = "p\(number)"
      if let other = byKey.updateValue(id, forKey: postKeyHash(id)) {
        twins = (other, id)
        break
      }
    }
    let (one, other) = try #require(twins)
    let database = try FeedDatabase()
    try database.apply(Say.follow("bo", "ann", at: 0), Say.follow("bo", "cy", at: 0))
    try database.apply(Say.post(one, by: "ann", at: 9), Say.post(other, by: "cy", at: 9))
    #expect(try database.feed("bo") == [one, other].sorted(by: >))
    try database.apply([Say.delete(one, by: "ann", at: 10), Say.post("new", by: "cy", at: 10)])
    #expect(try database.feed("bo") == ["new", other])
    #expect(try database.violations() == [])
  }
}
