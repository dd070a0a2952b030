import EmbeddedStack
import Events
import FaultInjection
import Foundation
import Kafka
import RecordLog
import TestSupport
import Testing

/// Topics that were just created: some brokers of a cluster do not list them yet.
@Suite struct NewTopicTests {
  private let broker: EmbeddedBroker
  private let proxy: KafkaProxy
  private let prefix = "new."

  init() throws {
    broker = try EmbeddedBroker()
    proxy = try KafkaProxy(to: broker.bootstrap)
    for topic in Topic.allCases {
      try broker.createTopic(topic.name(prefix: prefix), partitions: 1)
    }
  }

  @Test("magpie publish waits for a topic that the broker does not list yet")
  func publish() async throws {
    defer { proxy.close() }
    proxy.change { $0.unknownTopics = [Topic.alarmChanges.name(prefix: prefix)] }
    let output = NSTemporaryDirectory() + "magpie-new-topic-\(UUID().uuidString).log"
    defer { try? FileManager.default.removeItem(atPath: output) }
    let properties = KafkaProxy.clientProperties.map { "\($0)=\($1)" }.joined(separator: ",")
    let publishing = try ChildProcess(
      builtExecutable("magpie"), ["publish", "follow", "--follower", "ann", "--followee", "ben"],
      environment: [
        "MAGPIE_KAFKA_BOOTSTRAP": proxy.bootstrap, "MAGPIE_TOPIC_PREFIX": prefix,
        "MAGPIE_KAFKA_PROPERTIES": properties,
      ], output: .file(output))
    defer { publishing.terminate(within: 10) }
    try await eventually("the broker denied the topic") { proxy.responsesRewritten > 0 }
    proxy.change { $0.unknownTopics = [] }
    let exit = publishing.wait(seconds: hangLimitSeconds)
    let printed = try String(contentsOfFile: output, encoding: .utf8)
    #expect(exit == .exited(0), "\(printed)")
  }

  @Test("the log waits for a topic that the broker does not list yet")
  func log() async throws {
    defer { proxy.close() }
    let name = Topic.people.name(prefix: prefix)
    proxy.change { $0.unknownTopics = [name] }
    var configuration = ClientConfiguration(bootstrap: proxy.bootstrap)
    configuration.properties.merge(KafkaProxy.clientProperties) { $1 }
    let log = try KafkaLog(configuration: configuration)
    async let spans = Task.detached { try log.spans(of: [name]) }.value
    try await eventually("the broker denied the topic") { proxy.responsesRewritten > 0 }
    proxy.change { $0.unknownTopics = [] }
    #expect(try await spans == [TopicPartition(topic: name, partition: 0): 0..<0])
  }
}
