import Events
import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Handling
@testable import Lanes

/// Batches that exceed the statement timeout.
@Suite struct StatementTimeoutTests {
  /// Sleeps this many seconds for each event, and far beyond any limit for a post named `endless`.
  private func sleeping(secondsEach: Double) -> Handler {
    Handler(name: "fanout", topics: [.likes]) { topic, events in
      var work = try LaneFixture.handler.apply(topic, events)
      let isEndless = events.contains { event in
        if case .likeCreated(let like) = event.payload { like.post == "endless" } else { false }
      }
      let seconds = isEndless ? 3600 : secondsEach * Double(events.count)
      work.add(Statement("SELECT pg_sleep($1::text::float8)", [.text("\(seconds)")]))
      return work
    }
  }

  private func fixture(timeout: String) throws -> LaneFixture {
    let fixture = try LaneFixture(partitions: 1)
    let connection = try fixture.connection()
    let name = try connection.query("SELECT current_database()").only.text(0)
    try connection.script("ALTER DATABASE \(name) SET statement_timeout = '\(timeout)'")
    return fixture
  }

  @Test func `a batch that exceeds the timeout is bisected until its parts fit`() async throws {
    let fixture = try fixture(timeout: "1s")
    let ids = try fixture.publish(posts: (0..<8).map { "p\($0)" })
    let lane = RunningLane(try fixture.settings(handler: sleeping(secondsEach: 0.6)))
    try await eventually { try fixture.lag() == 0 }
    try await lane.stop()
    #expect(try fixture.applied() == ids)
    #expect(try fixture.deadLetterCount() == 0)
    #expect(lane.metrics.prometheusText().contains("{reason=\"statement-timeout\"}"))
  }

  @Test(
    "a single event that repeatedly exceeds the timeout is dead-lettered; the others are applied")
  func endlessEvent() async throws {
    let fixture = try fixture(timeout: "1s")
    var posts = (0..<40).map { "p\($0)" }
    posts[17] = "endless"
    try fixture.publish(posts: posts)
    let status = Mutex<LaneStatus?>(nil)
    let silence = Mutex(Duration.zero)
    let applying = sleeping(secondsEach: 0)
    let handler = Handler(name: "fanout", topics: [.likes]) { topic, events in
      let now = status.withLock { $0?.silence } ?? .zero
      silence.withLock { $0 = max($0, now) }
      return try applying.apply(topic, events)
    }
    let started = ContinuousClock.now
    let lane = RunningLane(try fixture.settings(handler: handler))
    status.withLock { $0 = lane.status }
    try await eventually { try fixture.lag() == 0 }
    #expect(
      silence.withLock { $0 } < (.now - started) / 3,
      "the watchdog sees a sign of life before each transaction")
    try await lane.stop()
    #expect(try fixture.applied() == (0..<40).filter { $0 != 17 }.map(String.init))
    let letter = try fixture.connection().query(
      "SELECT reason_code, reason, attempts FROM dead_letters"
    ).only
    #expect(try letter.text(0) == "too-much")
    #expect(try letter.text(1).hasPrefix("57014 "))
    #expect(try letter.int(2) == BatchMachine.excessesMax)
  }

  @Test func `a statement that is canceled to end the lane is no timeout`() async throws {
    let fixture = try fixture(timeout: "2s")
    try fixture.publish(posts: ["a", "b"])
    // Each takes much less than the timeout, together they take longer than any test waits.
    let handler = Handler(name: "fanout", topics: [.likes]) { topic, events in
      var work = try LaneFixture.handler.apply(topic, events)
      for _ in 0..<20_000 { work.add(Statement("SELECT pg_sleep(0.2)", [])) }
      return work
    }
    let lane = RunningLane(try fixture.settings(handler: handler))
    let connection = try fixture.connection()
    try await eventually("the transaction is older than the timeout") {
      try connection.query(
        """
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'
          AND now() - xact_start > interval '2500 ms'
        """
      ).count == 1
    }
    lane.status.stop()
    lane.status.cancelStatement()
    try await lane.end()
    #expect(try fixture.applied() == [])
    let metrics = lane.metrics.prometheusText()
    #expect(metrics.contains("magpie_retries_total{reason=\"server-unavailable\"} 1\n"))
    #expect(!metrics.contains("statement-timeout"))
  }

  @Test func `a canceled statement is retried without bisecting`() async throws {
    let fixture = try LaneFixture(partitions: 1)
    let ids = try fixture.publish(posts: (0..<20).map { "p\($0)" })
    // The first attempt runs until it is canceled.
    let attempts = Mutex(0)
    let (endless, ended) = (sleeping(secondsEach: 3600), sleeping(secondsEach: 0))
    let handler = Handler(name: "fanout", topics: [.likes]) { topic, events in
      let isFirst = attempts.withLock { count in
        count += 1
        return count == 1
      }
      return try (isFirst ? endless : ended).apply(topic, events)
    }
    // On a thread: tasks may wait behind other tests' for longer than the statement's timeout.
    // Only while the statement sleeps: the server ignores a cancel request that it reads between
    // the messages of a pipeline.
    let url = fixture.databaseURL
    Thread.detachNewThread {
      guard let connection = try? Connection(url, applicationName: "test") else { return }
      while (try? connection.query(
        """
        SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event = 'PgSleep'
        """))?.count == 0
      { Thread.sleep(forTimeInterval: 0.01) }
    }
    let lane = RunningLane(try fixture.settings(handler: handler))
    try await eventually { try fixture.lag() == 0 }
    try await lane.stop()
    #expect(try fixture.applied() == ids)
    let metrics = lane.metrics.prometheusText()
    #expect(metrics.contains("magpie_retries_total{reason=\"server-unavailable\"} 1\n"))
    #expect(!metrics.contains("statement-timeout"))
  }
}
