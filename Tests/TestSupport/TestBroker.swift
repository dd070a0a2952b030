import Events
import Foundation
public import Kafka
import Synchronization

/// The tests' broker: one embedded broker per test process, or the broker at
/// `MAGPIE_KAFKA_BOOTSTRAP`. Tests are isolated by topic prefix.
public final class TestBroker: Sendable {
  /// This test process's broker; throws if it cannot be started.
  public static var shared: TestBroker {
    get throws { try sharedBroker.get() }
  }

  /// The brokers' `host:port`, separated by commas.
  public let bootstrap: String
  /// The embedded broker; nil if an external one is used. Injected errors affect all tests of the
  /// process, so tests that inject errors should start their own `EmbeddedBroker`.
  public let embedded: EmbeddedBroker?

  /// A client configuration for this broker.
  public var configuration: ClientConfiguration { ClientConfiguration(bootstrap: bootstrap) }

  /// A unique prefix for topics and consumer groups.
  public static func topicPrefix() -> String {
    "test-\(UUID().uuidString.prefix(13).lowercased())."
  }

  /// Creates a topic.
  public func createTopic(_ name: String, partitions: Int = 1) throws {
    if let embedded {
      try embedded.createTopic(name, partitions: partitions)
    } else {
      let admin = try Admin(configuration: configuration)
      do {
        try admin.createTopics([
          // The cluster's default replication factor. Test records have old timestamps; default
          // retention would delete them within seconds.
          NewTopic(
            name: name, partitions: partitions, replicationFactor: -1,
            configuration: ["retention.ms": "-1"])
        ])
      } catch  where error.code == .unsupported {
        // Another process's embedded broker: a request for the topic by name creates it.
        _ = try? admin.watermarks(TopicPartition(topic: name, partition: 0))
        guard try admin.topics([name])[name] != nil else { throw error }
      }
    }
  }

  /// Creates all of Magpie's topics under `prefix`.
  public func createTopics(prefix: String, partitions: Int = 2) throws {
    for topic in Topic.allCases {
      try createTopic(topic.name(prefix: prefix), partitions: partitions)
    }
  }

  /// Whether the broker's end offset is that of the last acknowledged batch, for tests that need a
  /// log up to its end. It is with Kafka; some brokers report a lower one. Checked once per
  /// process.
  public static var namesTrueEnds: Bool {
    get throws { try trueEnds.get() }
  }

  private static let sharedBroker = Result { try TestBroker() }

  private static let trueEnds = Result {
    let partition = TopicPartition(topic: topicPrefix() + "ends", partition: 0)
    try shared.createTopic(partition.topic)
    let configuration = try shared.configuration
    let producer = try Producer(configuration: configuration)
    defer { producer.close() }
    let admin = try Admin(configuration: configuration)
    for _ in 0..<3 {
      let last = try producer.send(
        (0..<30).map { OutgoingRecord(topic: partition.topic, key: nil, value: [UInt8($0)]) }
      ).map(\.offset).max()
      if try admin.watermarks(partition).high != last.map({ $0 + 1 }) { return false }
    }
    return true
  }

  private init() throws {
    if let bootstrap = ProcessInfo.processInfo.environment["MAGPIE_KAFKA_BOOTSTRAP"] {
      (self.bootstrap, embedded) = (bootstrap, nil)
    } else {
      let broker = try EmbeddedBroker()
      (bootstrap, embedded) = (broker.bootstrap, broker)
    }
  }
}
