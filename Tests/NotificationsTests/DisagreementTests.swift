import Events
import Foundation
import Model
import Notifications
import Postgres
import TestSupport
import Testing

/// Events of one like that name different owners, and of one message that name different people: the
/// newest decides, whichever partition and lane each of them comes through.
@Suite("Events that disagree about who is notified")
struct DisagreementTests {
  static let stories: [(name: String, events: [Event], told: [String])] = [
    (
      "a removal that names another owner withdraws all the same",
      [like("ann", "p", of: "o", at: 1), unlike("ann", "p", of: "x", at: 2)], []
    ),
    (
      "two likes that name two owners notify the later one's",
      [like("ann", "p", of: "o", at: 1), like("ann", "p", of: "x", at: 2)], ["x"]
    ),
    (
      "back at the first owner it is where it was",
      [
        like("ann", "p", of: "o", at: 1), like("ann", "p", of: "x", at: 2),
        like("ann", "p", of: "o", at: 3),
      ], ["o"]
    ),
    (
      "a like of what turns out to be one's own post notifies nobody",
      [like("ann", "p", of: "o", at: 1), like("ann", "p", of: "ann", at: 2)], []
    ),
    (
      "a message sent again to somebody else is withdrawn from the first",
      [message("m", "ann", to: "o", at: 1), message("m", "ann", to: "x", at: 2)], ["x"]
    ),
    (
      "a message sent again as somebody else's is theirs",
      [message("m", "ann", to: "o", at: 1), message("m", "x", to: "o", at: 2)], ["o"]
    ),
    (
      "a message that becomes a note to oneself notifies nobody",
      [message("m", "ann", to: "o", at: 1), message("m", "ann", to: "ann", at: 2)], []
    ),
  ]

  @Test("the newest event decides who is notified, in any order and any batches", arguments: 0..<7)
  func newestDecides(story: Int) throws {
    let (name, events, told) = Self.stories[story]
    let model = Model(events)
    #expect(model.notifications.map(\.recipient) == told, "\(name)")
    for log in [events, events.reversed(), events.reversed() + events] {
      for isOneBatch in [true, false] {
        let world = try World()
        for batch in isOneBatch ? [log] : log.map({ [$0] }) { try world.apply(batch) }
        #expect(try world.shown() == model.shown, "\(name)")
        #expect(try world.violations() == [], "\(name)")
        let left = lastSnapshots(world.published).values.compactMap(\.self).map(\.recipient)
        #expect(left == told, "published: \(name)")
      }
    }
  }

  @Test("what an older version left behind is mended in pieces, and taken back from the readers")
  func upgrade() throws {
    let world = try World()
    let owner = try Connection(world.url, applicationName: "test")
    let crowd = (0..<2500).map { like("user-\($0)", "crowd", of: "star", at: 1) }
    let before = [like("ann", "p", of: "o", at: 1), message("m", "ann", to: "o", at: 1)]
    let after = [like("ann", "p", of: "x", at: 2), message("m", "ann", to: "x", at: 2)]
    let removed = [like("bob", "q", of: "o", at: 1), unlike("bob", "q", of: "x", at: 2)]
    try world.apply(crowd + before + [removed[0]])
    // The version before knew nothing of the other owner's row.
    try owner.script(
      """
      DELETE FROM likes WHERE post_id <> 'crowd';
      UPDATE post_counts SET likes = 0 WHERE post_id <> 'crowd';
      DELETE FROM message_facts
      """)
    try world.apply(after + [removed[1]])
    try owner.script("DELETE FROM message_facts")
    let model = Model(crowd + before + after + removed)
    #expect(try world.shown() != model.shown)
    #expect(try world.violations() != [])
    let published = world.published.count
    try owner.script("SELECT check_contributions_again()")
    try world.settle()
    #expect(try world.shown() == model.shown)
    #expect(try world.violations() == [])
    let retracted = world.published.dropFirst(published).compactMap { event in
      if case .notificationRetracted(let data) = event.payload { data.recipient } else { nil }
    }
    #expect(retracted == ["o", "o", "o"])
    #expect(try owner.query("SELECT FROM contribution_check").isEmpty)
    #expect(try owner.query("SELECT FROM message_facts").count == 1)
  }

  @Test("without anything to check, the check costs nothing and says nothing")
  func fresh() throws {
    let world = try World()
    #expect(try world.connection.query("SELECT FROM contribution_check").isEmpty)
    try world.settle()
    #expect(world.published.isEmpty)
  }
}
