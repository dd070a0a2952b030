import Events
import Kafka
import Postgres
import Synchronization

/// Checks that the workers never report offsets to Kafka beyond the stored ones; lag tools would
/// then underestimate the lag. Thread-safe.
final class ReportedOffsets: Sendable {
  private let found = Mutex<[String]>([])
  private let url: String
  private let kafka: ClientConfiguration
  private let groups: [(name: String, partitions: [TopicPartition])]

  init(_ world: World) {
    (url, kafka) = (world.superuserURL, world.kafka)
    groups = ConsumerGroup.allCases.map { group in
      let partitions = group.topics.flatMap { topic in
        (0..<world.partitions(of: topic)).map {
          TopicPartition(
            topic: topic.name(prefix: world.topicPrefix), partition: Int32($0))
        }
      }
      return (group.name(prefix: world.topicPrefix), partitions)
    }
  }

  var violations: [String] { found.withLock { $0 } }

  /// Either server may be down; the next call tries again.
  func look() {
    for group in groups { try? look(group.name, group.partitions) }
  }

  private func look(_ group: String, _ partitions: [TopicPartition]) throws {
    // Query Kafka first: what it has by then must be stored.
    let reported = try Admin(configuration: kafka).committedOffsets(
      group: group, partitions, timeoutMilliseconds: 2000)
    let connection = try Connection(
      url, applicationName: "magpie-campaign", connectTimeoutSeconds: 2)
    defer { connection.close() }
    for row in try connection.query(
      "SELECT topic, partition, next_offset FROM consumer_offsets WHERE consumer_group = $1",
      [.text(group)])
    {
      let partition = TopicPartition(topic: try row.text(0), partition: Int32(try row.int(1)))
      let stored = try row.int8(2)
      guard let committed = reported[partition], committed > stored else { continue }
      found.withLock {
        $0.append(
          "\(group) reported offset \(committed) of \(partition) to Kafka, but stored \(stored)")
      }
    }
  }
}
