import CRDKafka

/// How to reach Kafka. The settings that correctness rests on are fixed here; everything else
/// (security, tuning) is a librdkafka property that may be overridden by name.
public struct ClientConfiguration: Sendable {
  /// `host:port`, several separated by commas.
  public var bootstrap: String
  /// Shown in broker logs and quotas.
  public var clientID: String
  /// librdkafka properties by name, over the defaults; for example `security.protocol`.
  public var properties: [String: String]
  /// Receives librdkafka's log lines (syslog level 0...7, facility, text), on threads of its own;
  /// must not block. nil writes them to standard error.
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
    /// Assigns itself what it reads and joins no group.
    case reader
    case producer
  }

  /// Properties nobody may change, because exactly-once and co-partitioning rest on them.
  private static let fixedForConsumers = [
    // Offsets live in PostgreSQL; committing to Kafka is for lag tools only.
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    // A lost log start must stop the worker, never skip.
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "check.crcs": "true",
    "allow.auto.create.topics": "false",
  ]
  private static let fixedForProducers = [
    "enable.idempotence": "true",
    "acks": "all",
    // The Java client's partitioner, so that any language's producer puts a key in the same place.
    "partitioner": "murmur2",
  ]

  private static let defaults = [
    "socket.keepalive.enable": "true",
    "reconnect.backoff.ms": "100",
    "reconnect.backoff.max.ms": "2000",
    // New partitions, and a topic that comes back, are found within this time, and the group's leader
    // then hands them out. librdkafka's own default is five minutes.
    "topic.metadata.refresh.interval.ms": "30000",
  ]
  private static let defaultsForConsumers = [
    // Cooperative assignment hangs and loses assignments below librdkafka 2.10.
    "partition.assignment.strategy": "range,roundrobin",
    // The lowest a stock broker accepts: a killed worker's partitions move soon, and a false alarm
    // is harmless behind the fence.
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
    // Bounds what is fetched ahead, for the whole consumer.
    "queued.max.messages.kbytes": "32768",
    // The embedded broker answers an empty fetch only after this wait, also when records come.
    "fetch.wait.max.ms": "100",
  ]
  private static let defaultsForProducers = [
    "compression.type": "lz4",
    "linger.ms": "2",
    "queue.buffering.max.messages": "100000",
    "queue.buffering.max.kbytes": "65536",
    // A lane produces inside its transaction: do not hold that for minutes.
    "message.timeout.ms": "60000",
  ]
  /// Set where the loaded librdkafka knows them, skipped where it is older.
  private static let optionalForConsumers = [
    // 2.2 and later wait a whole second when the fetch queue is full.
    "fetch.queue.backoff.ms": "50"
  ]

  /// A new `rd_kafka_conf_t`; the caller passes it to `rd_kafka_new` or destroys it.
  func makeConf(_ role: Role) throws(KafkaError) -> OpaquePointer {
    guard !bootstrap.isEmpty else {
      throw .usage("no Kafka address: set MAGPIE_KAFKA_BOOTSTRAP or --kafka-bootstrap to host:port")
    }
    var settings = Self.defaults
    let fixed: [String: String]
    var optional: [String: String] = [:]
    switch role {
    case .consumer(let group):
      settings.merge(Self.defaultsForConsumers) { $1 }
      fixed = Self.fixedForConsumers.merging(
        ["group.id": group, "enable.partition.eof": "false"]
      ) { $1 }
      optional = Self.optionalForConsumers
    case .reader:
      settings.merge(Self.defaultsForConsumers) { $1 }
      // Without the name of a group librdkafka assigns nothing; without a subscription it does not
      // join one.
      fixed = Self.fixedForConsumers.merging(
        ["group.id": "magpie.reader", "enable.partition.eof": "true"]
      ) { $1 }
      optional = Self.optionalForConsumers
    case .producer:
      settings.merge(Self.defaultsForProducers) { $1 }
      fixed = Self.fixedForProducers
    }
    for (name, value) in properties {
      if let needed = fixed[name], needed != value {
        throw .usage(
          "Kafka property \(name)=\(value) is refused: exactly-once processing needs \(needed)")
      }
    }
    settings.merge(properties) { $1 }
    settings.merge(fixed) { $1 }
    settings["bootstrap.servers"] = bootstrap
    settings["client.id"] = clientID

    guard let conf = rd_kafka_conf_new() else {
      throw .usage("librdkafka gave no configuration object: out of memory?")
    }
    for (name, value) in optional where properties[name] == nil {
      _ = rd_kafka_conf_set(conf, name, value, nil, 0)
    }
    for (name, value) in settings {
      var reason = [CChar](repeating: 0, count: 512)
      let result = rd_kafka_conf_set(conf, name, value, &reason, reason.count)
      guard result == RD_KAFKA_CONF_OK else {
        rd_kafka_conf_destroy(conf)
        // A name of no such form may be the rest of a password that a comma cut in two.
        guard name.wholeMatch(of: /[a-z]+(\.[a-z0-9]+)+/) != nil else {
          throw .usage(
            "one of the Kafka properties has no name that librdkafka knows; values with a comma, "
              + "such as a password may be, go into MAGPIE_KAFKA_PROPERTIES_FILE")
        }
        throw .usage("Kafka property \(name): \(text(of: reason))")
      }
    }
    return conf
  }
}

/// The text in a C buffer, up to its terminator.
func text(of buffer: [CChar]) -> String {
  String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
