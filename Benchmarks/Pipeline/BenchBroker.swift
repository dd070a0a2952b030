import EmbeddedStack
import Events
import Foundation
import Kafka

/// The Kafka of one run: an embedded broker, or the one in `MAGPIE_KAFKA_BOOTSTRAP`. Topics and
/// consumer groups are private to the run.
final class BenchBroker {
  let configuration: ClientConfiguration
  /// The prefix of topic and consumer group names.
  let prefix = "bench-\(UUID().uuidString.prefix(8).lowercased())."
  private let embedded: EmbeddedBroker?

  init() throws {
    if let bootstrap = ProcessInfo.processInfo.environment["MAGPIE_KAFKA_BOOTSTRAP"] {
      (embedded, configuration) = (nil, ClientConfiguration(bootstrap: bootstrap))
    } else {
      let broker = try EmbeddedBroker(disablesNagle: true)
      (embedded, configuration) = (broker, broker.configuration)
    }
  }

  /// `host:port` of its brokers.
  var bootstrap: String { configuration.bootstrap }

  /// The bytes of records that may wait for a worker in one partition, with a margin for how they
  /// are stored: the embedded broker keeps 5 MiB, and a cluster whatever this process holds.
  var bytesMax: Int { embedded == nil ? 256 << 20 : 4 << 20 }

  func name(_ topic: Topic) -> String { topic.name(prefix: prefix) }

  func createTopic(_ name: String, partitions: Int) throws {
    if let embedded {
      try embedded.createTopic(name, partitions: partitions)
    } else {
      // -1: the cluster's default.
      try Admin(configuration: configuration).createTopics([
        NewTopic(name: name, partitions: partitions, replicationFactor: -1)
      ])
    }
  }

  func close() { embedded?.close() }
}
