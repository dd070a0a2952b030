import Dispatch
import Events
import Foundation
import Model
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Feeds

/// Concurrent writers, background work of two lanes, users who leave and return, and readers, with
/// limits so small that every bound is reached all the time.
@Suite struct BoundedConcurrencyTests {
  /// With this limit all posts are stored in feeds.
  private static let storingAll = 100
  private static let limits = [
    FeedLimits(
      pushLimit: 4, feedLength: 3, evictIdleDays: 1, historyDays: nil, deliveriesMax: 5,
      entriesMax: 5, trimmedAtOnce: 2, blocksAtOnce: 1, returningAtOnce: 2, lockedAtOnce: 3,
      followedMax: 3, evictedAtOnce: 2),
    FeedLimits(
      pushLimit: storingAll, feedLength: 6, evictIdleDays: 1, historyDays: nil, deliveriesMax: 20,
      entriesMax: 20, trimmedAtOnce: 3, blocksAtOnce: 1, returningAtOnce: 3, lockedAtOnce: 100,
      evictedAtOnce: 3),
    FeedLimits(
      pushLimit: 3, feedLength: 1, evictIdleDays: 1, historyDays: nil, deliveriesMax: 1_000,
      entriesMax: 1_000, trimmedAtOnce: 5, blocksAtOnce: 2, returningAtOnce: 1, lockedAtOnce: 1,
      evictedAtOnce: 1),
  ]

  @Test("a page equals the join of follows and posts at every moment, under concurrent writes")
  func everything() throws {
    var random = SeededGenerator()
    var counts: [String: Int] = [:]
    for limits in Self.limits {
      let events = spread(
        collidingEvents(1000, people: 6, things: 80, using: &random), using: &random)
      counts.merge(try check(events, limits, using: &random)) { $0 + $1 }
    }
    for kind in ["trimmed", "evicted", "returned", "rebuilt", "swept", "partitions dropped"] {
      #expect(counts[kind] ?? 0 > 0, "no \(kind)")
    }
  }

  @Test("any order and any batches, interleaved with background work, give the model's result")
  func orders() throws {
    var random = SeededGenerator()
    for limits in Self.limits {
      let events = spread(collidingEvents(300, using: &random), using: &random)
      let model = Model(events)
      for _ in 0..<2 {
        let database = try FeedDatabase(limits)
        try database.makePartitions(for: events)
        let log = batches(of: events.shuffled(using: &random), upTo: 60, using: &random)
        for (index, batch) in log.enumerated() {
          try database.apply(batch)
          try database.keepPartitions(for: events, progress: Double(index) / Double(log.count))
          let person = ["ann", "bo", "ce\u{301}", "dee"].randomElement(using: &random) ?? ""
          switch Int.random(in: 0..<3, using: &random) {
          case 0: _ = try database.touch(person)
          case 1: try database.passDays(1)
          default: break
          }
          for _ in 0..<Int.random(in: 0...3, using: &random) {
            try database.handler.runBacklogDirectly(on: database.connection)
          }
        }
        let differences = try database.differences(from: model) {
          Int.random(in: 1...20, using: &random)
        }
        #expect(differences.isEmpty, "\(differences.first ?? "")")
        #expect(try database.violations() == [])
      }
    }
  }

  /// The same events later, so that new partitions are made for them, and further apart: within 512 microseconds keys need
  /// not follow the order of times, and a feed that is cut there stores nothing.
  private func spread(_ events: [Event], using random: inout SeededGenerator) -> [Event] {
    let start = Say.event("", 0, events[0].payload).time.microseconds
    let factor: Int64 = [200, 400, 5000].randomElement(using: &random) ?? 1
    let later = EventTime.now.microseconds + 9 * 86_400_000_000
    return events.map { event in
      var event = event
      event.time = EventTime(microseconds: later + (event.time.microseconds - start) * factor)
      return event
    }
  }

