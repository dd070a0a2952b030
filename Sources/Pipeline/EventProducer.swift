public import Events
public import Kafka

/// Publishes the events that handlers make, each acknowledged by the brokers before `send` returns.
///
/// Confined to one thread. Connects with the first event.
public final class EventProducer {
  private let configuration: ClientConfiguration
  private let topicPrefix: String
  private var producer: Producer?

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

  /// Sends the events and waits for their acknowledgement; throws `KafkaError`.
  public func send(_ events: [Event]) throws {
    let records = try events.map { event in
      let wire = try EventCodec.encode(event, as: .protobuf)
      return OutgoingRecord(
        topic: event.topic.name(prefix: topicPrefix), key: wire.key, value: wire.value,
        headers: wire.headers.map { Header(name: $0.name, value: $0.value) })
    }
    let producer = try self.producer ?? Producer(configuration: configuration)
    self.producer = producer
    do {
      try producer.send(records)
    } catch {
      // An idempotent producer may be unusable after a failure; what it sent is harmless, because
      // the same change is produced again under a newer version.
      producer.close()
      self.producer = nil
      throw error
    }
  }
}
