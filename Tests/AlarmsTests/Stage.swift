import Events
import Feeds
import Handling
import Model
import Notifications
import Postgres
import TestSupport
import Verification

@testable import Alarms

/// All workers on one database.
struct Stage {
  static let people = ["ann", "bo", "cy", "e\u{301}"]
  static let posts = ["p0", "p1", "p2", "p3"]

  let database: AlarmDatabase
  let fanout: Connection
  let notifier: Connection

  init() throws {
    database = try AlarmDatabase(backlogLimit: 5)
    fanout = try Connection(database.url, applicationName: "fanout")
    try fanout.script("SET ROLE magpie_fanout")
    notifier = try Connection(database.url, applicationName: "notifier")
    try notifier.script("SET ROLE magpie_notification")
  }

  func apply(_ event: Event) throws {
    let (feeds, notifications) = (feedHandler(pushLimit: 10_000), notificationHandler())
    if feeds.topics.contains(event.topic) {
      try feeds.applyDirectly([event], topic: event.topic, on: fanout)
    }
    if event.topic == .profiles { try database.apply(event) }
    guard notifications.topics.contains(event.topic) else { return }
    let outcome = try notifications.applyDirectly([event], topic: event.topic, on: notifier)
    try database.apply(outcome.events)
  }

  func settle() throws {
    var hasMore = true
    while hasMore {
      let outcome = try notificationHandler().runBacklogDirectly(on: notifier)
      try database.apply(outcome.events)
      hasMore = outcome.hasMore
    }
    try database.drain()
  }

  /// The rows of all pages of three, without the cursors.
  func pages(_ function: String, _ arguments: [String], _ columns: String) throws -> [[String?]] {
    try screens(Model()).pages(function, arguments, columns)
  }

  /// The pages and counts that differ from the model's.
  func differences(from model: Model) throws -> [String] { try screens(model).differences() }

  private func screens(_ model: Model) -> ScreenComparison {
    ScreenComparison(
      model: model, connection: database.admin, people: Self.people, posts: Self.posts, limit: 3)
  }
}
