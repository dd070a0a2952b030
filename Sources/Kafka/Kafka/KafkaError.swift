import CRDKafka

/// An error reported by librdkafka, or by a broker through librdkafka.
public struct KafkaError: Error, Sendable, Equatable, CustomStringConvertible {
  /// librdkafka's `rd_kafka_resp_err_t`: negative for local errors, positive for brokers' errors.
  public struct Code: RawRepresentable, Sendable, Hashable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The local queue is full: wait for deliveries, then send again.
    public static let queueFull = Code(RD_KAFKA_RESP_ERR__QUEUE_FULL)
    /// A local request was not answered in time.
    public static let timedOut = Code(RD_KAFKA_RESP_ERR__TIMED_OUT)
    /// A record was not acknowledged within `message.timeout.ms`. It may have been written.
    public static let messageTimedOut = Code(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
    /// Removed from the local queue by `Producer.close`.
    public static let purgedFromQueue = Code(RD_KAFKA_RESP_ERR__PURGE_QUEUE)
    /// Abandoned by `Producer.close` after it was sent. It may have been written.
    public static let purgedInFlight = Code(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
    /// No broker is reachable.
    public static let allBrokersDown = Code(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
    /// A connection failed.
    public static let transport = Code(RD_KAFKA_RESP_ERR__TRANSPORT)
    /// A broker refused the login (SASL).
    public static let authenticationFailed = Code(RD_KAFKA_RESP_ERR__AUTHENTICATION)
    /// A certificate was rejected, by this side or by the broker.
    public static let tls = Code(RD_KAFKA_RESP_ERR__SSL)
    /// The topic or partition does not exist on the broker, or the user may not `Describe` the topic.
    public static let unknownTopicOrPartition = Code(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
    /// The topic does not exist, detected locally.
    public static let unknownTopic = Code(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
    /// The partition does not exist, detected locally.
    public static let unknownPartition = Code(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
    /// The record is larger than the client's `message.max.bytes`, or it or its batch is larger than
    /// the topic's `max.message.bytes`.
    public static let recordTooLarge = Code(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
    /// The broker does not support the request.
    public static let unsupported = Code(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE)
    /// Access to the topic is denied.
    public static let topicAuthorizationFailed = Code(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
    /// The broker has lost the sequence of an idempotent producer, for example in an unclean election.
    public static let outOfOrderSequence = Code(RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER)
    /// The broker does not know the idempotent producer any more.
    public static let unknownProducer = Code(RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID)
    /// The idempotent producer's epoch is outdated.
    public static let invalidProducerEpoch = Code(RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH)
    /// The client was closed.
    public static let closed = Code(RD_KAFKA_RESP_ERR__DESTROY)
    /// A configuration property or argument is wrong.
    public static let invalidArgument = Code(RD_KAFKA_RESP_ERR__INVALID_ARG)

    init(_ code: rd_kafka_resp_err_t) { rawValue = code.rawValue }
  }

  public let code: Code
  /// The code's symbolic name, such as `_QUEUE_FULL`: stable, suitable as a metric label.
  public let name: String
  /// A message for people.
  public let message: String
  /// The client is unusable: close it and create a new one.
  public let isFatal: Bool
  /// The same call may succeed later.
  public let isRetriable: Bool
  /// The bootstrap addresses of the client that failed; empty when no client was involved.
  public let bootstrap: String
  /// For a record that was not acknowledged: whether it may be in the log nevertheless. False if it
  /// was never sent or the broker reported that it was not written.
  public internal(set) var mayHaveBeenWritten = false

  public var description: String {
    let at = bootstrap.isEmpty ? "" : " (Kafka at \(bootstrap))"
    return "\(name): \(message)\(at)"
  }

  init(
    _ code: rd_kafka_resp_err_t, _ message: String? = nil, bootstrap: String = "",
    isFatal: Bool = false, isRetriable: Bool? = nil
  ) {
    self.code = Code(code)
    name = String(cString: rd_kafka_err2name(code))
    self.message = message ?? String(cString: rd_kafka_err2str(code))
    self.isFatal = isFatal
    self.isRetriable = !isFatal && (isRetriable ?? KafkaError.isTransient(code))
    self.bootstrap = bootstrap
  }

  /// Takes ownership of an `rd_kafka_error_t`.
  init(consuming error: OpaquePointer, bootstrap: String = "") {
    defer { rd_kafka_error_destroy(error) }
    let code = rd_kafka_error_code(error)
    self.init(
      code, String(cString: rd_kafka_error_string(error)), bootstrap: bootstrap,
      isFatal: rd_kafka_error_is_fatal(error) != 0,
      isRetriable: rd_kafka_error_is_retriable(error) != 0 || KafkaError.isTransient(code))
  }

  /// Whether a broker denies this client a right, on a topic, a group or the cluster.
  public var isDenied: Bool {
    switch rd_kafka_resp_err_t(rawValue: code.rawValue) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      true
    default:
      false
    }
  }

  /// The same error with its likely cause in the message: a request may have timed out because a
  /// broker refuses this client. Code and retriability stay the same, because the broker in
  /// question may be a different one that is down.
  func explained(by refusal: Refusal?) -> KafkaError {
    guard isRetriable, let refusal else { return self }
    var explained = KafkaError(
      rd_kafka_resp_err_t(rawValue: code.rawValue), "\(message); \(refusal.message)",
      bootstrap: bootstrap, isRetriable: isRetriable)
    explained.mayHaveBeenWritten = mayHaveBeenWritten
    return explained
  }

  /// The same error, marked as retriable.
  var asRetriable: KafkaError {
    var retriable = KafkaError(
      rd_kafka_resp_err_t(rawValue: code.rawValue), message, bootstrap: bootstrap,
      isRetriable: true)
    retriable.mayHaveBeenWritten = mayHaveBeenWritten
    return retriable
  }

  static func closed(_ what: String, bootstrap: String) -> KafkaError {
    KafkaError(RD_KAFKA_RESP_ERR__DESTROY, "the \(what) is closed", bootstrap: bootstrap)
  }

  static func usage(_ message: String, bootstrap: String = "") -> KafkaError {
    KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, message, bootstrap: bootstrap)
  }

  /// The only list of codes that are transient.
  private static func isTransient(_ code: rd_kafka_resp_err_t) -> Bool {
    switch code {
    // The connection or the name lookup failed; librdkafka reconnects.
    case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__RESOLVE,
      RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
      true
    // No answer in time.
    case RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
      RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
      true
    // The local queue is full; deliveries make room.
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
      true
    // A leader or coordinator is moving or starting.
    case RD_KAFKA_RESP_ERR__WAIT_COORD, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
      RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
      RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
      RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
      true
    // Too few in-sync replicas for acks=all; they recover.
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
      RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
      true
    // The group is rebalancing; the consumer rejoins it.
    case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION,
      RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
      true
    // A broker failed unexpectedly.
    case RD_KAFKA_RESP_ERR_UNKNOWN:
      true
    // A corrupt response is fetched again.
    case RD_KAFKA_RESP_ERR__BAD_MSG, RD_KAFKA_RESP_ERR_INVALID_MSG:
      true
    default:
      false
    }
  }
}
