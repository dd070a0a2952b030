import Events
import FaultInjection
import Kafka
import Logging
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Handling
@testable import Lanes

@Suite struct LaneFaultTests {
  @Test("a commit with a lost response is neither lost nor repeated", arguments: [true, false])
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
    // The commit is visible before the lane has looked it up. Stopping in between would skip the look-up.
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

  @Test("a redrive counts what it has committed without a response")
  func ambiguousRedrive() async throws {
    let fixture = try LaneFixture(partitions: 1)
    try fixture.publish(posts: ["poison", "poison again"])
    let lane = RunningLane(try fixture.settings())
    try await eventually { try fixture.lag() == 0 }
    try await lane.stop()
    try fixture.connection().script(
      """
      ALTER TABLE applied DROP CONSTRAINT applied_post_check;
      ALTER TABLE applied ADD CHECK (post <> 'poison again')
      """)
    let proxy = try PostgresProxy(to: fixture.databaseURL) { .dropAfterCommit }
    defer { proxy.close() }
    let redrive = DeadLetterRedrive(
      handler: LaneFixture.handler, topicPrefix: fixture.prefix, resolvedBy: "me",
      open: { try Connection(proxy.url, applicationName: "test") }, deliver: { _ in })
    defer { redrive.close() }
    let step = try redrive.step(after: .init(), limit: 10)
    #expect([step.redriven, step.failed, step.passedOver] == [1, 1, 0])
    #expect(proxy.commits(meeting: .dropAfterCommit) == 2)
    #expect(try fixture.applied() == ["0"])
  }

  /// Publishes a change of a notification for each like.
  private var publishing: Handler {
    var handler = LaneFixture.handler
    handler.apply = { topic, events in
      var work = try LaneFixture.handler.apply(topic, events)
      work.finish = { _ in
        Outcome(
          events: events.map {
            Event(id: $0.id, source: "test", time: $0.time, payload: retraction)
          })
      }
      return work
    }
    return handler
  }

  @Test("a topic to publish to that the brokers do not know any more is waited for")
  func unknownTopicToPublishTo() async throws {
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    let fixture = try LaneFixture(partitions: 1, broker: broker)
    let changes = Topic.notificationChanges.name(prefix: fixture.prefix)
    try broker.createTopic(changes, partitions: 1)
    var settings = try fixture.settings(handler: publishing)
    settings.kafka.properties["topic.metadata.refresh.interval.ms"] = "100"
    let lane = RunningLane(settings)
    let first = try fixture.publish(posts: ["a"])
    try await eventually { try fixture.applied() == first }
    broker.setError(ofTopic: changes, to: .unknownTopicOrPartition)
    var published = 1
    // The producer finds out with its next metadata.
    while lane.metrics.total(.retries) == 0, published < 1_000 {
      try fixture.publish(posts: ["b"], from: published)
      published += 1
      try await Task.sleep(for: .milliseconds(50))
    }
    try await eventually { lane.metrics.total(.retries) >= 2 }
    broker.setError(ofTopic: changes, to: nil)
    try await eventually { try fixture.lag() == 0 }
    try await lane.stop()
    #expect(try fixture.applied().count == published)
  }

  @Test("a missing permission to publish is waited for, and the log names it")
  func deniedPublishing() async throws {
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    let fixture = try LaneFixture(partitions: 1, broker: broker)
    let changes = Topic.notificationChanges.name(prefix: fixture.prefix)
    try broker.createTopic(changes, partitions: 1)
    let log = CapturedLog()
    let ids = try fixture.publish(posts: ["a"])
    // "Topic authorization failed".
    broker.pushErrors(.produce, [.init(rawValue: 29), .init(rawValue: 29)])
    let lane = RunningLane(
      try fixture.settings(handler: publishing),
      logger: Logger(label: "lane") { _ in CapturingHandler(log: log) })
    try await eventually { try fixture.applied() == ids }
    try await lane.stop()
    #expect(lane.metrics.total(.retries) == 2)
    #expect(log.lines.withLock { $0.contains { $0.contains("Write and Describe") } })
  }

  @Test("a session that accepts no writes is not opened, and not kept if it was, but retried")
  func readOnly() throws {
    let fixture = try LaneFixture(partitions: 1)
    let standby = try fixture.settings(
      databaseURL: fixture.databaseURL + " options='-c default_transaction_read_only=on'")
    let error = #expect(throws: PostgresError.self) { try standby.openConnection() }
    #expect(try disposition(of: #require(error)) == .retry(reason: "read-only"))
    var opened = 0
    let settings = try fixture.settings()
    let connection = ReconnectingConnection(settings.handler) {
      opened += 1
      return try settings.openConnection()
    }
    defer { connection.close() }
    func write() throws { try connection.use { _ = try $0.query("DELETE FROM applied") } }
    try connection.use { try $0.script("SET default_transaction_read_only = on") }
    #expect(throws: PostgresError.self) { try write() }
    try write()
    #expect(opened == 2)
  }

