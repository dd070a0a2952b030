import Events
import Foundation
import Handling
import Lanes
import Model
import Notifications
import Postgres
import TestSupport
import Testing

/// Subscribers of an author are notified of the author's posts, in pieces.
@Suite("The bell")
struct BellTests {
  /// Runs one piece of the backlog.
  private func piece(_ world: World) throws -> Outcome {
    try testHandler.runBacklogDirectly(on: world.connection)
  }

  /// The recipients of alarms of the post, in the order of their ids.
  private func recipients(of post: String, _ world: World, head: String? = nil) throws -> [String] {
    try world.connection.query(
      """
      SELECT recipient FROM shown_notifications
      WHERE type = 13 AND subject = $1 AND head_text = coalesce($2, head_text) ORDER BY recipient
      """, [.text(post), .text(head)]
    ).map { try $0.text(0) }
  }

  private func pending(_ world: World) throws -> Int {
    try world.connection.query("SELECT count(*) FROM subscription_work").only.int(0)
  }

  private func subscriber(_ number: Int) -> String {
    let digits = String(number)
    return "reader-" + String(repeating: "0", count: 4 - digits.count) + digits
  }

  private func subscriptions(_ count: Int, to author: String) -> [Event] {
    (0..<count).map { subscribe(subscriber($0), to: author, at: 1) }
  }

