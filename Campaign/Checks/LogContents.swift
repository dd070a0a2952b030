import Events
import Kafka
import Model
import RecordLog

/// Everything that is in the log after a round, and what must have become of it.
struct LogContents {
  /// A record as one group has to deal with it.
  struct Place: Hashable, Comparable, CustomStringConvertible {
    var group: String
    var partition: TopicPartition
    var offset: Int64

    static func < (left: Self, right: Self) -> Bool {
      (left.group, left.partition, left.offset) < (right.group, right.partition, right.offset)
    }

    var description: String { "\(group) \(partition)@\(offset)" }
  }

  private(set) var records: [TopicPartition: [Record]] = [:]
  private(set) var events: [TopicPartition: [Event]] = [:]
  /// What each group must have applied.
  private(set) var models: [ConsumerGroup: Model] = [:]
  /// What each group must have dead-lettered.
  private(set) var poison: Set<Place> = []
  private(set) var eventCount = 0

  init(_ world: World) throws {
    let log = try KafkaLog(configuration: world.kafka)
    let spans = try log.spans(of: Topic.allCases.map { $0.name(prefix: world.topicPrefix) })
    if let lost = spans.first(where: { $0.value.lowerBound > 0 }) {
      throw CampaignError(
        "\(lost.key) begins at offset \(lost.value.lowerBound): the embedded broker keeps 5 MiB of "
          + "it. Produce less: a lower --rate, or fewer --minutes in a round.")
    }
    for group in ConsumerGroup.allCases { models[group] = Model() }
    let now = EventTime.now
    try log.read(spans, maxRecords: 1000) { batch in
      guard let topic = Topic(name: batch.topic, prefix: world.topicPrefix) else { return }
      for record in batch.records { add(record, topic, now: now, prefix: world.topicPrefix) }
    }
  }

  private mutating func add(_ record: Record, _ topic: Topic, now: EventTime, prefix: String) {
    records[record.topicPartition, default: []].append(record)
    let wire = WireRecord(
      key: record.key, value: record.value,
      headers: record.headers.map { WireRecord.Header($0.name, $0.value) })
    let event = try? EventCodec.decode(wire, topic: topic, now: now)
    if let event {
      events[record.topicPartition, default: []].append(event)
      eventCount += 1
    }
    let refusing = event.map { Poison.refusing($0) } ?? ConsumerGroup.allCases
    for group in ConsumerGroup.reading(topic) {
      if let event, !refusing.contains(group) {
        models[group]?.apply(event)
      } else {
        poison.insert(
          Place(
            group: group.name(prefix: prefix), partition: record.topicPartition,
            offset: record.offset))
      }
    }
  }

  /// Acknowledged records that the log does not hold where the broker said they are, or anywhere where
  /// it did not say: it does not when it recognizes a record that was sent again.
  func missing(_ acknowledged: [Load.Acknowledged]) -> [Load.Acknowledged] {
    acknowledged.filter { sent in
      let records = records[sent.partition] ?? []
      let isSent = { (record: Record) in
        record.key == sent.record.key && record.value == sent.record.value
      }
      guard sent.offset >= 0 else { return !records.contains(where: isSent) }
      return !records.dropFirst(Int(sent.offset)).prefix(1).contains {
        $0.offset == sent.offset && isSent($0)
      }
    }
  }
}
