import FaultInjection
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite struct LaneFaultTests {
  @Test("a commit whose answer is lost is neither lost nor repeated", arguments: [true, false])
  func ambiguousCommit(commits: Bool) async throws {
    let fixture = try LaneFixture(partitions: 1)
    let ids = try fixture.publish(posts: (0..<50).map { "p\($0)" })
    let faults = Mutex(1)
    let proxy = try PostgresProxy(to: fixture.databaseURL) {
      faults.withLock { left in
        guard left > 0 else { return .none }
        left -= 1
        return commits ? .dropAfterCommit : .dropBeforeCommit
      }
    }
    defer { proxy.close() }
    let lane = RunningLane(try fixture.settings(databaseURL: proxy.url))
    // The commit is visible before the lane has found out; stopped in between it would not.
    try await eventually {
      try fixture.lag() == 0 && lane.metrics.total(.ambiguousCommits) == 1
    }
    try await lane.stop()
    #expect(try fixture.applied() == ids)
    let outcome = commits ? "committed" : "not-committed"
    #expect(
      lane.metrics.prometheusText().contains(
        "magpie_ambiguous_commits_total{outcome=\"\(outcome)\"} 1"))
  }

  @Test("PostgreSQL away at the start and for a while later delays, loses and doubles nothing")
  func databaseAway() async throws {
    let fixture = try LaneFixture(partitions: 1)
    let first = try fixture.publish(posts: ["a", "b"])
    let isAway = Mutex(true)
    let proxy = try PostgresProxy(to: fixture.databaseURL) {
      isAway.withLock { $0 } ? .dropBeforeCommit : .none
    }
    defer { proxy.close() }
    let lane = RunningLane(try fixture.settings(databaseURL: proxy.url))
    try await eventually { lane.metrics.total(.retries) >= 2 }
    #expect(try fixture.applied() == [])
    isAway.withLock { $0 = false }
    try await eventually { try fixture.lag() == 0 }
    proxy.breakAll()
    let second = try fixture.publish(posts: ["c"], from: 2)
    try await eventually { try fixture.lag() == 0 }
    try await lane.stop()
    #expect(try fixture.applied() == first + second)
  }

  @Test("generated faults around COMMIT, claims by others, poison and restarts: exactly once")
  func campaign() async throws {
    var generator = SeededGenerator()
    let fixture = try LaneFixture(partitions: 3)
    let seed = generator.next()
    let faults = Mutex(SeededGenerator(seed: seed))
    let proxy = try PostgresProxy(to: fixture.databaseURL) {
      faults.withLock { generator in
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: .dropBeforeCommit
        case 1: .dropAfterCommit
        default: .none
        }
      }
    }
    defer { proxy.close() }
    var settings = try fixture.settings(databaseURL: proxy.url)
    settings.batchRecordsMax = 25
    let metrics = Metrics()
    var lanes = [RunningLane(settings, metrics: metrics), RunningLane(settings, metrics: metrics)]
    var expected: [String] = []
    var poisoned = 0
    for round in 0..<6 {
      let posts = (0..<200).map { index in
        Int.random(in: 0..<60, using: &generator) == 0 ? "poison" : "p\(index)"
      }
      let ids = try fixture.publish(posts: posts, from: round * 200)
      for (id, post) in zip(ids, posts) where post != "poison" { expected.append(id) }
      poisoned += posts.count { $0 == "poison" }
      switch Int.random(in: 0..<3, using: &generator) {
      case 0:
        try fixture.connection().query("UPDATE consumer_offsets SET owner_epoch = owner_epoch + 1")
      case 1: proxy.breakAll()
      default:
        try await lanes.removeFirst().stop()
        lanes.append(RunningLane(settings, metrics: metrics))
      }
    }
    try await eventually("lag 0") { try fixture.lag() == 0 }
    for lane in lanes { try await lane.stop() }
    #expect(try fixture.applied() == expected)
    #expect(try fixture.deadLetterCount() == poisoned)
    #expect(metrics.total(.ambiguousCommits) > 0)
  }
}
