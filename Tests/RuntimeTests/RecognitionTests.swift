import Events
import Handling
import Kafka
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Lanes

/// A lane continues only in the log that it has read so far, not in another one of the same name.
@Suite struct RecognitionTests {
  private let fixture: LaneFixture
  private var topic: String { Topic.likes.name(prefix: fixture.prefix) }

  init() throws { fixture = try LaneFixture(partitions: 1) }

  /// Applies 20 likes and stops.
  private func applyTwenty() async throws {
    try fixture.publish(posts: (0..<20).map { "p\($0)" })
    let lane = RunningLane(try fixture.settings())
    try await eventually { try fixture.applied().count == 20 }
    try await lane.stop()
  }

  /// Recreates the topic with these records.
  private func anotherLog(_ records: [OutgoingRecord]) throws -> (EmbeddedBroker, LaneSettings) {
    let broker = try EmbeddedBroker()
    try broker.createTopic(topic, partitions: 1)
    let producer = try Producer(
      configuration: ClientConfiguration(
        bootstrap: broker.bootstrap, properties: ["compression.type": "none"]))
    try producer.send(records)
    producer.close()
    var settings = try fixture.settings()
    settings.kafka = broker.configuration
    return (broker, settings)
  }

  private func likes(from first: Int, count: Int) throws -> [OutgoingRecord] {
    try (first..<first + count).map { index in
      let event = Event(
        id: "\(index)", source: "test", time: EventTime.now,
        payload: .like("actor\(index)", "post", of: "owner"))
      return try OutgoingRecord(topic: topic, wire: EventCodec.encode(event, as: .json))
    }
  }

  /// `next_offset last_offset`, and whether an identity is stored.
  private func stored() throws -> String {
    try fixture.connection().query(
      """
      SELECT concat_ws(' ', next_offset, last_offset, last_identity ~ '^[0-9]+-[0-9a-f]{16}$')
      FROM consumer_offsets
      """
    ).only.text(0)
  }

