import CRDKafka
import Synchronization

/// A Kafka cluster inside this process (librdkafka's mock cluster). It listens on ephemeral TCP
/// ports of the loopback interface, so other processes can connect.
///
/// For trials and tests. It is not storage: everything is in memory, and each partition keeps at
/// most 5 MiB and 100,000 batches and silently drops the oldest. The host can check
/// `Admin.watermarks`: a `low` above 0 means that records were dropped.
///
/// Create topics with `createTopic`: the cluster does not support CreateTopics requests, and a
/// metadata request for an unknown topic may create it with 4 partitions. A rebalance of a group
/// with members takes the session timeout less a second, and a group's first join takes 3 seconds:
/// with a shorter session timeout a group never forms.
///
/// Thread-safe.
public final class EmbeddedBroker: Sendable {
  /// Requests into which errors can be injected (Kafka's API keys).
  public enum Request: Int16, Sendable {
    case produce = 0
    case fetch = 1
    case listOffsets = 2
    case metadata = 3
    case offsetCommit = 8
    case offsetFetch = 9
    case findCoordinator = 10
    case joinGroup = 11
    case heartbeat = 12
    case leaveGroup = 13
    case syncGroup = 14
    case initProducerID = 22
  }

  /// `host:port` of every broker, separated by commas.
  public let bootstrap: String
  /// A configuration for clients in this process.
  public var configuration: ClientConfiguration { ClientConfiguration(bootstrap: bootstrap) }

  private struct Pointers: @unchecked Sendable {  // librdkafka is thread-safe.
    let host: OpaquePointer
    let cluster: OpaquePointer
  }
  private let pointers: Mutex<Pointers?>

  /// Starts listening immediately. All brokers run in this process.
  ///
  /// - Parameter disablesNagle: sends each response immediately, as real brokers do. Otherwise the
  ///   second of two consecutive responses waits until the client acknowledges the first, which an
  ///   idle client does only after 40 ms.
  public init(brokers: Int = 1, disablesNagle: Bool = false) throws(KafkaError) {
    guard let conf = rd_kafka_conf_new() else { throw .usage("out of memory") }
    // Discard logs: the host client never connects to anything.
    rd_kafka_conf_set_log_cb(conf) { _, _, _, _ in }
    var reason = [CChar](repeating: 0, count: 512)
    guard let host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, &reason, reason.count) else {
      rd_kafka_conf_destroy(conf)
      throw .usage("the embedded broker could not be created: \(text(of: reason))")
    }
    guard let cluster = rd_kafka_mock_cluster_new(host, Int32(clamping: max(1, brokers))),
      let address = rd_kafka_mock_cluster_bootstraps(cluster)
    else {
      rd_kafka_destroy(host)
      throw .usage("the embedded broker could not listen on the loopback interface")
    }
    bootstrap = String(cString: address)
    pointers = Mutex(Pointers(host: host, cluster: cluster))
    if disablesNagle { disableNagle(ofListeners: bootstrap) }
  }

  deinit { close() }

  /// Creates a topic. Throws if it exists.
  public func createTopic(_ name: String, partitions: Int, replicationFactor: Int = 1)
    throws(KafkaError)
  {
    try onCluster("creating topic \(name)") { cluster in
      rd_kafka_mock_topic_create(
        cluster, name, Int32(clamping: partitions), Int32(clamping: replicationFactor))
    }
  }

  /// Makes metadata responses report this error for a topic; nil clears it.
  public func setError(ofTopic topic: String, to code: KafkaError.Code?) {
    pointers.withLock { pointers in
      guard let pointers else { return }
      rd_kafka_mock_topic_set_error(
        pointers.cluster, topic, rd_kafka_resp_err_t(rawValue: code?.rawValue ?? 0))
    }
  }

  /// Answers the next requests of this kind with these errors, one each.
  public func pushErrors(_ request: Request, _ codes: [KafkaError.Code]) {
    _ = pointers.withLock { pointers in
      pointers.map {
        rd_kafka_mock_push_request_errors_array(
          $0.cluster, request.rawValue, codes.count,
          codes.map { rd_kafka_resp_err_t(rawValue: $0.rawValue) })
      }
    }
  }

  /// Clears the injected errors that are left.
  public func clearErrors(_ request: Request) {
    _ = pointers.withLock {
      $0.map { rd_kafka_mock_clear_request_errors($0.cluster, request.rawValue) }
    }
  }

  /// Closes a broker's connections and refuses new ones. Brokers are numbered from 1.
  ///
  /// Processes must be started in `whileListenersAreHeld` in a program that calls this.
  public func setDown(broker: Int = 1) throws(KafkaError) {
    try Self.listeners.withLock { _ throws(KafkaError) in
      try onCluster("taking broker \(broker) down") {
        rd_kafka_mock_broker_set_down($0, Int32(clamping: broker))
      }
    }
  }

  /// Runs `body`, which starts a process, while no broker of this process is taken down.
  ///
  /// `setDown` closes its listener and binds the port again. A child holds a copy of every listener
  /// between fork and exec; while it does, the port is in use, and librdkafka aborts the process.
  public static func whileListenersAreHeld<Result>(_ body: () throws -> Result) rethrows -> Result {
    try listeners.withLock { _ in try body() }
  }

  private static let listeners = Mutex<Void>(())

  /// Brings a broker back up.
  public func setUp(broker: Int = 1) throws(KafkaError) {
    try onCluster("bringing broker \(broker) up") {
      rd_kafka_mock_broker_set_up($0, Int32(clamping: broker))
    }
  }

  /// Makes a broker the coordinator of a consumer group; the former one then answers
  /// NOT_COORDINATOR. Brokers are numbered from 1.
  public func moveCoordinator(group: String, to broker: Int) throws(KafkaError) {
    try onCluster("moving the coordinator of \(group)") {
      rd_kafka_mock_coordinator_set($0, "group", group, Int32(clamping: broker))
    }
  }

  /// Makes a broker the leader of a partition; the former one then answers NOT_LEADER. Brokers are
  /// numbered from 1.
  public func moveLeader(_ partition: TopicPartition, to broker: Int) throws(KafkaError) {
    try onCluster("moving the leader of \(partition)") {
      rd_kafka_mock_partition_set_leader(
        $0, partition.topic, partition.partition, Int32(clamping: broker))
    }
  }

  /// Delays a broker's answers.
  public func setRoundTripTime(milliseconds: Int, broker: Int = 1) throws(KafkaError) {
    try onCluster("slowing broker \(broker) down") {
      rd_kafka_mock_broker_set_rtt($0, Int32(clamping: broker), Int32(clamping: milliseconds))
    }
  }

  /// Stops listening and discards all data. Later calls throw.
  public func close() {
    let taken = pointers.withLock { pointers in
      defer { pointers = nil }
      return pointers
    }
    guard let taken else { return }
    rd_kafka_mock_cluster_destroy(taken.cluster)
    rd_kafka_destroy(taken.host)
  }

  private func onCluster(
    _ what: String, _ body: (OpaquePointer) -> rd_kafka_resp_err_t
  ) throws(KafkaError) {
    let code = pointers.withLock { $0.map { body($0.cluster) } }
    guard let code else { throw .usage("\(what): the embedded broker is closed") }
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(
        code, "\(what): \(String(cString: rd_kafka_err2str(code)))", bootstrap: bootstrap)
    }
  }
}
