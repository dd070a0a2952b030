import Events
import Foundation
import Model
import Notifications
import Postgres
import TestSupport
import Testing

/// Events of one like may name different owners, and events of one message different people. The
/// newest event decides, whichever partition and lane each comes through.
@Suite("Events that disagree about the recipient")
struct DisagreementTests {
  static let stories: [(name: String, events: [Event], told: [String])] = [
    (
      "a removal that names another owner still withdraws",
      [like("ann", "p", of: "o", at: 1), unlike("ann", "p", of: "x", at: 2)], []
    ),
    (
      "two likes that name two owners notify the newer one's",
      [like("ann", "p", of: "o", at: 1), like("ann", "p", of: "x", at: 2)], ["x"]
    ),
    (
      "a like that returns to the first owner returns to its old place",
      [
        like("ann", "p", of: "o", at: 1), like("ann", "p", of: "x", at: 2),
        like("ann", "p", of: "o", at: 3),
      ], ["o"]
    ),
    (
      "a like of what turns out to be the actor's own post notifies nobody",
      [like("ann", "p", of: "o", at: 1), like("ann", "p", of: "ann", at: 2)], []
    ),
    (
      "a message sent again to another receiver is withdrawn from the first",
      [message("m", "ann", to: "o", at: 1), message("m", "ann", to: "x", at: 2)], ["x"]
    ),
    (
      "a message sent again by another sender belongs to the new sender",
      [message("m", "ann", to: "o", at: 1), message("m", "x", to: "o", at: 2)], ["o"]
    ),
    (
      "a message that becomes a note to oneself notifies nobody",
      [message("m", "ann", to: "o", at: 1), message("m", "ann", to: "ann", at: 2)], []
    ),
  ]

  @Test("the newest event decides the recipient, in any order and any batches", arguments: 0..<7)
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

  @Test("contributions of an older version are corrected in pieces, and their alarms retracted")
  func upgrade() throws {
    let world = try World()
    let owner = try Connection(world.url, applicationName: "test")
    let crowd = (0..<2500).map { like("user-\($0)", "crowd", of: "star", at: 1) }
    let before = [like("ann", "p", of: "o", at: 1), message("m", "ann", to: "o", at: 1)]
    let after = [like("ann", "p", of: "x", at: 2), message("m", "ann", to: "x", at: 2)]
    let removed = [like("bob", "q", of: "o", at: 1), unlike("bob", "q", of: "x", at: 2)]
    try world.apply(crowd + before + [removed[0]])
    // The previous version did not write the fact of the other owner.
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

  @Test("with nothing to check, the check writes and publishes nothing")
  func fresh() throws {
    let world = try World()
    #expect(try world.connection.query("SELECT FROM contribution_check").isEmpty)
    try world.settle()
    #expect(world.published.isEmpty)
  }
}
