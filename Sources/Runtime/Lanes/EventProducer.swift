public import Events
public import Kafka

/// Publishes the events that handlers make, each acknowledged by the brokers before `send` returns.
///
/// It is called inside of open transactions, whose locks others wait for and which the server ends when
/// they are idle for too long. So a record is given up after ten seconds at most, and while no broker
/// answers, `prepare` says so before the next transaction opens.
///
/// Confined to one thread. Connects with the first event.
public final class EventProducer {
  /// The bound on one record's acknowledgement: well below the lanes'
  /// `idle_in_transaction_session_timeout`.
  static let deliveryMillisecondsMax = 10_000

  private let configuration: ClientConfiguration
  private let topicPrefix: String
  private var producer: Producer?
  private var hasFailed = false

  /// - Parameter topicPrefix: what the names of topics begin with, such as `magpie.`.
  public init(configuration: ClientConfiguration, topicPrefix: String) {
    self.configuration = configuration
    self.topicPrefix = topicPrefix
  }

  deinit { producer?.close() }

  /// Nothing is in flight between two calls of `send`.
  public func close() {
    producer?.close()
    producer = nil
  }

  /// After a failure, asks whether a broker answers at all; call it before a transaction opens.
  ///
  /// - Throws: `KafkaError` when none does within five seconds.
  public func prepare() throws {
    guard hasFailed else { return }
    _ = try Admin(configuration: configuration).topics([], timeoutMilliseconds: 5_000)
    hasFailed = false
  }

  /// The configuration with the time for a delivery bounded; a shorter one stays.
  static func bounded(_ configuration: ClientConfiguration) -> ClientConfiguration {
    var bounded = configuration
    // Two names of one property.
    let alias = bounded.properties.removeValue(forKey: "delivery.timeout.ms")
    let given = (bounded.properties["message.timeout.ms"] ?? alias).flatMap { Int($0) } ?? 0
    // 0 is without a bound.
    let limit = given > 0 ? min(given, deliveryMillisecondsMax) : deliveryMillisecondsMax
    bounded.properties["message.timeout.ms"] = "\(limit)"
    return bounded
  }

  /// Sends the events and waits for their acknowledgement; throws `KafkaError`.
  public func send(_ events: [Event]) throws {
    let records = try events.map { event in
      let wire = try EventCodec.encode(event, as: .protobuf)
      return OutgoingRecord(
        topic: event.topic.name(prefix: topicPrefix), key: wire.key, value: wire.value,
        headers: wire.headers.map { Header(name: $0.name, value: $0.value) })
    }
    let producer = try self.producer ?? Producer(configuration: Self.bounded(configuration))
    self.producer = producer
    do {
      try producer.send(records)
    } catch {
      // An idempotent producer may be unusable after a failure; what it sent is harmless, because
      // the same change is produced again under a newer version.
      producer.close()
      self.producer = nil
      hasFailed = true
      throw error
    }
  }
}
