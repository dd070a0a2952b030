import Events
import Kafka
import Logging

extension Lane {
  /// Runs inside poll. Answers where to start in newly assigned partitions: at the offsets in
  /// PostgreSQL, of which this lane becomes the owner.
  func rebalance(_ event: RebalanceEvent) throws -> [TopicPartition: Int64] {
    switch event {
    case .assigned(let partitions):
      metrics.increment(.rebalances)
      // Nothing to do may mean more lanes than partitions; or that the topics were deleted.
      if partitions.isEmpty { try consumer?.checkTopics() }
      let claimed = try retrying { try claim(partitions) }
      owned.merge(claimed) { $1 }
      for partition in claimed.keys {
        upkeep.lagClock.start(partition, nowMilliseconds: EventTime.now.microseconds / 1000)
      }
      logger.info("assigned", metadata: ["partitions": "\(summary(claimed))"])
      return claimed.mapValues(\.nextOffset)
    case .revoked(let partitions), .lost(let partitions):
      forget(partitions)
      return [:]
    }
  }

  /// Forgets partitions that are not ours any more, with their metrics.
  func forget(_ partitions: [TopicPartition]) {
    for partition in partitions {
      owned[partition] = nil
      upkeep.offsetsToReport[partition] = nil
      forgetMetrics(of: partition)
    }
  }

  private func claim(_ partitions: [TopicPartition]) throws -> [TopicPartition: Ownership] {
    // A group that never consumed a partition starts at the first record there is.
    let known = try store.stored(partitions)
    var starts = known.mapValues(\.nextOffset)
    for partition in partitions where starts[partition] == nil {
      starts[partition] = try consumer?.watermarks(partition).low
    }
    return try store.claim(starts)
  }

  /// Decides about an error of the consumer: returns when polling again is right.
  func resolve(_ error: ConsumerError) throws {
    status.isReady = false
    switch error {
    case .offsetOutOfRange(let partition, let offset, let low, let high):
      throw WorkerStopped(
        reason: "\(error)",
        nextStep: nextStep(
          beyond: partition, at: offset, Watermarks(low: low ?? 0, high: high ?? 0)))
    case .unknownTopic(let topic):
      throw WorkerStopped(
        reason: "topic \(topic) does not exist", nextStep: "Create the topics: magpie topics")
    case .fatal(let error):
      logger.error("joining the consumer group again", metadata: ["error": "\(error)"])
      throw Fenced()
    case .maxPollExceeded(let problem), .other(let problem):
      guard error.isRetriable else {
        throw WorkerStopped(
          reason: "\(error)", nextStep: "Check the Kafka address, the security properties and ACLs."
        )
      }
      logger.warning("polling again", metadata: ["error": "\(problem)"])
    }
  }

  /// Either way records would be skipped or applied unseen: which is for a person to decide.
  private func nextStep(beyond partition: TopicPartition, at offset: Int64, _ log: Watermarks)
    -> String
  {
    let isTruncated = offset < log.low
    let found =
      isTruncated
      ? "Records between \(offset) and \(log.low) were deleted before they were applied. "
      : "The log ends at \(log.high): it is another log than the one applied so far. "
    return found
      + "docs/operations/log-truncated-past-our-offset.md says what that means. To go on "
      + "all the same: magpie offsets reset --group \(settings.consumerGroup) --topic "
      + "\(partition.topic) --partition \(partition.partition) --to-start"
      + (isTruncated ? " --skip-records \(log.low - offset)" : "")
  }

  func labels(_ partition: TopicPartition) -> [String] {
    [partition.topic, "\(partition.partition)"]
  }

  private func summary(_ owned: [TopicPartition: Ownership]) -> String {
    owned.sorted { $0.key < $1.key }.map { "\($0.key)@\($0.value.nextOffset)" }
      .joined(separator: " ")
  }
}
