import Events
import Handling
import Model
import Postgres
import TestSupport
import Testing

@testable import Feeds

private func older(_ work: Work) -> Work {
  var copy = Work(
    work.statements.map { statement in
      Statement(
        statement.sql.replacing("first_at", with: "version_time"), statement.parameters)
    })
  copy.finish = work.finish
  return copy
}

private func olderHandler(_ limits: FeedLimits) -> Handler {
  let handler = feedHandler(limits)
  var copy = Handler(name: "older", topics: [.follows]) { topic, events in
    older(try handler.apply(topic, events))
  }
  copy.backlog = { older(feedBacklog(limits: limits, after: DeliveryPace())) }
  copy.recordsMax = handler.recordsMax
  return copy
}

/// Workers of schema version 18 beside this one. Their statements for follows and for background work
/// are those of today with `version_time` for `first_at`. (They also move edited posts, which `make
/// upgrade-test` tries with real executables.)
@Suite struct OlderVersionTests {
  @Test("follows and background work of older workers keep feeds complete, whatever was edited")
  func mixed() throws {
    var random = SeededGenerator()
    for limits in [
      FeedLimits(pushLimit: 4, feedLength: 3, evictIdleDays: 1, blocksAtOnce: 1),
      FeedLimits(
        feedLength: 6, evictIdleDays: 1, deliveriesMax: 20, entriesMax: 20, blocksAtOnce: 1),
    ] {
      // Further apart than keys deviate from the order of times.
      let start = Say.post("", by: "", at: 0).time.microseconds
      let events = collidingEvents(500, using: &random).map { event in
        var event = event
        event.time = EventTime(microseconds: start + (event.time.microseconds - start) * 1000)
        return event
      }
      let database = try FeedDatabase(limits)
      let older = try FeedDatabase(url: database.url, handler: olderHandler(limits))
      for batch in batches(of: events.shuffled(using: &random), upTo: 40, using: &random) {
        try database.apply(batch.filter { $0.topic != .follows })
        try older.apply(batch.filter { $0.topic == .follows })
        _ = try database.touch(["ann", "bo", "dee"].randomElement(using: &random) ?? "")
        try database.passDays(Int.random(in: 0...1, using: &random))
        try older.runBacklog()
        #expect(try database.violations() == [])
      }
      let differences = try database.differences(from: Model(events)) {
        Int.random(in: 1...20, using: &random)
      }
      #expect(differences.isEmpty, "\(differences.first ?? "")")
    }
  }

  @Test("an older worker leaves a feed unstored rather than incomplete; this version stores it")
  func returning() throws {
    let limits = FeedLimits(feedLength: 2, evictIdleDays: 1)
    let database = try FeedDatabase(limits)
    let older = try FeedDatabase(url: database.url, handler: olderHandler(limits))
    let events =
      [Say.follow("bo", "ann", at: 0)]
      + (1...6).map { Say.post("p\($0)", by: "ann", at: Int64($0) * 1000) }
      + (1...2).map { Say.post("p\($0)", by: "ann", at: 9000, title: "edited") }
    try database.apply(events)
    _ = try database.touch("bo")
    try database.passDays(2)
    try database.runBacklog()
    #expect(try !database.touch("bo"))
    #expect(try older.runBacklog()["returned"] == 1)
    #expect(try database.stored("bo") == [])
    #expect(try database.differences(from: Model(events)) { 2 } == [])
    #expect(try database.violations() == [])
    #expect(try !database.touch("bo"))
    #expect(try database.runBacklog()["returned"] == 1)
    #expect(try database.stored("bo") == ["p6", "p5"])
    #expect(try database.differences(from: Model(events)) { 2 } == [])
    #expect(try database.violations() == [])
  }

  @Test(
    "posts that an older worker writes keep the invariants; the log applied again corrects them")
  func posts() throws {
    let database = try FeedDatabase()
    let events = [
      Say.follow("bo", "ann", at: 0), Say.post("p", by: "ann", at: 10),
      Say.post("q", by: "ann", at: 20), Say.post("p", by: "ann", at: 30, title: "edited"),
      Say.post("gone", by: "ann", at: 5), Say.delete("gone", by: "ann", at: 40),
    ]
    try database.apply(events)
    // What an older worker does with p's edit and with the deletion.
    try database.asOwner {
      try database.connection.script(
        """
        DELETE FROM feed_entries e USING posts p WHERE p.post_id = 'p' AND e.post_key = p.post_key;
        CREATE TEMP TABLE replaced AS SELECT * FROM posts WHERE post_id IN ('p', 'gone');
        DELETE FROM posts WHERE post_id IN ('p', 'gone');
        INSERT INTO posts (post_id, post_key, author, delivery, deleted, title, caption, image_url,
          version_time, version_id)
        SELECT post_id, CASE WHEN NOT deleted THEN feeds_time_key(version_time) END, author,
          delivery, deleted, title, caption, image_url, version_time, version_id FROM replaced;
        INSERT INTO feed_entries
        SELECT f.follower, p.post_key FROM follows f JOIN posts p ON p.author = f.followee
        WHERE p.post_id = 'p';
        """)
    }
    #expect(try database.feed("bo") == ["p", "q"])
    #expect(try database.violations() == [])
    for event in events { try database.apply([event]) }
    #expect(try database.feed("bo") == ["q", "p"])
    try database.apply([Say.post("gone", by: "ann", at: 50)])
    #expect(try database.feed("bo") == ["q", "p", "gone"])
    #expect(try database.violations() == [])
  }
}