  @Test("the last toggle at or before a post's first time decides; the author is not notified")
  func rule() throws {
    let world = try World()
    let events = [
      subscribe("ann", to: "star", at: 1), unsubscribe("ann", from: "star", at: 10),
      subscribe("bob", to: "star", at: 5), subscribe("cem", to: "star", at: 6),
      subscribe("star", to: "star", at: 1), subscribe("dan", to: "other", at: 1),
      post("p", by: "star", "title", at: 5), post("q", by: "star", at: 10),
      post("p", by: "star", "edited", at: 20),
    ]
    try world.apply(events)
    try world.settle()
    #expect(try recipients(of: "p", world) == ["ann", "bob"])
    #expect(try recipients(of: "q", world) == ["bob", "cem"])
    #expect(try world.shown() == Model(events).shown)
    let snapshot = try #require(
      lastSnapshots(world.published).values.compactMap(\.self).first {
        $0.recipient == "ann" && $0.subject == "p"
      })
    #expect(snapshot.type == 13 && snapshot.actor == "star" && snapshot.post == "p")
    #expect(snapshot.source == "p" && snapshot.headText == "edited")
    #expect(snapshot.raisedAt == minute(5).microseconds)
  }

  @Test("2,500 subscribers: pieces of 1,000 in the order of their ids, also to withdraw")
  func bounded() throws {
    let world = try World()
    try world.apply(subscriptions(2500, to: "star"))
    #expect(try pending(world) == 0)
    for (event, wanted) in [
      (post("p", by: "star", "t", at: 2), 2500), (postDeletion("p", by: "star", at: 3), 0),
    ] {
      let published = world.published.count
      try world.apply(event)
      // The post's transaction writes one row and publishes nothing.
      #expect(world.published.count == published)
      #expect(try pending(world) == 1)
      #expect(try world.violations() == [])
      var sizes: [Int] = []
      var hasMore = true
      while hasMore {
        let outcome = try piece(world)
        sizes.append(outcome.events.count)
        #expect(outcome.counts["subscriptions_checked"] ?? 0 <= 1000)
        hasMore = outcome.hasMore
        let done = min(sizes.reduce(0, +), 2500)
        let expected = wanted == 0 ? done..<2500 : 0..<done
        #expect(try recipients(of: "p", world) == expected.map(subscriber))
        #expect(try world.violations() == [], "also half-way")
      }
      #expect(sizes == [1000, 1000, 500, 0])
      #expect(try pending(world) == 0)
    }
    #expect(
      try world.connection.query("SELECT FROM notification_actors WHERE type = 13").isEmpty)
    #expect(try world.connection.query("SELECT FROM verify_subscriptions()").isEmpty)
  }

  @Test("edits in mid-walk reach everybody, and do not keep the walk from the last subscribers")
  func edited() throws {
    let world = try World()
    try world.apply(subscriptions(2500, to: "star") + [post("p", by: "star", "0", at: 2)])
    for edit in 1...2 {
      _ = try piece(world)
      try world.apply(post("p", by: "star", "\(edit)", at: 2 + Double(edit)))
    }
    _ = try piece(world)
    // Three pieces cover all, although an edit followed the first and the second.
    #expect(try recipients(of: "p", world).count == 2500)
    #expect(try recipients(of: "p", world, head: "2") == (2000..<2500).map(subscriber))
    try world.settle()
    #expect(try recipients(of: "p", world, head: "2").count == 2500)
    #expect(try pending(world) == 0)
    // Nothing that the alarms show has changed.
    var sameText = post("p", by: "star", "2", at: 9)
    if case .postPublished(var data) = sameText.payload {
      data.imageURL = "https://images.example/p.jpg"
      sameText.payload = .postPublished(data)
    }
    try world.apply(sameText)
    #expect(try pending(world) == 0)
  }

  @Test(
    "events that are combined or arrive in another order retract what each alone would have raised",
    arguments: 0..<4)
  func retracted(story: Int) throws {
    let (published, deleted) = (post("p", by: "star", at: 2), postDeletion("p", by: "star", at: 3))
    let world = try World()
    switch story {
    case 0:
      try world.apply(subscribe("ann", to: "star", at: 1))
      try world.apply(published, deleted)
    case 1:
      try world.apply(published, deleted)
      try world.settle()
      try world.apply(subscribe("ann", to: "star", at: 1))
    case 2:
      try world.apply(subscribe("ann", to: "star", at: 1))
      try world.apply(deleted)
      try world.apply(published)
    default:
      try world.apply(subscribe("ann", to: "star", at: 1))
      try world.apply(published, post("p", by: "other", at: 3))
    }
    try world.settle()
    let id = notificationID(
      recipient: "ann", kind: 13, subject: "p", bucket: "", source: "p"
    ).uuidString.lowercased()
    let last = lastSnapshots(world.published)
    #expect(last.keys.contains(id) && last[id] == .some(nil), "\(last)")
    #expect(try world.shown().isEmpty)
  }

  @Test("a famous author does not delay another, and a post without subscribers queues nothing")
  func fair() throws {
    let world = try World()
    try world.apply(subscriptions(2500, to: "star") + [subscribe("ann", to: "novice", at: 1)])
    try world.apply(
      post("p", by: "star", at: 2), post("n", by: "novice", at: 3), post("x", by: "nobody", at: 3))
    #expect(try pending(world) == 2)
    _ = try piece(world)
    #expect(try recipients(of: "n", world) == ["ann"])
    #expect(try recipients(of: "p", world) == (0..<999).map(subscriber))
  }

  @Test(
    "changes have the time and the trace of the post's newest event, or of the late subscription")
  func causes() throws {
    let world = try World()
    let trace = try #require(
      TraceContext("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
    var edit = post("p", by: "star", "edited", at: 7)
    edit.trace = trace
    try world.apply(subscribe("ann", to: "star", at: 1), post("p", by: "star", at: 2))
    for event in [edit, subscribe("bob", to: "star", at: 1.5)] {
      try world.apply(event)
      let published = world.published.count
      try world.settle()
      let changes = world.published.dropFirst(published)
      #expect(changes.map(\.time) == [event.time])
      #expect(changes.map(\.trace) == [event.trace])
    }
  }

  @Test("a late toggle is applied to the posts up to the next one, in pieces")
  func late() throws {
    let world = try World()
    let posts = (0..<1500).map { post("p\($0)", by: "star", at: Double($0)) }
    try world.apply(posts + [unsubscribe("ann", from: "star", at: 1300)])
    try world.settle()
    let late = subscribe("ann", to: "star", at: 100)
    try world.apply(late)
    #expect(try world.violations() == [])
    #expect(try piece(world).counts["subscriptions_checked"] == 1000)
    #expect(try world.violations() == [])
    try world.settle()
    #expect(try pending(world) == 0)
    #expect(try world.shown().count == 1200)
    // Its duplicate queues nothing; a toggle before all posts affects those up to the next one.
    try world.apply(late)
    #expect(try pending(world) == 0)
    let other = subscribe("ann", to: "star", at: -1)
    try world.apply(other)
    try world.settle()
    #expect(try world.shown().count == 1300)
    #expect(try world.violations() == [])
  }

  @Test("a piece neither waits for a locked recipient nor passes over them")
  func locked() throws {
    let world = try World()
    try world.apply(subscriptions(10, to: "star") + [post("p", by: "star", at: 2)])
    let other = try Connection(world.url, applicationName: "other")
    try other.transaction {
      try other.query(
        "SELECT FROM notification_recipients WHERE user_id = $1 FOR UPDATE", [.text(subscriber(4))])
      #expect(try piece(world).hasMore)
      #expect(try recipients(of: "p", world) == (0..<4).map(subscriber))
      // No progress is possible.
      #expect(try !piece(world).hasMore)
      #expect(try pending(world) == 1)
    }
    try world.settle()
    #expect(try recipients(of: "p", world).count == 10)
  }

  @Test("an alarm that was published by a piece that failed is retracted if it is not to be")
  func phantom() throws {
    let world = try World()
    try world.apply(subscribe("ann", to: "star", at: 1), post("p", by: "star", at: 5))
    struct Crash: Error {}
    let backlog = try #require(testHandler.backlog)
    var phantom: [Event] = []
    do {
      try world.connection.transaction {
        phantom = try backlog().run(on: world.connection).events
        throw Crash()
      }
    } catch is Crash {}
    #expect(phantom.count == 1)
    try world.apply(unsubscribe("ann", from: "star", at: 3))
    try world.settle()
    let last = lastSnapshots(phantom + world.published)
    #expect(last.values.map { $0 == nil } == [true])
    #expect(try world.shown() == [])
  }

  @Test("muting the kind hides later alarms of posts; deleting one keeps it deleted through edits")
  func muted() throws {
    let world = try World()
    let id = notificationID(recipient: "ann", kind: 13, subject: "p", bucket: "", source: "p")
    let events = [
      subscribe("ann", to: "star", at: 1), post("p", by: "star", at: 2),
      mute("ann", "author-post", at: 3), post("q", by: "star", at: 4),
      unmute("ann", "F13", at: 5), post("r", by: "star", at: 6), deletion("ann", id, at: 7),
      post("p", by: "star", "edited", at: 8),
    ]
    for event in events {
      try world.apply(event)
      try world.settle()
    }
    #expect(try world.shown() == Model(events).shown)
    #expect(try world.shown().count == 1)
    #expect(try world.violations() == [])
  }
}
