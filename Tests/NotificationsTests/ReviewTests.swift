import Events
import Foundation
import Handling
import Model
import Notifications
import Postgres
import TestSupport
import Testing

/// A late muting affects existing contributions: readers see the effect immediately, and the
/// backlog updates the contributions in pieces.
@Suite("Review of contributions after a late muting")
struct ReviewTests {
  /// Runs one piece of the backlog; returns its events and whether there is more.
  private func piece(_ world: World) throws -> Outcome {
    try testHandler.runBacklogDirectly(on: world.connection)
  }

  private func count(_ sql: String, _ world: World) throws -> Int {
    try world.connection.query("SELECT count(*) FROM \(sql)").only.int(0)
  }

  @Test("a muting of 5,000 contributions hides them by its commit; pieces follow")
  func bounded() throws {
    let world = try World()
    // Likes of 50 posts on two days, half of them before the muting.
    let likes: [Event] = (0..<5000).map { (n: Int) -> Event in
      let minutes: Int = n % 2 == 0 ? n % 1000 : 2000 + n % 800
      let post: Int = n / 2 % 50
      return like("user-\(n)", "p\(post)", of: "star", at: Double(minutes))
    }
    try world.apply(likes + [follow("ann", "star", at: 3000)])
    let muting = mute("star", .like, at: 1500)
    let published = world.published.count
    let (written, changed) = (
      try writes(world), try count("notification_actors WHERE muted", world)
    )
    try world.apply(muting)
    // One row for the toggle and one for the review; no contribution or notification; no events.
    #expect(try writes(world) == written + 2)
    #expect(try count("notification_actors WHERE muted", world) == changed)
    #expect(world.published.count == published)
    let expected = Model(likes + [follow("ann", "star", at: 3000), muting]).shown
    #expect(try world.shown() == expected)
    #expect(try world.violations() == [])
    #expect(try count("verify_reviews()", world) == 1)
    var pieces = 0
    var hasMore = true
    var events: [Event] = []
    while hasMore {
      let outcome = try piece(world)
      #expect(outcome.counts["contributions_reviewed", default: 0] <= 1000)
      #expect(outcome.events.count <= 1000)
      #expect(try world.shown() == expected, "after piece \(pieces)")
      events += outcome.events
      pieces += 1
      hasMore = outcome.hasMore
    }
    #expect(pieces >= 5)
    #expect(try world.violations() == [])
    #expect(try count("verify_reviews()", world) == 0)
    #expect(try count("notification_actors WHERE muted", world) == 2500)
    // Notifications of the second day are retracted, those of the first published again or
    // untouched.
    let last = lastSnapshots(events)
    #expect(last.values.filter { $0 == nil }.count == 50)
    // And back: at the same time, the unmuting is newer by its id.
    var unmuting = unmute("star", .like, at: 1500)
    unmuting.id = muting.id + "-"
    try world.apply(unmuting)
    let all = Model(likes + [follow("ann", "star", at: 3000), muting, unmuting]).shown
    #expect(try world.shown() == all)
    #expect(try piece(world).hasMore)
    #expect(try world.shown() == all)
    try world.settle()
    #expect(try world.shown() == all)
    #expect(try count("notification_actors WHERE muted", world) == 0)
    #expect(try world.violations() == [])
  }

  /// The number of rows that this session has written in tables that the muting could touch.
  private func writes(_ world: World) throws -> Int {
    try world.connection.query("SELECT pg_stat_force_next_flush()")
    return try world.connection.query(
      """
      SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint
      FROM pg_stat_user_tables
      WHERE relname IN ('notifications', 'notification_actors', 'notification_sizes',
        'notification_mutes', 'notification_reviews')
      """
    ).only.int(0)
  }

  @Test("a deletion of everything that cuts through 600 notifications is reviewed in pieces")
  func wideCut() throws {
    let world = try World()
    let events: [Event] = (0..<1200).map { (n: Int) -> Event in
      like("user-\(n)", "p\(n % 600)", of: "star", at: n < 600 ? 10 : 30)
    }
    try world.apply(events)
    let published = world.published.count
    let deletion = deleteAll("star", at: 20)
    try world.apply(deletion)
    #expect(world.published.count == published)
    #expect(try count("notification_reviews", world) == 1)
    let expected = Model(events + [deletion]).shown
    #expect(try world.shown() == expected)
    #expect(try world.violations() == [])
    try world.settle()
    #expect(try world.shown() == expected)
    #expect(try world.violations() == [])
    let last = lastSnapshots(Array(world.published.dropFirst(published)))
    #expect(last.count == 600)
    #expect(last.values.allSatisfy { $0?.contributionCount == 1 })
  }

  @Test("a block hides a few contributions at once, and its end brings them back")
  func block() throws {
    let world = try World()
    let events = [
      like("ann", "p", of: "o", at: 1), like("bob", "p", of: "o", at: 2),
      comment("c", by: "bob", on: "q", of: "o", "text", at: 3), follow("o", "bob", at: 4),
    ]
    try world.apply(events)
    let before = try world.shown()
    let blocked = NotificationsTests.block("o", "bob", at: 5)
    try world.apply(blocked)
    #expect(try count("notification_reviews", world) == 0)
    #expect(try world.shown() == Model(events + [blocked]).shown)
    #expect(try world.shown().count == 1)
    #expect(lastSnapshots(world.published).values.count { $0 != nil } == 1)
    try world.apply(unblock("o", "bob", at: 6))
    #expect(try world.shown() == before)
    #expect(try world.violations() == [])
  }