  @Test("a recreated topic that holds the stored offset stops the lane, with instructions")
  func anotherLogStops() async throws {
    try await applyTwenty()
    #expect(try stored() == "20 19 t")
    let (broker, settings) = try anotherLog(likes(from: 100, count: 20))
    defer { broker.close() }
    let stopped = await #expect(throws: WorkerStopped.self) {
      try await RunningLane(settings).end()
    }
    let reason = stopped?.reason ?? ""
    #expect(reason.contains("\(topic)[0] is another log"), "\(reason)")
    #expect(reason.contains("at offset 19"))
    let identity = try fixture.connection().query("SELECT last_identity FROM consumer_offsets")
    #expect(reason.contains(try identity.only.text(0)))
    let command = "magpie offsets reset --group \(settings.consumerGroup) --topic \(topic) "
    #expect(stopped?.nextStep.contains(command + "--partition 0 --to-start") == true)
    #expect(try fixture.applied().count == 20)
    #expect(try stored() == "20 19 t")
  }

  @Test("a copy of the log, on another cluster, is the same log")
  func copyGoesOn() async throws {
    let records = try likes(from: 0, count: 20).map { record in
      var record = record
      record.timestampMilliseconds = 1_700_000_000_000
      return record
    }
    try fixture.produce(records)
    let lane = RunningLane(try fixture.settings())
    try await eventually { try fixture.applied().count == 20 }
    try await lane.stop()
    let (broker, settings) = try anotherLog(records + likes(from: 20, count: 5))
    defer { broker.close() }
    let successor = RunningLane(settings)
    try await eventually { try fixture.applied().count == 25 }
    try await successor.stop()
    #expect(try fixture.applied() == (0..<25).map(String.init))
    #expect(try stored() == "25 24 t")
  }

  @Test(
    "a log without a stored last record is accepted, and recognized from then on")
  func unknownGoesOn() async throws {
    try await applyTwenty()
    // As a worker of the previous version, or an operator, moves it.
    try fixture.connection().script(
      """
      SELECT fence_advance(consumer_group, ARRAY[topic], ARRAY[partition], ARRAY[next_offset],
        ARRAY[19::bigint], ARRAY[owner_epoch]) FROM consumer_offsets;
      """)
    #expect(try stored() == "19")
    try fixture.connection().script("UPDATE consumer_offsets SET next_offset = 20")
    #expect(try stored() == "20")
    let (broker, settings) = try anotherLog(likes(from: 100, count: 21))
    defer { broker.close() }
    let lane = RunningLane(settings)
    try await eventually { try fixture.applied().count == 21 }
    try await lane.stop()
    #expect(try stored() == "21 20 t")
  }

  @Test(
    "a last record that is no longer in the log is not compared, even if the lane finds out while reading",
    arguments: [0, 2])
  func deletedGoesOn(unansweredQuestions: Int) async throws {
    try await applyTwenty()
    // The embedded broker keeps 5 MiB, and drops whole batches.
    var records = try likes(from: 100, count: 200)
    for index in records.indices { records[index].headers.append(Header("x", longText)) }
    let (broker, settings) = try anotherLog(records)
    defer { broker.close() }
    let admin = try Admin(configuration: broker.configuration)
    let log = try admin.watermarks(TopicPartition(topic: topic, partition: 0))
    try #require(log.low > 20)
    try fixture.connection().script(
      """
      UPDATE consumer_offsets SET next_offset = \(log.low), last_offset = \(log.low - 1),
        last_identity = 'that of a record that is gone'
      """)
    broker.pushErrors(.listOffsets, refusals(unansweredQuestions))
    let lane = RunningLane(settings)
    let left = Int(log.high - log.low)
    try await eventually { try fixture.applied().count == 20 + left }
    try await lane.stop()
    #expect(lane.metrics.total(.fenced) == (unansweredQuestions == 0 ? 0 : 1))
    #expect(try stored() == "\(log.high) \(log.high - 1) t")
  }

  @Test("records are compared even if the log's offsets cannot be queried")
  func unansweredQuestion() async throws {
    try await applyTwenty()
    let (broker, settings) = try anotherLog(likes(from: 100, count: 30))
    defer { broker.close() }
    broker.pushErrors(.listOffsets, refusals(50))
    await #expect(throws: WorkerStopped.self) { try await RunningLane(settings).end() }
    #expect(try fixture.applied().count == 20)
  }

  @Test(
    "a lane works on its backlog only in its own log, because the events would go to another cluster",
    arguments: [nil, 10, 30])
  func backlog(recordsOfAnotherLog: Int?) async throws {
    let pieces = Mutex(0)
    var handler = LaneFixture.handler
    handler.backlog = {
      pieces.withLock { $0 += 1 }
      return Work()
    }
    try await applyTwenty()
    guard let count = recordsOfAnotherLog else {
      let lane = RunningLane(try fixture.settings(handler: handler))
      try await eventually { pieces.withLock { $0 > 0 } }
      return try await lane.stop()
    }
    var (broker, settings) = try anotherLog(likes(from: 100, count: count))
    defer { broker.close() }
    settings.handler = handler
    // The lane polls several times before the first record arrives.
    settings.pollTimeoutMilliseconds = 1
    let lane = RunningLane(settings)
    await #expect(throws: WorkerStopped.self) { try await lane.end() }
    #expect(pieces.withLock { $0 } == 0)
  }

  /// "Topic authorization failed", which is not retried.
  private func refusals(_ count: Int) -> [KafkaError.Code] {
    [KafkaError.Code](repeating: KafkaError.Code(rawValue: 29), count: count)
  }

  private let longText = String(repeating: "x", count: 40_000)

  @Test("a record's identity depends on time, key, value and headers, and their boundaries")
  func identity() {
    func record(
      _ time: Int64 = 1, _ key: [UInt8]? = [1], _ value: [UInt8]? = [2, 3],
      _ headers: [Header] = [Header("a", "b")]
    ) -> Record {
      Record(
        topic: "t", partition: 0, offset: 7, timestampMilliseconds: time, key: key, value: value,
        headers: headers)
    }
    let all = [
      record(), record(2), record(1, nil), record(1, []), record(1, [1, 2], [3]),
      record(1, [1], nil), record(1, [1], [2, 3], []), record(1, [1], [2, 3], [Header("ab", "")]),
      record(1, [1], [2, 3], [Header(name: "a", value: nil)]),
    ]
    #expect(Set(all.map(LastRecord.init)).count == all.count)
    #expect(LastRecord(record()) == LastRecord(record()))
    #expect(LastRecord(record()).identity.hasPrefix("1-"))
  }
}
