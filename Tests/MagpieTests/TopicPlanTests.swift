import Events
import Foundation
import Kafka
import TestSupport
import Testing

/// `magpie topics --dry-run`, because the embedded broker does not implement the request that creates
/// topics.
@Suite("magpie topics")
struct TopicPlanTests {
  private struct Line: Decodable {
    var topic: String
    var partitions: Int
    var created: Bool
    var unequal: Bool
    var replicationFactor: Int?
    var configuration: [String: String]?
  }

  private func plan(_ broker: EmbeddedBroker, _ arguments: String...) async throws
    -> (lines: [Line], result: Tool.Result)
  {
    let magpie = Tool(environment: ["MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap])
    let result = try await magpie.run(["topics", "--dry-run", "--json"] + arguments)
    let lines = try result.lines.map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8))
    }
    return (lines, result)
  }

  @Test(
    "the replication factor of new topics depends on the number of brokers",
    arguments: [(1, 1, "1"), (2, 1, "1"), (3, 3, "2"), (4, 3, "2")])
  func replication(brokers: Int, factor: Int, minInSync: String) async throws {
    let broker = try EmbeddedBroker(brokers: brokers)
    defer { broker.close() }
    let (lines, result) = try await plan(broker)
    #expect(result.status == 0, "\(result.error)")
    #expect(lines.map(\.topic) == Topic.allCases.map { $0.name(prefix: "magpie.") })
    for line in lines {
      #expect(line.partitions == 12 && !line.created)
      #expect(line.replicationFactor == factor)
      let topic = Topic(name: line.topic)
      let week = topic?.isInternal == true || topic == .devices ? "604800000" : nil
      var expected = ["cleanup.policy": "delete", "min.insync.replicas": minInSync]
      expected["retention.ms"] = week
      expected["segment.ms"] = week.map { _ in "86400000" }
      #expect(line.configuration == expected)
    }
    #expect(result.error.contains("can be rebuilt only from records that are still in the log"))
    let asked = try await plan(broker, "--replication-factor", "2", "--partitions", "5")
    #expect(asked.lines.allSatisfy { $0.replicationFactor == 2 && $0.partitions == 5 })
    #expect(asked.lines.allSatisfy { $0.configuration?["min.insync.replicas"] == "1" })
  }

  @Test("--retention applies to all topics but those whose records the tables have")
  func retention() async throws {
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    for (text, milliseconds, changes, segment) in [
      ("forever", "-1", "604800000", nil), ("365d", "31536000000", "604800000", "86400000"),
      ("48h", "172800000", "172800000", "86400000"), ("2h", "7200000", "7200000", "7200000"),
    ] {
      let (lines, result) = try await plan(broker, "--retention", text)
      #expect(!result.error.contains("rebuilt"))
      for line in lines {
        let topic = Topic(name: line.topic)
        let isChanges = topic?.isInternal == true || topic == .devices
        #expect(line.configuration?["retention.ms"] == (isChanges ? changes : milliseconds))
        #expect(line.configuration?["segment.ms"] == (isChanges ? segment ?? "86400000" : segment))
      }
    }
    for text in ["", "d", "0d", "-1", "7", "ever", "99999999d"] {
      #expect(try await plan(broker, "--retention=\(text)").result.status == 64)
    }
  }

  @Test(
    "a missing topic gets the partition count of the others; a topic with a different count is reported"
  )
  func siblings() async throws {
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    let names = Topic.allCases.map { $0.name(prefix: "magpie.") }
    for name in names.dropFirst(2) { try broker.createTopic(name, partitions: 6) }
    let missing = try await plan(broker)
    #expect(missing.result.status == 0, "\(missing.result.error)")
    #expect(missing.lines.allSatisfy { $0.partitions == 6 && !$0.unequal })
    #expect(
      missing.lines.map { $0.replicationFactor != nil }
        == names.map { names.prefix(2).contains($0) })

    // Like a broker that creates topics on request.
    try broker.createTopic(names[0], partitions: 1)
    let unequal = try await plan(broker)
    #expect(unequal.result.status == 1)
    #expect(unequal.lines.map(\.unequal) == names.map { $0 == names[0] })
    #expect(unequal.result.error.contains("\(names[0]) has 1 partitions, the others 6"))
    #expect(try await plan(broker, "--partitions", "6").result.error.contains("has 1"))
  }
}
