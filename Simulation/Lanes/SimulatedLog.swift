import Events
import Kafka
import Lanes

/// The kinds of simulated records.
enum RecordKind: UInt8 {
  case plain
  /// Cannot be decoded.
  case undecodable
  /// Violates a constraint whenever it is applied.
  case unappliable
  /// Exceeds the statement timeout whenever it is applied.
  case endless
  /// Not a record: an offset that the log skips.
  case hole
}

/// The log of one partition.
struct SimulatedLog {
  var kinds: [RecordKind] = []
  /// The log start offset.
  var low = 0
  var high: Int { kinds.count }

  /// The first record at or after the offset; nil at the end.
  func record(from offset: Int) -> Int? {
    var offset = offset
    while offset < high, kinds[offset] == .hole { offset += 1 }
    return offset < high ? offset : nil
  }
}

/// Partitions, topics and records that all schedules share, because creating them millions of times
/// is slow.
enum Fixed {
  static let partitions = [
    TopicPartition(topic: "a", partition: 0), TopicPartition(topic: "a", partition: 1),
    TopicPartition(topic: "b", partition: 0),
  ]
  static let offsetsMax = 64

  static func index(of partition: TopicPartition) -> Int {
    partition.topic == "a" ? Int(partition.partition) : 2
  }

  static func index(of record: Record) -> Int {
    record.topic == "a" ? Int(record.partition) : 2
  }

  /// By partition and offset; the second half of each partition's records is undecodable.
  static let records: [[Record]] = partitions.map { partition in
    (0..<2 * offsetsMax).map { index in
      Record(
        topic: partition.topic, partition: partition.partition,
        offset: Int64(index % offsetsMax), timestampMilliseconds: index < offsetsMax ? 0 : 1,
        key: nil, value: nil)
    }
  }

  static func record(_ partition: Int, _ offset: Int, _ kind: RecordKind) -> Record {
    records[partition][kind == .undecodable ? offset + offsetsMax : offset]
  }

  private static let event = Event(
    id: "e", source: "s", time: EventTime(microseconds: 0), payload: .likeCreated(LikeCreated()))

  /// - Parameter breaker: nil disables the limits on dead letters.
  static func plan(breaker: CircuitBreaker?, splits: Bool) -> LaneMachine.Plan {
    var plan = LaneMachine.Plan(topics: ["a": .posts, "b": .likes], breaker: breaker) { record, _ in
      guard record.timestampMilliseconds == 1 else {
        return Batch.Item(record: record, content: .event(event))
      }
      return Batch.Item(
        record: record, content: .poison(DeadLetterReason(code: "x", message: "undecodable")))
    }
    plan.recordsMax = splits ? [.posts: 2] : [:]
    plan.hasBacklog = true
    return plan
  }

  /// The limits on dead letters in a row, and on their share of the last records.
  static let breaker = CircuitBreaker(runLimit: 4, shareLimit: 0.6, windowRecords: 8)
  static let plans = [
    plan(breaker: breaker, splits: false), plan(breaker: breaker, splits: true),
    plan(breaker: nil, splits: false),
  ]
}
