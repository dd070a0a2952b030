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

  /// The offsets at which to start reading. Where the log holds the last applied record, it is read
  /// again, to detect a recreated topic; it is not applied again.
  ///
  /// If the brokers do not respond within two seconds, the log is assumed to hold the record. Reading it reports the
  /// error if it does not; from then on, that partition is read from its stored offset.
  func beginning(_ starts: [TopicPartition: Int64]) -> [TopicPartition: Int64] {
    var comparable: [TopicPartition: Int64] = [:]
    for partition in starts.keys {
      guard let last = recognition.start(of: partition) else { continue }
      if uncomparable[partition] == last {
        recognition.forget(partition)
      } else {
        comparable[partition] = last
      }
    }
    guard !comparable.isEmpty else { return starts }
    let logs =
      consumer?.availableWatermarks(comparable.keys.sorted(), timeoutMilliseconds: 2_000) ?? [:]
    var result = starts
    for (partition, last) in comparable {
      if let log = logs[partition], last < log.low || last >= log.high {
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
