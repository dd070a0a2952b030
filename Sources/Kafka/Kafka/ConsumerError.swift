import CRDKafka

/// Why `Consumer.poll` failed.
public enum ConsumerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The requested offset is not in the log: records were deleted before they were read, or the
  /// topic was recreated. `low` and `high` are nil if the broker did not report them in time.
  case offsetOutOfRange(TopicPartition, offset: Int64, low: Int64?, high: Int64?)
  /// A subscribed topic does not exist according to the broker that was asked, which says the same of a topic that the
  /// user may not `Describe`. Polling checks again and continues once it exists.
  case unknownTopic(String)
  /// The consumer did not poll for `max.poll.interval.ms`; its partitions were reassigned. The next
  /// poll rejoins the group.
  case maxPollExceeded(KafkaError)
  /// The consumer is unusable, or does not read one of its partitions any more: close it and create a new one.
  case fatal(KafkaError)
  /// A batch has a wrong checksum, or a format or compression that librdkafka does not know. Polling again might skip its
  /// records: close the consumer.
  case unreadable(KafkaError)
  /// Any other error. If `isRetriable`, librdkafka is already retrying: poll again.
  case other(KafkaError)

  /// Whether to poll again.
  public var isRetriable: Bool {
    switch self {
    case .maxPollExceeded, .unknownTopic: true
    case .other(let error): error.isRetriable
    case .offsetOutOfRange, .fatal, .unreadable: false
    }
  }

  public var description: String {
    switch self {
    case .offsetOutOfRange(let partition, let offset, let low?, let high?):
      "\(partition): offset \(offset) is not in the log, which holds \(low) up to \(high)"
    case .offsetOutOfRange(let partition, let offset, _, _):
      "\(partition): offset \(offset) is not in the log (the broker did not report its bounds)"
    case .unknownTopic(let topic):
      "topic \(topic) does not exist, or the Kafka user may not Describe it; `magpie topics` creates it"
    case .maxPollExceeded(let error):
      "max.poll.interval.ms exceeded, the group revoked the partitions: \(error)"
    case .fatal(let error): "fatal: \(error)"
    case .unreadable(let error): "a batch cannot be read: \(error)"
    case .other(let error): "\(error)"
    }
  }
}

extension Client {
  /// Translates a message that reports an error.
  func consumerError(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> ConsumerError {
    let code = message.pointee.err
    let reason = rd_kafka_message_errstr(message).map { String(cString: $0) }
    let topic = message.pointee.rkt.map { String(cString: rd_kafka_topic_name($0)) }
    switch code {
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
      // A truncation that the leader epochs revealed; it has no offset. The partition is not read any more.
      guard message.pointee.offset >= 0 else { return .fatal(error(code, reason)) }
      guard let topic else { return .other(error(code, reason)) }
      let partition = TopicPartition(topic: topic, partition: message.pointee.partition)
      let log = try? watermarks(partition, timeoutMilliseconds: 5_000)
      return .offsetOutOfRange(
        partition, offset: message.pointee.offset, low: log?.low, high: log?.high)
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
      RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return .unknownTopic(topic ?? reason ?? "?")
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
      return .maxPollExceeded(error(code, reason))
    // After a wrong checksum, librdkafka may go on at a wrong offset.
    case RD_KAFKA_RESP_ERR__BAD_MSG, RD_KAFKA_RESP_ERR__BAD_COMPRESSION,
      RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED:
      let place = "\(topic ?? "?")[\(message.pointee.partition)]"
      return .unreadable(error(code, "\(place): \(reason ?? "?")"))
    case RD_KAFKA_RESP_ERR__FATAL:
      return .fatal(error(code, reason))
    default:
      return .other(error(code, reason))
    }
  }
}
