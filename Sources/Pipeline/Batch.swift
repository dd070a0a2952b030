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

  var events: [Event] {
    items.compactMap { if case .event(let event) = $0.content { event } else { nil } }
  }

  /// The first and the second half, for bisecting.
  var halves: (Batch, Batch) {
    let middle = items.count / 2
    return (
      Batch(topic: topic, items: Array(items[..<middle])),
      Batch(topic: topic, items: Array(items[middle...]))
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

  /// The offset after the last record of each partition.
  var nextOffsets: [TopicPartition: Int64] {
    var result: [TopicPartition: Int64] = [:]
    for item in items { result[item.record.topicPartition] = item.record.offset + 1 }
    return result
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
