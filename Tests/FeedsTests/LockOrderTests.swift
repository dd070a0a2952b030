import Dispatch
import Events
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Feeds

/// Lanes that concurrently write posts and follows and do background work on the same users. By
/// decisions 0001 and 0024 they never deadlock.
@Suite struct LockOrderTests {
  private static let (authors, readers, rounds) = (8, 30, 60)
  private static let limits = FeedLimits(
    pushLimit: 1_000, feedLength: 4, evictIdleDays: 1, deliveriesMax: 120, entriesMax: 120,
    trimmedAtOnce: 20,
    blocksAtOnce: 2, returningAtOnce: 5, lockedAtOnce: 100, evictedAtOnce: 5)

  @Test("no two transactions ever deadlock")
  func lanes() throws {
    let database = try FeedDatabase(Self.limits)
    try database.apply(
      (0..<Self.authors).flatMap { author in
        (0..<Self.readers).map { Say.follow("reader\($0)", "author\(author)", at: 0) }
      })
    let deadlocks = Mutex<[String]>([])
    let failures = Mutex<[String]>([])
    let isOver = Atomic(false)
    let (writers, others) = (DispatchGroup(), DispatchGroup())
    let (url, handler) = (database.url, database.handler)
    func start(
      _ group: DispatchGroup, _ body: @escaping @Sendable (FeedDatabase) throws -> Void
    ) {
      group.runOnOwnThread {
        do {
          let lane = try FeedDatabase(url: url, handler: handler)
          _ = try lane.connection.query("RESET ROLE")
          _ = try lane.connection.query("SET deadlock_timeout = '20ms'")
          _ = try lane.connection.query("SET ROLE magpie_fanout")
          try body(lane)
        } catch {
          failures.withLock { $0.append("\(error)") }
          isOver.store(true, ordering: .relaxed)
        }
      }
    }
    /// As the lane does: a transaction that lost a race is run again.
    @Sendable func retrying(_ what: String, _ body: () throws -> Void) throws {
      while !isOver.load(ordering: .relaxed) {
        do {
          return try body()
        } catch let error as PostgresError where error.sqlstate == "40P01" {
          deadlocks.withLock { $0.append("\(what): \(error.detail ?? error.message)") }
        } catch let error as PostgresError where error.sqlstate == "40001" {
          continue
        }
      }
    }
    for lane in 0..<2 {
      start(writers) { database in
        var random = SeededGenerator()
        for round in 0..<Self.rounds {
          try retrying("posts") { try database.apply(Self.posts(lane, round, using: &random)) }
          try retrying("backlog after posts") {
            try handler.runBacklogDirectly(on: database.connection)
          }
        }
      }
      start(writers) { database in
        var random = SeededGenerator()
        for round in 0..<Self.rounds {
          try retrying("follows") { try database.apply(Self.follows(lane, round, using: &random)) }
          try retrying("backlog after follows") {
            try handler.runBacklogDirectly(on: database.connection)
          }
        }
      }
    }
    start(others) { backend in
      var random = SeededGenerator()
      while !isOver.load(ordering: .relaxed) {
        let reader = Int.random(in: 0..<Self.readers, using: &random)
        try retrying("visits") {
          _ = try backend.connection.query(
            "UPDATE feed_visits SET visited_at = visited_at - interval '2 days' WHERE user_id = $1",
            [.text("reader\(reader)")])
        }
        try retrying("feed_touch") { _ = try backend.touch("reader\(reader)") }
      }
    }
    writers.wait()
    isOver.store(true, ordering: .relaxed)
    others.wait()
    #expect(failures.withLock { $0 } == [])
    #expect(deadlocks.withLock { $0 } == [])
    #expect(try database.violations() == [])
  }

  /// Posts by the authors of one lane, many in one microsecond, some edited or moved later.
  private static func posts(
    _ lane: Int, _ round: Int, using random: inout SeededGenerator
  ) -> [Event] {
    (0..<40).map { number in
      let author = "author\(lane + 2 * Int.random(in: 0..<authors / 2, using: &random))"
      let post = Int.random(in: 0..<10, using: &random)
      if Int.random(in: 0..<3, using: &random) > 0 {
        return Say.post("\(author) \(round) \(number)", by: author, at: Int64(round) * 1000)
      }
      let old = Int.random(in: 0...round, using: &random)
      let at = Int64(old) * 1000 + Int64(Bool.random(using: &random) ? round : -round)
      return Say.post("\(author) \(old) \(post)", by: author, at: at, title: "\(number)")
    }
  }

  /// Users who follow and unfollow the authors of one lane.
  private static func follows(
    _ lane: Int, _ round: Int, using random: inout SeededGenerator
  ) -> [Event] {
    (0..<25).map { _ in
      let author = "author\(lane + 2 * Int.random(in: 0..<authors / 2, using: &random))"
      let reader = "reader\(Int.random(in: 0..<readers * 2, using: &random))"
      return Bool.random(using: &random)
        ? Say.follow(reader, author, at: Int64(round) + 1)
        : Say.unfollow(reader, author, at: Int64(round) + 1)
    }
  }
}
