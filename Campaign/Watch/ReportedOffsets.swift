import Events
import Foundation
import Kafka
import Postgres
import Synchronization

/// Compares what the workers tell Kafka with what is stored: Kafka must never be told of more, or the
/// lag tools would call lost what is not. On a thread of its own. Thread-safe.
final class ReportedOffsets: Sendable {
  private struct State {
    var isStopping = false
    var violations: [String] = []
  }

  private let state = Mutex(State())
  private let url: String
  private let kafka: ClientConfiguration
  private let groups: [(name: String, partitions: [TopicPartition])]
  private let ended = DispatchSemaphore(value: 0)

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
    Thread.detachNewThread { [self] in
      run()
      ended.signal()
    }
  }

  var violations: [String] { state.withLock { $0.violations } }

  func stop() {
    state.withLock { $0.isStopping = true }
    ended.wait()
    ended.signal()
  }

  private func run() {
    while !state.withLock({ $0.isStopping }) {
      // Either may be away; the next look finds out.
      for group in groups { try? look(group.name, group.partitions) }
      for _ in 0..<20 where !state.withLock({ $0.isStopping }) {
        Thread.sleep(forTimeInterval: 0.1)
      }
    }
  }

  private func look(_ group: String, _ partitions: [TopicPartition]) throws {
    // Kafka is asked first: what it knows by then must be stored by then.
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
      guard let told = reported[partition], told > stored else { continue }
      state.withLock {
        $0.violations.append("\(group) told Kafka \(told) of \(partition), but stored \(stored)")
      }
    }
  }
}
