import Events
import Kafka

/// The records of one topic from one poll, each decoded or found to be poison.
///
/// Per partition the records are in offset order, so any prefix of a batch can be committed alone.
struct Batch {
  /// One record and what became of it.
  struct Item {
    var record: Record
    var content: Content

    var isPoison: Bool { if case .poison = content { true } else { false } }
  }

  /// What a record turned out to be.
  enum Content {
    case event(Event)
    case poison(DeadLetterReason)
  }

  var topic: Topic
  var items: [Item]
  /// How far the batch reaches where that is beyond its last record, because the log holds no
  /// record at those offsets.
  var reach: [TopicPartition: Int64] = [:]

  var events: [Event] {
    items.compactMap { if case .event(let event) = $0.content { event } else { nil } }
  }

  /// The first and the second half, for bisecting.
  var halves: (Batch, Batch) {
    let middle = items.count / 2
    return (
      Batch(topic: topic, items: Array(items[..<middle])),
      Batch(topic: topic, items: Array(items[middle...]), reach: reach)
    )
  }

  /// The batch with its events turned into poison.
  func deadLettering(_ message: String, attempts: Int) -> Batch {
    var batch = self
    for index in batch.items.indices where !batch.items[index].isPoison {
      batch.items[index].content = .poison(
        DeadLetterReason(code: "not-applicable", message: message, attempts: attempts))
    }
    return batch
  }

  /// The offset after the last record of each partition, or how far the batch reaches.
  var nextOffsets: [TopicPartition: Int64] {
    var result: [TopicPartition: Int64] = [:]
    for item in items { result[item.record.topicPartition] = item.record.offset + 1 }
    result.merge(reach) { max($0, $1) }
    return result
  }

  /// Applies the batch whole, or bisects it until the poison is alone and dead-lettered.
  ///
  /// - Parameter commit: applies one batch in one transaction; throws `Poison` when an event of it
  ///   cannot be applied.
  func apply(attempts: Int = 0, committing commit: (Batch) throws -> Void) throws {
    guard !items.isEmpty || !reach.isEmpty else { return }
    do {
      try commit(self)
    } catch let poison as Poison {
      if events.count > 1 {
        let (first, second) = halves
        try first.apply(committing: commit)
        try second.apply(committing: commit)
      } else if attempts == 0 {
        // A concurrent transaction can make an innocent event violate a constraint once.
        try apply(attempts: 1, committing: commit)
      } else {
        try deadLettering(poison.reason, attempts: attempts + 1).apply(committing: commit)
      }
    }
  }
}

/// Why a record is dead-lettered.
struct DeadLetterReason: Equatable {
  /// Stable, for metrics and filters: an `EventError`'s code, or `not-applicable`.
  var code: String
  /// For a person.
  var message: String
  /// How often it was tried.
  var attempts = 1
}

/// Decodes a record; what cannot be decoded is poison with its reason.
func decode(_ record: Record, topic: Topic, now: EventTime) -> Batch.Item {
  let wire = WireRecord(
    key: record.key, value: record.value,
    headers: record.headers.map { WireRecord.Header($0.name, $0.value) })
  do throws(EventError) {
    let event = try EventCodec.decode(wire, topic: topic, now: now)
    return Batch.Item(record: record, content: .event(event))
  } catch {
    let reason = DeadLetterReason(code: error.code.rawValue, message: error.message)
    return Batch.Item(record: record, content: .poison(reason))
  }
}
