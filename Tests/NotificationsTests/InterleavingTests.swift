import Events
import Foundation
import Handling
import Lanes
import Model
import Notifications
import Postgres
import Synchronization
import TestSupport
import Testing

/// One transaction has applied its events but not committed when another begins.
@Suite("Interleaved transactions")
struct InterleavingTests {
  struct Pair: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var first: Event
    var second: Event

    init(_ description: String, _ first: Event, _ second: Event) {
      (testDescription, self.first, self.second) = (description, first, second)
    }
  }

  static let pairs = [
    Pair("two follows", follow("ann", "o", at: 1), follow("bob", "o", at: 2)),
    Pair(
      "two messages", message("1", "ann", to: "o", at: 2), message("2", "ann", to: "o", at: 1)),
    Pair("two likes", like("ann", "p", of: "o", at: 1), like("bob", "p", of: "o", at: 2)),
    Pair(
      "a like and its unlike", like("ann", "p", of: "o", at: 1), unlike("ann", "p", of: "o", at: 2)),
    Pair(
      "likes of one person that name two owners", like("ann", "p", of: "o", at: 1),
      like("ann", "p", of: "bob", at: 2)),
    Pair(
      "a like and its unlike that names another owner", like("ann", "p", of: "o", at: 1),
      unlike("ann", "p", of: "bob", at: 2)),
    Pair(
      "an unlike and its like that names another owner", unlike("ann", "p", of: "bob", at: 2),
      like("ann", "p", of: "o", at: 1)),
    Pair(
      "one message to two receivers", message("m", "ann", to: "o", at: 1),
      message("m", "ann", to: "bob", at: 2)),
    Pair(
      "one message from two senders, the later first", message("m", "ann", to: "o", at: 2),
      message("m", "bob", to: "o", at: 1)),
    Pair("a muting and a follow", mute("o", .follow, at: 1), follow("ann", "o", at: 2)),
    Pair("a follow and a muting", follow("ann", "o", at: 2), mute("o", .follow, at: 1)),
    Pair("deleting all and a follow", deleteAll("o", at: 1), follow("ann", "o", at: 0)),
    Pair(
      "a comment and its removal", comment("c", by: "ann", on: "p", of: "o", at: 1),
      removal("c", by: "ann", on: "p", of: "o", at: 2)),
    Pair(
      "a mention and the edit that drops it", post("p", by: "ann", mentions: ["o"], at: 1),
      post("p", by: "ann", at: 2)),
    Pair("a post and a subscription", post("p", by: "o", at: 2), subscribe("ann", to: "o", at: 1)),
    Pair("a subscription and a post", subscribe("ann", to: "o", at: 1), post("p", by: "o", at: 2)),
    Pair(
      "an edit and the mention that it drops", post("p", by: "ann", at: 2),
      post("p", by: "ann", mentions: ["o"], at: 1)),
  ]

  @Test("the second waits for the first, and loses none of its effects", arguments: pairs)
  func interleaved(pair: Pair) throws {
    let first = try World()
    // Existing rows, because inserting the same row would make them wait for each other anyway.
    let known = ["ann", "bob", "o"].map { readAll($0, at: -1) }
    try first.apply(known)
    let second = Mutex<(any Error)?>(nil)
    let observer = try Connection(first.url, applicationName: "observer")
    let done = DispatchSemaphore(value: 0)
    try first.connection.transaction {
      let work = try testHandler.apply(pair.first.topic, [pair.first])
      _ = try work.run(on: first.connection)
      let url = first.url
      Thread.detachNewThread {
        do {
          try World(url: url).apply(pair.second)
        } catch {
          second.withLock { $0 = error }
        }
        done.signal()
      }
      // Until it waits for a lock; without a lock it would finish.
      while done.wait(timeout: .now() + .milliseconds(5)) == .timedOut {
        let waiting = try observer.query(
          """
          SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'
          """)
        if !waiting.isEmpty { return }
      }
      done.signal()
    }
    #expect(done.wait(timeout: .now() + hangLimitSeconds) == .success)
    if let error = second.withLock({ $0 }) { throw error }
    try first.settle()
    let model = Model(known + [pair.first, pair.second], kinds: testKinds)
    #expect(try first.shown() == model.shown)
    #expect(try first.postCounts() == model.postCounts)
    #expect(try first.violations() == [])
  }

  @Test(
    "posts lock the subscriptions to all their authors in one order, the edited and the new ones")
  func locksOfSubscriptions() throws {
    let world = try World()
    let authors = try world.connection.query(
      "SELECT n::text FROM generate_series(1, 100) n ORDER BY hashtext(n::text) & 31"
    ).map { try $0.text(0) }
    let (first, last) = (try #require(authors.first), try #require(authors.last))
    try world.apply(post("p", by: last, at: 1))
    let failure = Mutex<(any Error)?>(nil)
    let done = DispatchSemaphore(value: 0)
    let (subscriptions, observer) = (
      try Connection(world.url, applicationName: "test"), try world.owner.get()
    )
    func lock(_ author: String) throws {
      try subscriptions.query("SELECT lock_subscriptions(ARRAY[$1], true)", [.text(author)])
    }
    try subscriptions.transaction {
      try lock(first)
      let url = world.url
      Thread.detachNewThread {
        do {
          try World(url: url).apply(
            post("p", by: last, "edited", at: 2), post("q", by: first, at: 2))
        } catch {
          failure.withLock { $0 = error }
        }
        done.signal()
      }
      try observer.blockUntilSessionsWait()
      try lock(last)
    }
    #expect(done.wait(timeout: .now() + hangLimitSeconds) == .success)
    if let error = failure.withLock({ $0 }) { throw error }
  }
}
