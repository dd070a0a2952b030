import Events
import Foundation
import Kafka
import Logging
import Postgres
import Synchronization
import TestSupport

@testable import Handling
@testable import Lanes
@testable import Service

/// One topic and one database, with a table without a key: applying an event twice leaves two rows.
final class LaneFixture: Sendable {
  let databaseURL: String
  let prefix: String
  let partitions: Int
  let kafka: ClientConfiguration
  let admin: Admin
  private let broker: EmbeddedBroker?

  /// - Parameters:
  ///   - broker: a broker of the test's own, for faults.
  ///   - makesTopic: whether to create the topic.
  init(partitions: Int = 2, broker: EmbeddedBroker? = nil, makesTopic: Bool = true) throws {
    databaseURL = try TestDatabase.fresh()
    prefix = TestBroker.topicPrefix()
    self.partitions = partitions
    self.broker = broker
    kafka = try broker?.configuration ?? TestBroker.shared.configuration
    admin = try Admin(configuration: kafka)
    if makesTopic { try makeTopic() }
    try connection().script(
      """
      CREATE TABLE applied (
        event_id text NOT NULL,
        post text NOT NULL CHECK (post NOT LIKE 'poison%')
      );
      GRANT ALL ON applied TO magpie_fanout;
      """)
  }

  var topic: String { Topic.likes.name(prefix: prefix) }

  func makeTopic() throws {
    if let broker {
      try broker.createTopic(topic, partitions: partitions)
    } else {
      try TestBroker.shared.createTopic(topic, partitions: partitions)
    }
  }

  func connection() throws -> Connection { try Connection(databaseURL, applicationName: "test") }

  /// Inserts each event. One whose post begins with `poison` violates a constraint.
  static let handler = Handler(name: "fanout", topics: [.likes]) { _, events in
    let posts = events.map { event -> String in
      if case .likeCreated(let like) = event.payload { like.post } else { "" }
    }
    var work = Work()
    let applied = work.add(
      Statement(
        "INSERT INTO applied SELECT * FROM unnest($1::text[], $2::text[])",
        [.textArray(events.map(\.id)), .textArray(posts)]))
    work.finish = { results in Outcome(counts: ["applied": results[applied].affectedRows]) }
    return work
  }

  func settings(databaseURL: String? = nil, handler: Handler = LaneFixture.handler) throws
    -> LaneSettings
  {
    LaneSettings(
      handler: handler, kafka: kafka, topicPrefix: prefix,
      databaseURL: databaseURL ?? self.databaseURL)
  }

  /// Publishes likes of these posts, with ids `0`, `1`, ...; returns the ids.
  @discardableResult
  func publish(
    posts: [String], from first: Int = 0, through configuration: ClientConfiguration? = nil
  ) throws -> [String] {
    let events = posts.enumerated().map { index, post in
      Event(
        id: "\(first + index)", source: "test", time: EventTime.now,
        payload: .like("actor\(index)", post, of: "owner\(index % 17)"))
    }
    try produce(
      events.map { event in
        return try OutgoingRecord(
          topic: Topic.likes.name(prefix: prefix), wire: EventCodec.encode(event, as: .json))
      }, through: configuration)
    return events.map(\.id)
  }

  func produce(_ records: [OutgoingRecord], through configuration: ClientConfiguration? = nil)
    throws
  {
    let producer = try Producer(
      configuration: configuration ?? kafka)
    try producer.send(records)
    producer.close()
  }

  /// The sorted ids of the applied events, including duplicates.
  func applied() throws -> [String] {
    try connection().query("SELECT event_id FROM applied ORDER BY event_id::int").map {
      try $0.text(0)
    }
  }

  func deadLetterCount() throws -> Int {
    try connection().query("SELECT count(*) FROM dead_letters").only.int(0)
  }

  /// Records of the group that are neither applied nor dead-lettered yet.
  func lag() throws -> Int64 {
    let stored = try connection().query("SELECT partition, next_offset FROM consumer_offsets")
    var lag: Int64 = 0
    for partition in 0..<Int32(partitions) {
      let high = try admin.watermarks(
        TopicPartition(topic: Topic.likes.name(prefix: prefix), partition: partition)
      ).high
      let next = try stored.first { try $0.int(0) == Int(partition) }?.int8(1) ?? 0
      lag += high - next
    }
    return lag
  }
}

/// A lane on its own thread, as in a worker. A task could wait long for a thread while other tests block.
final class RunningLane: Sendable {
  let status: LaneStatus
  let metrics: Metrics
  private let result = Mutex<Result<Void, any Error>?>(nil)

  init(
    _ settings: LaneSettings, status: LaneStatus = LaneStatus(), metrics: Metrics = Metrics(),
    logger: Logger? = nil
  ) {
    self.status = status
    self.metrics = metrics
    var quiet = Logger(label: "lane")
    let isTalking = ProcessInfo.processInfo.environment["MAGPIE_TEST_LOG"] != nil
    quiet.logLevel = isTalking ? .debug : .critical
    let lane = (settings, status, logger ?? quiet)
    Thread.detachNewThread { [self] in
      let lane = Lane(settings: lane.0, status: lane.1, metrics: metrics, logger: lane.2)
      let ended = Result { try lane.run() }
      result.withLock { $0 = ended }
    }
  }

  /// Waits for the lane to end and rethrows its error.
  func end() async throws {
    try await eventually("the lane's end") { result.withLock { $0 != nil } }
    try result.withLock { $0 }?.get()
  }

  func stop() async throws {
    status.stop()
    try await end()
  }
}
