import Events
import Kafka
import Logging

/// What metrics and the log say about the partitions of a lane.
extension Lane {
  /// Partitions that are this lane's now.
  func note(_ claimed: [TopicPartition: Ownership]) {
    let now = EventTime.now.microseconds / 1000
    for partition in claimed.keys { upkeep.lagClock.start(partition, nowMilliseconds: now) }
    let summary = claimed.sorted { $0.key < $1.key }.map { "\($0.key)@\($0.value.nextOffset)" }
    logger.info("assigned", metadata: ["partitions": "\(summary.joined(separator: " "))"])
  }

  /// A partition that is not ours any more.
  func forget(_ partition: TopicPartition) {
    upkeep.offsetsToReport[partition] = nil
    upkeep.lagClock.forget(partition)
    metrics.remove(.lag, labels(partition))
    metrics.remove(.lagSeconds, labels(partition))
    if partition == sizingPartition { metrics.remove(.databaseSize, []) }
  }

  func labels(_ partition: TopicPartition) -> [String] {
    [partition.topic, "\(partition.partition)"]
  }

  /// The one whose owner tells how large the database is.
  var sizingPartition: TopicPartition {
    TopicPartition(topic: topics.keys.min() ?? "", partition: 0)
  }
}