  private func check(
    _ events: [Event], _ limits: FeedLimits, using random: inout SeededGenerator
  ) throws -> [String: Int] {
    let database = try FeedDatabase(limits)
    try database.makePartitions(for: events)
    let shares = (0..<2).map { _ in
      let share = events.filter { _ in Int.random(in: 0..<3, using: &random) > 0 }
      return batches(of: share.shuffled(using: &random), upTo: 8, using: &random)
    }
    let counts = Mutex<[String: Int]>([:])
    let retries = Mutex<[String: Int]>([:])
    let threads = FeedThreads(database)
    let handler = database.handler
    let (writers, others) = (DispatchGroup(), DispatchGroup())
    for share in shares {
      threads.start(writers) { writer in
        for (index, batch) in share.enumerated() where !threads.isOver {
          let dropped = try writer.keepPartitions(
            for: events, progress: Double(index) / Double(share.count))
          counts.withLock { $0["partitions dropped", default: 0] += dropped }
          for reason in try writer.applyRetrying(batch) {
            retries.withLock { $0[reason, default: 0] += 1 }
          }
        }
      }
    }
    for _ in 0..<2 {
      threads.start(others) { lane in
        while !threads.isOver {
          do {
            let done = try handler.runBacklogDirectly(on: lane.connection).counts
            counts.withLock { $0.merge(done) { $0 + $1 } }
          } catch let error as PostgresError where ["40001", "40P01"].contains(error.sqlstate) {
            retries.withLock { $0[error.message, default: 0] += 1 }
          }
        }
      }
    }
    let seed = random.next()
    threads.start(others) { backend in
      var random = SeededGenerator(seed: seed)
      let people = ["ann", "bo", "cé", "ce\u{301}", "dee", "eve", "person 1", "person 3"]
      while !threads.isOver {
        do {
          try backend.passDays(1)
          _ = try backend.touch(people.randomElement(using: &random) ?? "")
        } catch let error as PostgresError where ["40001", "40P01"].contains(error.sqlstate) {
          continue
        }
      }
    }
    threads.start(others) { reader in
      while !threads.isOver {
        let wrong = try reader.wrongPages()
        guard wrong.isEmpty else { throw Unexpected(description: "\(wrong)") }
      }
    }
    writers.wait()
    // On a busy machine the writers may finish before any user has been idle for a day. Where posts
    // are pulled, what they leave may have nothing to rebuild.
    let awaited =
      ["evicted", "returned"] + (limits.pushLimit == Self.storingAll ? ["rebuilt"] : [])
    try block(until: "feeds were \(awaited.joined(separator: ", "))") {
      threads.isOver
        || awaited.allSatisfy { kind in counts.withLock { $0[kind] ?? 0 } > 0 }
    }
    threads.end()
    others.wait()
    #expect(threads.failures.withLock { $0 } == [])
    print("done: \(counts.withLock { $0 }), run again: \(retries.withLock { $0 })")

    let model = Model(shares.joined().joined())
    for _ in 0..<2 {
      let differences = try database.differences(from: model)
      #expect(differences.isEmpty, "\(differences.first ?? "")")
      #expect(try database.violations() == [])
      // Once more when no work is left.
      try database.sweep()
    }
    return counts.withLock { $0 }
  }
}

extension FeedDatabase {
  /// Makes partitions for the first half of the time that the events take.
  fileprivate func makePartitions(for events: [Event]) throws {
    for progress in stride(from: -1, to: 0, by: 1.0 / 16) {
      try keepPartitions(for: events, progress: progress)
    }
  }

  /// Makes and drops partitions, as if feeds were stored for half of the time that the events take, of whose second half this
  /// much has passed. Returns 1 if some were dropped.
  @discardableResult
  fileprivate func keepPartitions(for events: [Event], progress: Double) throws -> Int {
    let times = events.map(\.time.microseconds)
    let (first, last) = (times.min() ?? 0, times.max() ?? 0)
    func stored() throws -> Int64 {
      try connection.query("SELECT min(ends_at) FROM feed_partitions()").only.int8(0)
    }
    let before = try stored()
    let made = try keepPartitions(
      microseconds: (last - first) / 2, at: first + Int64(Double(last - first) * (1 + progress) / 2)
    )
    guard made else { return 0 }
    let after = try stored()
    // An hour later nobody sees a lower floor.
    try asOwner {
      let now = try connection.query("SELECT clock_timestamp()").only.timestamptz(0)
      try block(until: "earlier transactions have ended") {
        try connection.query(
          """
          SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND xact_start < $1 AND pid <> pg_backend_pid()
          """, [.timestamptz(now)]
        ).isEmpty
      }
    }
    try passHour()
    return after > before ? 1 : 0
  }

  /// In one snapshot: the readers whose first or second page differs from the join of follows and
  /// posts, by a query that does not use floors or deliveries; and the findings of `verify_feeds`.
  fileprivate func wrongPages() throws -> [String] {
    _ = try connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
    defer { _ = try? connection.query("COMMIT") }
    let wrong = try connection.query(
      """
      WITH page AS (
        SELECT u.user_key, u.user_id, p.post_id, p.ordinality AS place, p.cursor
        FROM users u CROSS JOIN LATERAL feed_page(u.user_id, NULL, 4) WITH ORDINALITY p
      ), second AS (
        SELECT u.user_key, u.user_id, p.post_id, p.ordinality + 4 AS place
        FROM page u CROSS JOIN LATERAL feed_page(u.user_id, u.cursor, 3) WITH ORDINALITY p
        WHERE u.place = 4
      ), wanted AS (
        SELECT u.user_key, u.user_id, p.post_id, p.place
        FROM users u
        CROSS JOIN LATERAL (
          SELECT p.post_id,
            row_number() OVER (ORDER BY p.first_at DESC, p.post_id DESC) AS place
          FROM follows f JOIN posts p ON p.author = f.followee AND NOT p.deleted
          WHERE f.follower = u.user_key AND f.active
        ) p
        WHERE p.place <= 7
      ), found AS (
        SELECT user_key, user_id, post_id, place FROM page
        UNION ALL SELECT user_key, user_id, post_id, place FROM second
      )
      SELECT 'missing ' || t::text FROM (TABLE wanted EXCEPT TABLE found) t
      UNION ALL
      SELECT 'extra ' || t::text FROM (TABLE found EXCEPT TABLE wanted) t
      """
    ).map { try $0.text(0) }
    return try wrong + violations()
  }
}
