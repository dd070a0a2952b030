import Events
import Kafka
import RecordLog
import Synchronization

/// An in-memory log, shared by several threads.
final class MemoryLog: RecordLog, Sendable {
  let prefix = "test."
  private let partitions: Int32
  private let records = Mutex<[TopicPartition: [Record]]>([:])

  init(partitions: Int32 = 2) {
    self.partitions = partitions
    records.withLock { records in
      for topic in Topic.allCases {
        for partition in 0..<partitions {
          records[TopicPartition(topic: topic.name(prefix: prefix), partition: partition)] = []
        }
      }
    }
  }

  func append(_ events: some Sequence<Event>) throws {
    let encoded = try events.map { ($0, try EventCodec.encode($0)) }
    records.withLock { records in
      for (event, wire) in encoded {
        let number = Int32(event.key.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF })
        append(event.topic, number % partitions, wire, &records)
      }
    }
  }

  func append(_ wire: WireRecord, to topic: Topic) {
    records.withLock { append(topic, 0, wire, &$0) }
  }

  private func append(
    _ topic: Topic, _ partition: Int32, _ wire: WireRecord,
    _ records: inout [TopicPartition: [Record]]
  ) {
    let place = TopicPartition(topic: topic.name(prefix: prefix), partition: partition)
    let count = records[place]?.count ?? 0
    records[place, default: []].append(
      Record(
        topic: place.topic, partition: partition, offset: Int64(count),
        timestampMilliseconds: 1, wire: wire))
  }

  func spans(of topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    records.withLock { records in
      records.filter { topics.contains($0.key.topic) }.mapValues { 0..<Int64($0.count) }
    }
  }

  func read(
    _ spans: [TopicPartition: Range<Int64>], maxRecords: Int, _ body: (RecordBatch) throws -> Void
  ) throws {
    for (place, span) in spans.sorted(by: { $0.key < $1.key }) {
      var next = span.lowerBound
      while next < span.upperBound {
        let end = min(next + Int64(maxRecords), span.upperBound)
        let page = records.withLock { Array(($0[place] ?? [])[Int(next)..<Int(end)]) }
        next = end
        try body(RecordBatch(topic: place.topic, records: page, nextOffsets: [place: end]))
      }
    }
  }
}

/// The same log as an archive from which people are erased, with what has arrived since, but for requests.
struct ErasedLog: RecordLog {
  var log: MemoryLog
  /// The erased records.
  var archived: [TopicPartition: Range<Int64>]
  var erasures: [BytewiseString: PersonErasure]

  func spans(of topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    try log.spans(of: topics)
  }

  func read(
    _ spans: [TopicPartition: Range<Int64>], maxRecords: Int, _ body: (RecordBatch) throws -> Void
  ) throws {
    try log.read(spans, maxRecords: maxRecords) { batch in
      let records = batch.records.compactMap { record -> Record? in
        let topic = Topic(name: record.topic, prefix: log.prefix)
        let isArchived = archived[record.topicPartition]?.contains(record.offset) ?? false
        guard isArchived || topic == .erasures else { return record }
        let left = RecordForgetting(record.wire, topic: topic, time: nil).remainder {
          erasures[.init($0)]
        }
        guard let left else { return record }
        var record = record
        record.wire = left
        return left.isErased ? nil : record
      }
      try body(
        RecordBatch(topic: batch.topic, records: records, nextOffsets: batch.nextOffsets))
    }
  }
}

/// The same log without its beginning, as after retention.
struct ForgetfulLog: RecordLog {
  var log: MemoryLog

  func spans(of topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    try log.spans(of: topics).mapValues { min($0.upperBound, 3)..<$0.upperBound }
  }

  func read(
    _ spans: [TopicPartition: Range<Int64>], maxRecords: Int, _ body: (RecordBatch) throws -> Void
  ) throws {
    try log.read(spans, maxRecords: maxRecords, body)
  }
}

extension RecordLog {
  /// The logs of these tests have no times.
  func offsets(at: Int64, in spans: [TopicPartition: Range<Int64>]) -> [TopicPartition: Int64] {
    spans.mapValues(\.lowerBound)
  }
}
