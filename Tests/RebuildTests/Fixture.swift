import Events
import Handling
import Kafka
import Lanes
import Postgres
import RecordLog
import Synchronization
import TestSupport

@testable import Rebuild

/// A database, and a log with one partition per topic whose offsets hold no records: only offsets
/// change, and tests fill the tables by hand.
final class Fixture: Sendable {
  let url: String
  let log = EmptyLog()
  static let prefix = "t."

  init() throws { url = try TestDatabase.fresh() }

  func connection() throws -> Connection { try Connection(url, applicationName: "test") }

  func rebuild(acceptsMissingRecords: Bool = false, user: String? = nil) throws -> Rebuild {
    func idle(_ name: String, _ topics: [Topic]) -> Handler {
      Handler(name: name, topics: topics) { _, _ in Work([]) }
    }
    var settings = RebuildSettings(
      databaseURL: url + (user.map { " user=\($0)" } ?? ""), topicPrefix: Self.prefix,
      handlers: RebuildHandlers(
        fanout: idle("fanout", [.posts, .follows, .messages]),
        notification: idle("notification", [.likes, .comments]),
        alarm: idle("alarm", [.profiles, .notificationChanges]),
        reminder: idle("reminder", [.reminders])),
      openLog: { [log] in log })
    settings.acceptsMissingRecords = acceptsMissingRecords
    return try Rebuild(settings)
  }

  /// Runs `body` with a rebuild that is closed afterwards.
  @discardableResult
  func with<T>(_ body: (Rebuild) throws -> T) throws -> T {
    let rebuild = try rebuild()
    defer { rebuild.close() }
    return try body(rebuild)
  }

  /// `worker topic next_offset owner_epoch` of every stored offset.
  func offsets(in schema: String = "public") throws -> [String] {
    try connection().query(
      """
      SELECT concat_ws(' ', substr(consumer_group, 3), substr(topic, 3), next_offset, owner_epoch)
      FROM \(schema).consumer_offsets ORDER BY 1
      """
    ).map { try $0.text(0) }
  }

  /// Sets a stored offset of the live tables.
  func stand(_ worker: String, _ topic: Topic, at offset: Int64) throws {
    try connection().query(
      "INSERT INTO consumer_offsets VALUES ($1, $2, 0, $3, 7)",
      [.text(Self.prefix + worker), .text(topic.name(prefix: Self.prefix)), .int8(offset)])
  }

  func texts(_ sql: String) throws -> [String] {
    try connection().query(sql).map { try $0.text(0) }
  }
}

/// A log whose offsets hold no records, or records that no worker can decode. Thread-safe.
final class EmptyLog: RecordLog, Sendable {
  private let span = Mutex(Int64(0)..<Int64(100))
  private let gap = Mutex(Int64(0)..<Int64(0))
  private let nonsense = Mutex<Topic?>(nil)
  private let reading = Mutex<(@Sendable (Topic?) throws -> Void)?>(nil)

  /// Makes this topic hold an undecodable record at each offset.
  func holdsNonsense(of topic: Topic) { nonsense.withLock { $0 = topic } }

  /// Calls this before a topic is read.
  func whenReading(_ body: (@Sendable (Topic?) throws -> Void)?) { reading.withLock { $0 = body } }

  func holds(_ range: Range<Int64>) { span.withLock { $0 = range } }

  /// Makes these offsets of each topic a recorded gap.
  func lacks(_ range: Range<Int64>) { gap.withLock { $0 = range } }

  func gaps(of topics: [String]) throws -> [TopicPartition: [Range<Int64>]] {
    let gap = gap.withLock { $0 }
    return Dictionary(
      uniqueKeysWithValues: topics.map { (TopicPartition(topic: $0, partition: 0), [gap]) })
  }

  func spans(of topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    let span = span.withLock { $0 }
    return Dictionary(
      uniqueKeysWithValues: topics.map { (TopicPartition(topic: $0, partition: 0), span) })
  }

  func offsets(at milliseconds: Int64, in spans: [TopicPartition: Range<Int64>]) throws
    -> [TopicPartition: Int64]
  { spans.mapValues(\.lowerBound) }

  func read(
    _ spans: [TopicPartition: Range<Int64>], maxRecords: Int, _ body: (RecordBatch) throws -> Void
  ) throws {
    let nonsense = nonsense.withLock { $0?.name(prefix: Fixture.prefix) }
    for (partition, span) in spans {
      try reading.withLock { $0 }?(Topic(name: partition.topic, prefix: Fixture.prefix))
      let offsets = partition.topic == nonsense ? Array(span) : []
      try body(
        RecordBatch(
          topic: partition.topic,
          records: offsets.map {
            Record(
              topic: partition.topic, partition: partition.partition, offset: $0,
              timestampMilliseconds: 0, key: nil, value: Array("nonsense".utf8))
          },
          nextOffsets: [partition: span.upperBound]))
    }
  }
}
