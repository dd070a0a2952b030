import Events
import Kafka
import Logging

/// Metrics and logs about the partitions of a lane.
extension Lane {
  /// Starts tracking claimed partitions.
  func note(_ claimed: [TopicPartition: Ownership]) {
    let now = EventTime.now.microseconds / 1000
    upkeep.nextFullReport = .now
    for partition in claimed.keys {
      upkeep.lagClock.start(partition, nowMilliseconds: now)
      if settings.handler.due != nil, isFirstTopic(partition) || isNeededForDue(partition) {
        upkeep.catchingUp.insert(partition)
        upkeep.ends[partition] = nil
      }
    }
    let summary = claimed.sorted { $0.key < $1.key }.map { "\($0.key)@\($0.value.nextOffset)" }
    logger.info("assigned", metadata: ["partitions": "\(summary.joined(separator: " "))"])
  }

  /// The offsets at which to start reading: those of the last applied records, to detect a recreated topic. They are not
  /// applied again. A partition whose last applied record is deleted is read from its stored offset.
  ///
  /// If the brokers do not respond within two seconds, the record is assumed not to be deleted. Reading it reports the
  /// error if it is. A log that ends before it is read from there, too: when it has grown, it is compared.
  func beginning(_ starts: [TopicPartition: Int64]) -> [TopicPartition: Int64] {
    for (partition, last) in uncomparable
    where starts[partition] != nil && recognition.start(of: partition) == last {
      recognition.forget(partition)
    }
    let comparable = starts.keys.filter { recognition.start(of: $0) != nil }.sorted()
    guard !comparable.isEmpty else { return starts }
    return beginning(
      starts, in: consumer?.availableWatermarks(comparable, timeoutMilliseconds: 2_000) ?? [:])
  }

  /// The same, with the bounds of the logs whose brokers have responded.
  func beginning(
    _ starts: [TopicPartition: Int64], in logs: [TopicPartition: Watermarks]
  ) -> [TopicPartition: Int64] {
    var result = starts
    for partition in starts.keys {
      guard let last = recognition.start(of: partition) else { continue }
      if let log = logs[partition], last < log.low {
        recognition.forget(partition)
      } else {
        result[partition] = last
      }
    }
    return result
  }

  /// Stops tracking a revoked partition.
  func forget(_ partition: TopicPartition) {
    recognition.forget(partition)
    upkeep.offsetsToReport[partition] = nil
    upkeep.lagClock.forget(partition)
    upkeep.catchingUp.remove(partition)
    metrics.remove(.lag, labels(partition))
    metrics.remove(.lagSeconds, labels(partition))
    if partition == sizingPartition { metrics.remove(.databaseSize, []) }
  }

  func labels(_ partition: TopicPartition) -> [String] {
    [partition.topic, "\(partition.partition)"]
  }

  /// The partition whose owner reports the size of the database.
  var sizingPartition: TopicPartition {
    TopicPartition(topic: topics.keys.min() ?? "", partition: 0)
  }
}