  @Test("a block of a person with 2,500 contributions hides them by its commit; pieces follow")
  func wideBlock() throws {
    let world = try World()
    let events: [Event] =
      (0..<2500).map { (n: Int) -> Event in like("fan", "p\(n)", of: "star", at: 10) }
      + (0..<500).map { (n: Int) -> Event in like("ann", "p\(n)", of: "star", at: 20) }
    try world.apply(events)
    let before = try world.shown()
    let (blocked, unblocked) = (
      NotificationsTests.block("star", "fan", at: 30), unblock("star", "fan", at: 40)
    )
    for (number, event) in [blocked, unblocked].enumerated() {
      let published = world.published.count
      try world.apply(event)
      #expect(world.published.count == published)
      let expected = number == 0 ? Model(events + [blocked]).shown : before
      #expect(try world.shown() == expected)
      #expect(try world.violations() == [])
      #expect(try count("notification_scoped_reviews", world) == 1)
      var hasMore = true
      while hasMore {
        let outcome = try piece(world)
        #expect(outcome.counts["contributions_reviewed", default: 0] <= 1000)
        #expect(try world.shown() == expected)
        hasMore = outcome.hasMore
      }
      #expect(try world.violations() == [])
      #expect(try count("notification_actors WHERE muted", world) == (number == 0 ? 2500 : 0))
    }
  }

  @Test("a review changes nothing outside of its scope, and what it has settled is read from rows")
  func scoped() throws {
    let world = try World()
    let events: [Event] =
      (0..<2500).map { (n: Int) -> Event in like("fan", "p\(n)", of: "star", at: 10) }
      + (0..<4000).map { (n: Int) -> Event in like("ann", "p\(n)", of: "star", at: 20) }
      + (0..<9).map { (n: Int) -> Event in
        comment("c\(n)", by: "fan", on: "p", of: "star", "text", at: 30)
      }
    try world.apply(events)
    var toggles: [Event] = []
    for (toggle, affected) in [
      (NotificationsTests.block("star", "fan", at: 40), 2500),
      (unblock("star", "fan", at: 50), 2509),
      // Hides the comments, which are later.
      (mutePerson("star", "fan", at: 25), 2500),
    ] {
      toggles.append(toggle)
      try world.apply(toggle)
      let expected = Model(events + toggles).shown
      var pending = affected
      #expect(try count("reviewed_notifications", world) == pending, "\(toggle.payload)")
      while try !world.connection.query("SELECT FROM notification_scoped_reviews").isEmpty {
        #expect(try world.shown() == expected)
        let reviewed = try #require(try piece(world).counts["contributions_reviewed"])
        #expect(reviewed <= 1000)
        // The last notification of a piece counts as pending, and hidden comments are none.
        let left = try count("reviewed_notifications", world)
        #expect(left <= max(0, pending - reviewed + 10), "\(toggle.payload)")
        pending = left
      }
      #expect(try world.shown() == expected)
      #expect(try world.violations() == [])
    }
  }

  @Test("a late end of one subject's silence reviews that subject alone")
  func subject() throws {
    let world = try World()
    let events: [Event] =
      (0..<1500).map { (n: Int) -> Event in like("user-\(n)", "p", of: "star", at: 10) }
      + (0..<300).map { (n: Int) -> Event in like("ann", "q\(n)", of: "star", at: 20) }
    try world.apply(events)
    var toggles: [Event] = []
    for (minutes, isOff) in [(5.0, true), (6.0, false)] {
      toggles.append(disable("star", .subject, kind: "like", subject: "p", off: isOff, at: minutes))
      try world.apply(toggles[toggles.count - 1])
      let expected = Model(events + toggles).shown
      #expect(expected.count == (isOff ? 300 : 301))
      #expect(try world.shown() == expected)
      #expect(try count("reviewed_notifications", world) == (isOff ? 0 : 1))
      var reviewed = 0
      while try !world.connection.query("SELECT FROM notification_scoped_reviews").isEmpty {
        reviewed += try piece(world).counts["contributions_reviewed", default: 0]
        #expect(try world.shown() == expected)
      }
      #expect(reviewed == 1500)
      #expect(try world.violations() == [])
    }
  }

  @Test("a muting with nothing after it starts no review")
  func nothingToDo() throws {
    let world = try World()
    try world.apply(like("ann", "p", of: "o", at: 1))
    try world.apply(mute("o", .like, at: 1), mute("stranger", .follow, at: 1))
    #expect(try count("notification_reviews", world) == 0)
    try world.apply(like("bob", "p", of: "o", at: 2), unmute("o", .like, at: 3))
    #expect(try count("notification_reviews", world) == 0)
    #expect(try world.shown().count == 1)
  }

  @Test("a piece that published and failed is published again, whatever was toggled meanwhile")
  func phantom() throws {
    let world = try World()
    let events = [like("ann", "p", of: "o", at: 5), mute("o", .like, at: 1)]
    for event in events { try world.apply(event) }
    struct Crash: Error {}
    var phantom: [Event] = []
    let backlog = try #require(testHandler.backlog)
    do {
      try world.connection.transaction {
        let work = backlog()
        phantom = try work.run(on: world.connection).events
        throw Crash()
      }
    } catch is Crash {}
    #expect(phantom.count == 1)
    try world.apply(unmute("o", .like, at: 2))
    try world.settle()
    let last = lastSnapshots(phantom + world.published)
    #expect(last.values.map { $0 != nil } == [true])
    #expect(try world.shown() == Model(events + [unmute("o", .like, at: 2)]).shown)
  }
}
