import Kafka

/// Classifies any error of a lane, including those of its consumer.
func disposition(of error: any Error, group: String) -> Disposition {
  if let another = error as? AnotherLog { return .stop(.anotherLog(another, group: group)) }
  guard let error = error as? ConsumerError else { return disposition(of: error) }
  switch error {
  case .offsetOutOfRange(let partition, let offset, let low, let high):
    let log: Watermarks? = if let low, let high { Watermarks(low: low, high: high) } else { nil }
    return .stop(
      WorkerStopped(
        reason: "\(error)", nextStep: nextStep(beyond: partition, at: offset, log, group: group)))
  // It may not exist yet, or its metadata may not have reached every broker.
  case .unknownTopic:
    return .retry(reason: "topic")
  case .unreadable:
    return .stop(.unreadableBatch("\(error)"))
  // The consumer is unusable: join the group with a new one.
  case .fatal:
    return .fenced
  case .maxPollExceeded, .other:
    if error.isRetriable { return .retry(reason: "kafka") }
    return .stop(
      WorkerStopped(
        reason: "\(error)",
        nextStep: "Check the Kafka address, the security properties and ACLs."))
  }
}

/// Going on would skip records or apply records of another log, so an operator decides.
private func nextStep(
  beyond partition: TopicPartition, at offset: Int64, _ log: Watermarks?, group: String
) -> String {
  guard let log else {
    return
      "Either records were deleted before they were applied, or it is another log than the one "
      + "applied so far: `magpie lag` tells where the log begins and ends once its leader answers. "
      + "docs/operations/log-truncated-past-our-offset.md says what to do in either case."
  }
  let isTruncated = offset < log.low
  let found =
    isTruncated
    ? "Records between \(offset) and \(log.low) were deleted before they were applied. "
    : "The log ends at \(log.high): it is another log than the one applied so far. "
  return found + toStart(of: partition, group: group)
    + (isTruncated ? " --skip-records \(log.low - offset)" : "")
}

extension WorkerStopped {
  /// A batch cannot be read: ``ConsumerError/unreadable(_:)``.
  package static func unreadableBatch(_ reason: String) -> WorkerStopped {
    WorkerStopped(
      reason: reason,
      nextStep:
        "Nothing was skipped. If it happens again after a restart, the batch is damaged where its partition's "
        + "leader keeps it, or this librdkafka does not know its compression: make another replica the leader, or "
        + "install a librdkafka that knows it.")
  }

  fileprivate static func anotherLog(_ another: AnotherLog, group: String) -> WorkerStopped {
    WorkerStopped(
      reason: "\(another)",
      nextStep:
        "The topic was recreated, or this is another cluster: records of this log that were "
        + "never applied would be taken for applied. "
        + toStart(of: another.partition, group: group))
  }
}

private func toStart(of partition: TopicPartition, group: String) -> String {
  "docs/operations/log-truncated-past-our-offset.md says what that means. To go on "
    + "all the same: magpie offsets reset --group \(group) --topic "
    + "\(partition.topic) --partition \(partition.partition) --to-start"
}