  @Test("PostgreSQL outages lose and duplicate nothing")
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

  @Test("an idle lane is not ready while its database does not respond")
  func silentDatabase() async throws {
    let fixture = try LaneFixture(partitions: 1)
    let proxy = try PostgresProxy(to: fixture.databaseURL)
    defer { proxy.close() }
    let lane = RunningLane(try fixture.settings(databaseURL: proxy.url))
    try await eventually { lane.status.isReady }
    proxy.conditions.isSilent = true
    try await eventually("not ready") { !lane.status.isReady }
    proxy.conditions.isSilent = false
    try await eventually("ready") { lane.status.isReady }
    try await lane.stop()
  }

  @Test("no transaction stays open while no broker accepts the events of a batch")
  func brokerAwayInTransaction() async throws {
    let fixture = try LaneFixture(partitions: 1)
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    for topic in [Topic.likes, .posts] {
      try broker.createTopic(topic.name(prefix: fixture.prefix), partitions: 1)
    }
    let transactions = Mutex(0)
    let handler = Handler(name: "fanout", topics: [.likes]) { topic, events in
      Work(try LaneFixture.handler.apply(topic, events).statements) { _ in
        // The broker goes away after the records are read and before their events are published.
        let isFirst = transactions.withLock { count in
          count += 1
          return count == 1
        }
        if isFirst { try broker.setDown() }
        return Outcome(events: [
          Event(id: "e", source: "test", time: .now, payload: .post("p", by: "a"))
        ])
      }
    }
    var settings = try fixture.settings(handler: handler)
    settings.kafka = broker.configuration
    settings.kafka.properties["message.timeout.ms"] = "2000"
    try fixture.publish(posts: ["a"], through: broker.configuration)
    let lane = RunningLane(settings)
    try await eventually { lane.metrics.total(.retries) >= 3 }
    #expect(transactions.withLock { $0 } == 1)
    #expect(!lane.status.isReady)
    let open = try fixture.connection().query(
      """
      SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
      """
    ).only.int(0)
    #expect(open == 0)
    try broker.setUp()
    try await eventually { try fixture.applied() == ["0"] }
    try await eventually("ready") { lane.status.isReady }
    try await lane.stop()
    #expect(!lane.metrics.prometheusText().contains("session-timeout"))
  }

  @Test(
    "the delivery timeout is at most a third of the transaction's idle timeout",
    arguments: [
      ([:], "10000"), (["message.timeout.ms": "60000"], "10000"),
      (["delivery.timeout.ms": "60000"], "10000"), (["message.timeout.ms": "0"], "10000"),
      (["delivery.timeout.ms": "3000"], "3000"),
    ] as [([String: String], String)])
  func deliveryTime(properties: [String: String], expected: String) {
    let bounded = EventProducer.bounded(
      ClientConfiguration(bootstrap: "localhost:1", properties: properties))
    #expect(bounded.properties == ["message.timeout.ms": expected])
  }

  @Test("a lane that is fenced says why")
  func fencedSaysWhy() async throws {
    let fixture = try LaneFixture(partitions: 1)
    try fixture.publish(posts: ["a"])
    let log = CapturedLog()
    let lane = RunningLane(
      try fixture.settings(), logger: Logger(label: "lane") { _ in CapturingHandler(log: log) })
    try await eventually { try fixture.lag() == 0 }
    try fixture.connection().query("UPDATE consumer_offsets SET owner_epoch = owner_epoch + 1")
    try await eventually { lane.metrics.total(.fenced) >= 1 }
    try await lane.stop()
    let line = log.lines.withLock { $0 }.first { $0.contains("fenced; joining") }
    #expect(line?.contains("another process has claimed it") == true, "\(line ?? "")")
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

private final class CapturedLog: Sendable {
  let lines = Mutex<[String]>([])
}

private struct CapturingHandler: LogHandler {
  let log: CapturedLog
  var logLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    log.lines.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
  }
}

private let retraction = Payload.notificationRetracted(
  .with {
    ($0.notification, $0.recipient) = ("00000000-0000-5000-8000-000000000001", "ann")
    ($0.generation, $0.counter) = (1, 1)
  })
