import Events
import Kafka

extension LagReport {
  /// How far the archive is, as it reports to Kafka; empty where there never was one. It holds up
  /// nobody, so that it is no part of the total.
  func archive(_ admin: Admin, prefix: String, timeoutMilliseconds: Int) throws -> [Partition] {
    let group = ConsumerGroup.archive(prefix: prefix)
    var logs: [TopicPartition: Watermarks?] = [:]
    for partition in partitions {
      let place = TopicPartition(topic: partition.topic, partition: partition.partition)
      logs[place] = .some(partition.log)
    }
    let offsets = try admin.committedOffsets(
      group: group, logs.keys.sorted(), timeoutMilliseconds: timeoutMilliseconds)
    guard !offsets.isEmpty else { return [] }
    return logs.sorted { $0.key < $1.key }.map { place, log in
      Partition(group: group, place, nextOffset: offsets[place], log)
    }
  }
}
