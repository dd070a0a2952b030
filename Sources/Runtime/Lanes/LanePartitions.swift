import Events
import Kafka
import Logging

/// What metrics and the log say about the partitions of a lane.
extension Lane {
  /// Partitions that are this lane's now.
  func note(_ claimed: [TopicPartition: Ownership]) {
    let now = EventTime.now.microseconds / 1000
    upkeep.nextFullReport = .now
    for partition in claimed.keys { upkeep.lagClock.start(partition, nowMilliseconds: now) }
    let summary = claimed.sorted { $0.key < $1.key }.map { "\($0.key)@\($0.value.nextOffset)" }
    logger.info("assigned", metadata: ["partitions": "\(summary.joined(separator: " "))"])
  }

  /// Where to begin reading: with the last record applied, where the log holds it, so that the log
  /// can be recognized; it is not applied again.
  ///
  /// Whoever does not answer within two seconds in all is taken to hold it. It shows when it is read.
  func beginning(_ starts: [TopicPartition: Int64]) -> [TopicPartition: Int64] {
    let deadline = ContinuousClock.now + .seconds(2)
    var result = starts
    for partition in starts.keys.sorted() {
      guard let last = recognition.start(of: partition) else { continue }
      let left = Int((deadline - .now) / .milliseconds(1))
      if left > 0,
        let log = try? consumer?.watermarks(partition, timeoutMilliseconds: left),
        last < log.low || last >= log.high
      {
        recognition.forget(partition)
      } else {
        result[partition] = last
      }
    }
    return result
  }

  /// A partition that is not ours any more.
  func forget(_ partition: TopicPartition) {
    recognition.forget(partition)
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
