import Events
import Foundation
public import Kafka
import Synchronization

/// The broker tests use: one embedded broker per test process, or the one that
/// `MAGPIE_KAFKA_BOOTSTRAP` names. Tests keep apart by topic prefix.
public final class TestBroker: Sendable {
  /// The broker of this test process; throws if it cannot be started.
  public static var shared: TestBroker {
    get throws { try sharedBroker.get() }
  }

  /// `host:port` of its brokers.
  public let bootstrap: String
  /// The embedded broker, for injecting errors; nil when an external one is used. Errors injected
  /// here meet every test of the process: those tests had better start an `EmbeddedBroker` of their own.
  public let embedded: EmbeddedBroker?

  /// How to reach it.
  public var configuration: ClientConfiguration { ClientConfiguration(bootstrap: bootstrap) }

  /// A prefix for topic names (and consumer groups) that no other test has.
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
          // As many replicas as the cluster has by default. Records of tests have old times, and a stock
          // broker would delete them within seconds.
          NewTopic(
            name: name, partitions: partitions, replicationFactor: -1,
            configuration: ["retention.ms": "-1"])
        ])
      } catch  where error.code == .unsupported {
        // Another process's embedded broker: asking for a topic by name makes it there.
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

  /// Whether the end of a partition that the broker names is that of the last batch acknowledged: for
  /// tests that need a log to its end. Kafka's is; there are brokers whose end is short of it. It is
  /// asked once in a process.
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
