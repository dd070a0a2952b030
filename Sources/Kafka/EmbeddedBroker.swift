import CRDKafka
import Synchronization

/// A Kafka cluster inside this process (librdkafka's mock cluster), listening on TCP ports of its
/// own choosing on the loopback interface, which other processes can join.
///
/// For trying out and testing. It is not storage: everything is in memory, and each partition keeps
/// at most 5 MiB and 100,000 batches, dropping the oldest without a word. Whoever hosts it can
/// watch with `Admin.watermarks`: a `low` above 0 means records are gone.
///
/// Topics are made here, with `createTopic`; it has no request for that, and a client that merely
/// asks for an unknown topic may get one with 4 partitions. Every rebalance of a group that has
/// members takes the session timeout less a second, and a group's first join 3 seconds: a session
/// timeout below that never gets a group together.
///
/// Thread-safe.
public final class EmbeddedBroker: Sendable {
  /// Requests in which errors can be injected (Kafka's API keys).
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
  /// How to reach it from this process.
  public var configuration: ClientConfiguration { ClientConfiguration(bootstrap: bootstrap) }

  private struct Pointers: @unchecked Sendable {  // librdkafka locks inside
    let host: OpaquePointer
    let cluster: OpaquePointer
  }
  private let pointers: Mutex<Pointers?>

  /// Listens at once; `brokers` are all in this process.
  public init(brokers: Int = 1) throws(KafkaError) {
    guard let conf = rd_kafka_conf_new() else { throw .usage("out of memory") }
    // Silence: the host's own client never connects to anything.
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
  }

  deinit { close() }

  /// Creates a topic. Throws when it exists.
  public func createTopic(_ name: String, partitions: Int, replicationFactor: Int = 1)
    throws(KafkaError)
  {
    try onCluster("creating topic \(name)") { cluster in
      rd_kafka_mock_topic_create(
        cluster, name, Int32(clamping: partitions), Int32(clamping: replicationFactor))
    }
  }

  /// Metadata says this of a topic from now on; nil: that it is in order.
  public func setError(ofTopic topic: String, to code: KafkaError.Code?) {
    pointers.withLock { pointers in
      guard let pointers else { return }
      rd_kafka_mock_topic_set_error(
        pointers.cluster, topic, rd_kafka_resp_err_t(rawValue: code?.rawValue ?? 0))
    }
  }

  /// The next requests of this kind are answered with these errors, one each.
  public func pushErrors(_ request: Request, _ codes: [KafkaError.Code]) {
    _ = pointers.withLock { pointers in
      pointers.map {
        rd_kafka_mock_push_request_errors_array(
          $0.cluster, request.rawValue, codes.count,
          codes.map { rd_kafka_resp_err_t(rawValue: $0.rawValue) })
      }
    }
  }

  /// Forgets the errors that were not used up.
  public func clearErrors(_ request: Request) {
    _ = pointers.withLock {
      $0.map { rd_kafka_mock_clear_request_errors($0.cluster, request.rawValue) }
    }
  }

  /// Closes a broker's connections and refuses new ones. Brokers count from 1.
  public func setDown(broker: Int = 1) throws(KafkaError) {
    try onCluster("taking broker \(broker) down") {
      rd_kafka_mock_broker_set_down($0, Int32(clamping: broker))
    }
  }

  /// Lets a broker answer again.
  public func setUp(broker: Int = 1) throws(KafkaError) {
    try onCluster("bringing broker \(broker) up") {
      rd_kafka_mock_broker_set_up($0, Int32(clamping: broker))
    }
  }

  /// Makes a broker the coordinator of a consumer group: the former one answers that it is not. Brokers
  /// count from 1.
  public func moveCoordinator(group: String, to broker: Int) throws(KafkaError) {
    try onCluster("moving the coordinator of \(group)") {
      rd_kafka_mock_coordinator_set($0, "group", group, Int32(clamping: broker))
    }
  }

  /// Makes a broker the leader of a partition: the former one answers that it is not. Brokers count from
  /// 1.
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

  /// Stops listening and drops everything. Later calls throw.
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
