import Events
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Lanes

@Suite("A lane reports what it waits for, and is ready only as a member of its group")
struct MembershipTests {
  @Test("a lane whose topic does not exist waits, reports it, and works once it does")
  func topicLater() async throws {
    let fixture = try LaneFixture(partitions: 1, makesTopic: false)
    let lane = RunningLane(try fixture.settings())
    try await eventually("the lane says what it waits for") {
      if case .topics([fixture.topic], _)? = lane.status.wait { true } else { false }
    }
    #expect(!lane.status.isReady)
    try fixture.makeTopic()
    try fixture.publish(posts: ["a"])
    try await eventually { try fixture.lag() == 0 }
    try await eventually("ready") { lane.status.isReady }
    #expect(lane.status.wait == nil)
    try await lane.stop()
  }

  @Test("a lane without an assignment is not ready, reports it, and rejoins until it has one")
  func stuckGroup() async throws {
    let broker = try EmbeddedBroker()
    let fixture = try LaneFixture(partitions: 1, broker: broker)
    // A rebalance that never ends.
    broker.pushErrors(.syncGroup, Array(repeating: .init(rawValue: 27), count: 100_000))
    var settings = try fixture.settings()
    settings.groupPatience = .seconds(1)
    settings.groupWaitMax = .seconds(5)
    let lane = RunningLane(settings)
    try await eventually("the lane says that it waits") {
      if case .group? = lane.status.wait { true } else { false }
    }
    try await eventually("the membership is started anew") {
      lane.metrics.total(.groupRenewals) >= 1
    }
    #expect(!lane.status.isReady)
    broker.clearErrors(.syncGroup)
    try fixture.publish(posts: ["a"])
    try await eventually { try fixture.lag() == 0 }
    try await eventually("ready") { lane.status.isReady }
    #expect(lane.status.wait == nil)
    try await lane.stop()
    #expect(lane.metrics.total(.fenced) == 0)
  }

  @Test("a lane is ready without partitions if there are fewer partitions than lanes")
  func spare() async throws {
    let fixture = try LaneFixture(partitions: 1)
    let lanes = try [RunningLane(fixture.settings()), RunningLane(fixture.settings())]
    try await eventually("both are ready") {
      lanes.allSatisfy { $0.status.isReady && $0.status.wait == nil }
    }
    for lane in lanes { try await lane.stop() }
  }

  @Test("claimed partitions are reported to Kafka before any record arrives")
  func reportsClaims() async throws {
    let fixture = try LaneFixture(partitions: 1)
    try fixture.publish(posts: ["a", "b"])
    let group = try fixture.settings().consumerGroup
    // Applied by a worker that ended before it could report the offset.
    try fixture.connection().query(
      "SELECT fence_claim($1, $2, $3, $4)",
      [.text(group), .textArray([fixture.topic]), .int4Array([0]), .int8Array([2])])
    let lane = RunningLane(try fixture.settings())
    let partition = TopicPartition(topic: fixture.topic, partition: 0)
    try await eventually("Kafka knows the offset") {
      try fixture.admin.committedOffsets(group: group, [partition]) == [partition: 2]
    }
    try await lane.stop()
    #expect(try fixture.applied() == [])
  }

  @Test(
    "an offset out of range of a log with unknown bounds is not compared with invented bounds")
  func unknownBounds() throws {
    let partition = TopicPartition(topic: "likes", partition: 3)
    let error = ConsumerError.offsetOutOfRange(partition, offset: 7, low: nil, high: nil)
    guard case .stop(let stopped) = disposition(of: error, group: "g") else {
      Issue.record("\(disposition(of: error, group: "g"))")
      return
    }
    #expect(!stopped.nextStep.contains("ends at"))
    #expect(!stopped.nextStep.contains("offsets reset"))
    #expect(stopped.nextStep.contains("magpie lag"))
  }

  @Test(
    "a batch that cannot be read stops the worker, which blames neither the log nor the connection")
  func unreadable() throws {
    let cause = #expect(throws: KafkaError.self) {
      _ = try Admin(configuration: ClientConfiguration(bootstrap: ""))
    }
    let error = ConsumerError.unreadable(try #require(cause))
    guard case .stop(let stopped) = disposition(of: error, group: "g") else {
      Issue.record("\(disposition(of: error, group: "g"))")
      return
    }
    #expect(stopped.reason.contains("cannot be read"))
    #expect(stopped.nextStep.contains("another replica"))
  }
}
