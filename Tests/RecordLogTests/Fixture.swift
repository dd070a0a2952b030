import Kafka
import RecordLog
import TestSupport

/// A broker per test, so that tests neither wait for nor disturb each other.
struct Fixture {
  let broker: EmbeddedBroker
  let producer: Producer

  init(topics: [String: Int]) throws {
    broker = try EmbeddedBroker()
    for (topic, partitions) in topics { try broker.createTopic(topic, partitions: partitions) }
    var configuration = Fixture.quiet(broker)
    // Without compression, records take up their full size in the broker.
    configuration.properties = ["compression.type": "none"]
    producer = try Producer(configuration: configuration)
  }

  /// - Parameter prefetching: without it, a fetch is sent only after the records of the one before
  ///   are read, so that a partition of several MiB is not in memory as a whole.
  func log(stallSecondsMax: Int = Int(hangLimitSeconds), prefetching: Bool = true) throws
    -> KafkaLog
  {
    var configuration = Fixture.quiet(broker)
    if !prefetching { configuration.properties["queued.max.messages.kbytes"] = "1" }
    return try KafkaLog(configuration: configuration, stallSecondsMax: stallSecondsMax)
  }

  /// Produces records and returns them as they will be consumed.
  @discardableResult
  func fill(_ topic: String, _ partition: Int32, _ count: Int, bytes: Int = 3) throws -> [Record] {
    let start = 1_700_000_000_000 as Int64
    let keys: [[UInt8]?] = [nil, [], [7]]
    let sent = (0..<count).map { (index: Int) -> OutgoingRecord in
      OutgoingRecord(
        topic: topic, partition: partition, key: keys[index % 3],
        value: index % 5 == 0 ? nil : [UInt8](repeating: UInt8(index % 251), count: bytes),
        headers: index % 2 == 0 ? [] : [Header(name: "a", value: nil), Header("b", "")],
        timestampMilliseconds: start + Int64(index) * 1_000)
    }
    let deliveries = try producer.send(sent)
    return zip(sent, deliveries).map { record, delivery in
      Record(
        topic: topic, partition: partition, offset: delivery.offset,
        timestampMilliseconds: record.timestampMilliseconds ?? 0, key: record.key,
        value: record.value, headers: record.headers)
    }
  }

  private static func quiet(_ broker: EmbeddedBroker) -> ClientConfiguration {
    ClientConfiguration(
      bootstrap: broker.bootstrap, properties: ["fetch.wait.max.ms": "10"], log: { _, _, _ in })
  }
}

extension RecordLog {
  /// All records in the spans, by partition.
  func all(_ spans: [TopicPartition: Range<Int64>], maxRecords: Int = 100) throws
    -> [TopicPartition: [Record]]
  {
    var result: [TopicPartition: [Record]] = [:]
    try read(spans, maxRecords: maxRecords) { batch in
      for record in batch.records { result[record.topicPartition, default: []].append(record) }
    }
    return result
  }
}

func place(_ topic: String, _ partition: Int32) -> TopicPartition {
  TopicPartition(topic: topic, partition: partition)
}
