import EmbeddedStack
import Events
import Foundation
import Kafka

/// The Kafka of one run: an embedded broker or, where `MAGPIE_KAFKA_BOOTSTRAP` names one, a Kafka that
/// is there. Either way topics and consumer groups are the run's own.
final class BenchBroker {
  let configuration: ClientConfiguration
  /// Of the names of topics and consumer groups.
  let prefix = "bench-\(UUID().uuidString.prefix(8).lowercased())."
  private let embedded: EmbeddedBroker?

  init() throws {
    if let bootstrap = ProcessInfo.processInfo.environment["MAGPIE_KAFKA_BOOTSTRAP"] {
      (embedded, configuration) = (nil, ClientConfiguration(bootstrap: bootstrap))
    } else {
      let broker = try EmbeddedBroker()
      broker.answerAtOnce()
      (embedded, configuration) = (broker, broker.configuration)
    }
  }

  /// `host:port` of its brokers.
  var bootstrap: String { configuration.bootstrap }

  func name(_ topic: Topic) -> String { topic.name(prefix: prefix) }

  func createTopic(_ name: String, partitions: Int) throws {
    if let embedded {
      try embedded.createTopic(name, partitions: partitions)
    } else {
      // -1: as the cluster has it.
      try Admin(configuration: configuration).createTopics([
        NewTopic(name: name, partitions: partitions, replicationFactor: -1)
      ])
    }
  }

  func close() { embedded?.close() }
}
