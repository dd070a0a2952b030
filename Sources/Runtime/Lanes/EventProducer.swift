public import Events
public import Kafka

/// Publishes the events of handlers. The brokers have acknowledged them when `send` returns.
///
/// `send` is called inside open transactions, which hold locks and which the server ends when they are
/// idle for too long. So a delivery times out after at most ten seconds, and while no broker responds,
/// `prepare` throws before the next transaction begins.
///
/// Confined to one thread. Connects with the first event.
public final class EventProducer {
  /// The delivery timeout, well below the lanes' `idle_in_transaction_session_timeout`.
  static let deliveryMillisecondsMax = 10_000

  private let configuration: ClientConfiguration
  private let topicPrefix: String
  private var producer: Producer?
  private var hasFailed = false

  /// - Parameter topicPrefix: the prefix of topic names, such as `magpie.`.
  public init(configuration: ClientConfiguration, topicPrefix: String) {
    self.configuration = configuration
    self.topicPrefix = topicPrefix
  }

  deinit { producer?.close() }

  /// Closes the connection. Nothing is in flight between calls of `send`.
  public func close() {
    producer?.close()
    producer = nil
  }

  /// After a failed `send`, checks that a broker responds. Call it before a transaction begins.
  ///
  /// - Throws: `KafkaError` if none responds within five seconds.
  public func prepare() throws {
    guard hasFailed else { return }
    _ = try Admin(configuration: configuration).topics([], timeoutMilliseconds: 5_000)
    hasFailed = false
  }

  /// The configuration with a bounded delivery timeout. A shorter one is kept.
  static func bounded(_ configuration: ClientConfiguration) -> ClientConfiguration {
    var bounded = configuration
    // Two names of one property.
    let alias = bounded.properties.removeValue(forKey: "delivery.timeout.ms")
    let given = (bounded.properties["message.timeout.ms"] ?? alias).flatMap { Int($0) } ?? 0
    // 0 means no timeout.
    let limit = given > 0 ? min(given, deliveryMillisecondsMax) : deliveryMillisecondsMax
    bounded.properties["message.timeout.ms"] = "\(limit)"
    return bounded
  }

  /// Sends the events and waits for their acknowledgement; throws `KafkaError`.
  public func send(_ events: [Event]) throws {
    let records = try events.map { event in
      try OutgoingRecord(
        topic: event.topic.name(prefix: topicPrefix), wire: EventCodec.encode(event, as: .protobuf))
    }
    let producer = try self.producer ?? Producer(configuration: Self.bounded(configuration))
    self.producer = producer
    do {
      try producer.send(records)
    } catch {
      // An idempotent producer may be unusable after a failure. Records that it did send are harmless:
      // the same change is published again with a newer version.
      producer.close()
      self.producer = nil
      hasFailed = true
      throw error
    }
  }
}
