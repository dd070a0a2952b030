import Events
import Kafka

extension LagReport {
  /// How far the archive is, as it reports to Kafka; empty where there never was one. It holds up
  /// nobody, so that it is no part of the total.
  func archive(_ admin: Admin, prefix: String) throws -> [Partition] {
    let group = ConsumerGroup.archive(prefix: prefix)
    var logs: [TopicPartition: Partition] = [:]
    for partition in partitions {
      logs[TopicPartition(topic: partition.topic, partition: partition.partition)] = partition
    }
    let offsets = try admin.committedOffsets(group: group, logs.keys.sorted())
    guard !offsets.isEmpty else { return [] }
    return logs.sorted { $0.key < $1.key }.map { place, log in
      Partition(
        group: group, topic: place.topic, partition: place.partition, nextOffset: offsets[place],
        lowWatermark: log.lowWatermark, highWatermark: log.highWatermark,
        lag: max(0, log.highWatermark - (offsets[place] ?? log.lowWatermark)))
    }
  }
}
