import CRDKafka

/// How to connect to Kafka. The settings that correctness depends on are fixed; every other
/// librdkafka property (security, tuning) can be overridden by name.
public struct ClientConfiguration: Sendable {
  /// One or more `host:port`, separated by commas.
  public var bootstrap: String
  /// Shown in broker logs and quotas.
  public var clientID: String
  /// librdkafka properties that override the defaults, such as `security.protocol`. Of two names of one property, such
  /// as `delivery.timeout.ms` and `message.timeout.ms`, the alphabetically later one counts.
  public var properties: [String: String]
  /// Receives librdkafka's log lines (syslog level 0...7, facility, text) on librdkafka's threads;
  /// must not block. If nil, they go to standard error.
  public var log: (@Sendable (_ level: Int, _ facility: String, _ text: String) -> Void)?

  public init(
    bootstrap: String, clientID: String = "magpie", properties: [String: String] = [:],
    log: (@Sendable (_ level: Int, _ facility: String, _ text: String) -> Void)? = nil
  ) {
    self.bootstrap = bootstrap
    self.clientID = clientID
    self.properties = properties
    self.log = log
  }

  enum Role {
    case consumer(group: String)
    case producer
  }

  /// Properties that cannot be overridden, because exactly-once and co-partitioning depend on them.
  private static let fixedForConsumers = [
    // Offsets are stored in PostgreSQL; commits to Kafka are only for lag tools.
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    // If the offset was deleted from the log, the worker must stop and never skip records.
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "check.crcs": "true",
    "allow.auto.create.topics": "false",
  ]
  private static let fixedForProducers = [
    "enable.idempotence": "true",
    "acks": "all",
    // The Java client's partitioner, so that producers in all languages put a key into the same
    // partition.
    "partitioner": "murmur2",
  ]

  private static let defaults = [
    "socket.keepalive.enable": "true",
    "reconnect.backoff.ms": "100",
    "reconnect.backoff.max.ms": "2000",
    // The time within which new partitions and recreated topics are noticed, and the group's leader
    // assigns them. librdkafka's default is five minutes.
    "topic.metadata.refresh.interval.ms": "30000",
  ]
  private static let defaultsForConsumers = [
    // Below librdkafka 2.10, cooperative assignment hangs and loses assignments.
    "partition.assignment.strategy": "range,roundrobin",
    // The lowest value that brokers accept by default, so that a killed worker's partitions move
    // soon. A false expiry is harmless thanks to the fence.
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
    // Bounds prefetching for the whole consumer, in bytes of values: keys and headers do not count.
    "queued.max.messages.kbytes": "32768",
    // The embedded broker answers an empty fetch only after this wait, even if records arrive
    // meanwhile.
    "fetch.wait.max.ms": "100",
  ]
  private static let defaultsForProducers = [
    "compression.type": "lz4",
    "linger.ms": "2",
    "queue.buffering.max.messages": "100000",
    "queue.buffering.max.kbytes": "65536",
    // A lane produces inside its transaction and must not keep it open for minutes.
    "message.timeout.ms": "60000",
    // A broker that hangs or loses power does not close its connections. Records sent to it are sent to
    // their new leader only after this time (librdkafka's default is 60 s). Longer than Kafka takes
    // to replace a leader, 9 s by default, because acks=all waits for that on the other brokers, too.
    "socket.timeout.ms": "15000",
  ]
  /// Set in this order, up to the first that the loaded librdkafka does not know.
  private static let optionalForConsumers = [
    // How soon a full queue is checked again. Known since librdkafka 2.2; without it, a second passes.
    ("fetch.queue.backoff.ms", "10"),
    // Bounds prefetching for the whole consumer where keys and headers are large: nothing is fetched while so many
    // records are queued. With Kafka's 1 MiB per record (`message.max.bytes`) that is 128 MiB. Not set without the
    // backoff above, because then each fetch of more records would be followed by an idle second.
    ("queued.min.messages", "128"),
  ]

  /// A new `rd_kafka_conf_t`; the caller passes it to `rd_kafka_new` or destroys it.
  func makeConf(_ role: Role) throws(KafkaError) -> OpaquePointer {
    guard !bootstrap.isEmpty else {
      throw .usage("no Kafka address: set MAGPIE_KAFKA_BOOTSTRAP or --kafka-bootstrap to host:port")
    }
    var defaults = Self.defaults
    let fixed: [String: String]
    var optional: [(String, String)] = []
    switch role {
    case .consumer(let group):
      defaults.merge(Self.defaultsForConsumers) { $1 }
      fixed = Self.fixedForConsumers.merging(
        ["group.id": group, "enable.partition.eof": "true"]
      ) { $1 }
      optional = Self.optionalForConsumers
    case .producer:
      defaults.merge(Self.defaultsForProducers) { $1 }
      fixed = Self.fixedForProducers
    }
    for (name, value) in properties {
      if let needed = fixed[name], needed != value {
        throw .usage(
          "Kafka property \(name)=\(value) is not allowed: exactly-once processing needs \(needed)")
      }
    }
    // In an order in which the last name of a property counts.
    let settings = [
      defaults, properties, fixed, ["bootstrap.servers": bootstrap, "client.id": clientID],
    ].flatMap { $0.sorted { $0.key < $1.key } }

    guard let conf = rd_kafka_conf_new() else {
      throw .usage("librdkafka could not allocate a configuration")
    }
    for (name, value) in optional {
      guard rd_kafka_conf_set(conf, name, value, nil, 0) == RD_KAFKA_CONF_OK else { break }
    }
    for (name, value) in settings {
      var reason = [CChar](repeating: 0, count: 512)
      let result = rd_kafka_conf_set(conf, name, value, &reason, reason.count)
      guard result == RD_KAFKA_CONF_OK else {
        rd_kafka_conf_destroy(conf)
        // Any other name may be the rest of a password that was split at a comma: do not print it.
        guard name.wholeMatch(of: /[a-z]+(\.[a-z0-9]+)+/) != nil else {
          throw .usage(
            "the name of one of the Kafka properties is invalid; a value that contains a comma, "
              + "such as a password, must be set in MAGPIE_KAFKA_PROPERTIES_FILE")
        }
        throw .usage("Kafka property \(name): \(text(of: reason))")
      }
    }
    return conf
  }
}

/// The text in a C buffer, up to its NUL.
func text(of buffer: [CChar]) -> String {
  String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
