package import Events
package import Kafka

/// Records of one topic from one poll, each decoded or poison.
///
/// The records of each partition are in offset order, so any prefix of a batch can be committed alone.
package struct Batch: Sendable {
  /// A record and the result of decoding it.
  package struct Item: Sendable {
    package var record: Record
    package var content: Content
    /// Whether it was dead-lettered before: then it says nothing new about this code.
    var isKnownDeadLetter = false
    /// What is stored of a dead letter that names erased people; nil if it is stored as it is.
    var remainder: WireRecord?

    package init(record: Record, content: Content) {
      self.record = record
      self.content = content
    }

    package var isPoison: Bool { if case .poison = content { true } else { false } }
  }

  package enum Content: Sendable {
    case event(Event)
    case poison(DeadLetterReason)
  }

  package var topic: Topic
  package var items: [Item]
  /// The offsets after the batch where they are beyond its last record, because the log has no records
  /// at the offsets between.
  package var endOffsets: [TopicPartition: Int64]

  package init(topic: Topic, items: [Item], endOffsets: [TopicPartition: Int64] = [:]) {
    self.topic = topic
    self.items = items
    self.endOffsets = endOffsets
  }

  /// The number of records that are not poison.
  package var eventCount: Int { items.count { !$0.isPoison } }

  var events: [Event] {
    items.compactMap { if case .event(let event) = $0.content { event } else { nil } }
  }

  /// The first and the second half, for bisecting.
  var halves: (Batch, Batch) {
    let middle = items.count / 2
    return (
      Batch(topic: topic, items: Array(items[..<middle])),
      Batch(topic: topic, items: Array(items[middle...]), endOffsets: endOffsets)
    )
  }

  /// Splits the batch into pieces of these numbers of events; the last piece takes the rest.
  func pieces(_ sizes: [Int]) -> [Batch] {
    var pieces: [Batch] = []
    var rest = items[...]
    for size in sizes.dropLast() {
      var events = 0
      let piece = rest.prefix { item in
        if !item.isPoison { events += 1 }
        return events <= size
      }
      if !piece.isEmpty { pieces.append(Batch(topic: topic, items: Array(piece))) }
      rest = rest.dropFirst(piece.count)
    }
    if !rest.isEmpty { pieces.append(Batch(topic: topic, items: Array(rest))) }
    pieces[pieces.count - 1].endOffsets = endOffsets
    return pieces
  }

  /// The batch with its events turned into poison.
  func deadLettering(_ reason: DeadLetterReason) -> Batch {
    var batch = self
    for index in batch.items.indices where !batch.items[index].isPoison {
      batch.items[index].content = .poison(reason)
    }
    return batch
  }

  /// The offset after the last record of each partition, or its end offset.
  package var nextOffsets: [TopicPartition: Int64] {
    lastItems.mapValues { items[$0].record.offset + 1 }.merging(endOffsets) { max($0, $1) }
  }

  /// The last record of each partition, by which Kafka's log is recognized; none if people were erased from
  /// it.
  var lastRecords: [TopicPartition: LastRecord] {
    lastItems.compactMapValues {
      let record = items[$0].record
      return record.wire.isChangedByErasure ? nil : LastRecord(record)
    }
  }

  private var lastItems: [TopicPartition: Int] {
    var result: [TopicPartition: Int] = [:]
    // Consecutive records are mostly of the same partition.
    for (index, item) in items.enumerated() {
      let isLastOfRun =
        index + 1 == items.count || items[index + 1].record.partition != item.record.partition
        || items[index + 1].record.topic != item.record.topic
      if isLastOfRun { result[item.record.topicPartition] = index }
    }
    return result
  }
}

/// Why a record is dead-lettered.
package struct DeadLetterReason: Equatable, Sendable {
  /// Stable, for metrics and filters: the code of an `EventError`, or one of the first two below.
  package var code: String
  /// For operators.
  package var message: String
  package var attempts: Int

  /// The database rejected it.
  package static let notApplicable = "not-applicable"
  /// The database could not apply it within its limits on time or memory.
  static let tooMuch = "too-much"
  /// The codes that one person can cause at will. They say nothing about the worker's code, so the
  /// circuit breaker does not count them.
  static let uncounted = [EventError.Code.quota, .badToken].map(\.rawValue)

  package init(code: String, message: String, attempts: Int = 1) {
    self.code = code
    self.message = message
    self.attempts = attempts
  }
}

/// Decodes a record. A record that cannot be decoded is poison.
func decode(_ record: Record, topic: Topic, now: EventTime) -> Batch.Item {
  do throws(EventError) {
    var event = try EventCodec.decode(record.wire, topic: topic, now: now)
    (event.partition, event.offset) = (record.partition, record.offset)
    return Batch.Item(record: record, content: .event(event))
  } catch {
    let reason = DeadLetterReason(code: error.code.rawValue, message: error.message)
    return Batch.Item(record: record, content: .poison(reason))
  }
}
