import CRDKafka

/// Why `Consumer.poll` failed.
public enum ConsumerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The position asked for is not in the log: records were deleted before they were read (or the
  /// topic was made anew). `low` and `high` are nil when the broker did not tell in time.
  case offsetOutOfRange(TopicPartition, offset: Int64, low: Int64?, high: Int64?)
  /// A subscribed topic does not exist, as far as the broker knows that was asked. Polling again
  /// asks again, and goes on once it does.
  case unknownTopic(String)
  /// The lane did not poll for `max.poll.interval.ms`; its partitions were given to others. The
  /// next poll joins again.
  case maxPollExceeded(KafkaError)
  /// The consumer can do nothing more: close it and create another.
  case fatal(KafkaError)
  /// Anything else. When `isRetriable`, librdkafka is at it already: poll again.
  case other(KafkaError)

  /// Whether polling again is the right answer.
  public var isRetriable: Bool {
    switch self {
    case .maxPollExceeded, .unknownTopic: true
    case .other(let error): error.isRetriable
    case .offsetOutOfRange, .fatal: false
    }
  }

  public var description: String {
    switch self {
    case .offsetOutOfRange(let partition, let offset, let low?, let high?):
      "\(partition): offset \(offset) is not in the log, which holds \(low) up to \(high)"
    case .offsetOutOfRange(let partition, let offset, _, _):
      "\(partition): offset \(offset) is not in the log (its bounds could not be asked)"
    case .unknownTopic(let topic):
      "topic \(topic) does not exist; create it with `magpie topics`"
    case .maxPollExceeded(let error):
      "polled too rarely, the group took the partitions away: \(error)"
    case .fatal(let error): "fatal: \(error)"
    case .other(let error): "\(error)"
    }
  }
}

extension Client {
  /// What a message that is an error means.
  func consumerError(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> ConsumerError {
    let code = message.pointee.err
    let reason = rd_kafka_message_errstr(message).map { String(cString: $0) }
    let topic = message.pointee.rkt.map { String(cString: rd_kafka_topic_name($0)) }
    switch code {
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
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
    case RD_KAFKA_RESP_ERR__FATAL:
      return .fatal(error(code, reason))
    default:
      return .other(error(code, reason))
    }
  }
}
