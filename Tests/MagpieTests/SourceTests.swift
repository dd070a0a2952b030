import Events
import Foundation
import Kafka
import Testing

@Suite("magpie generate, import and topics")
struct SourceTests {
  let magpie = Tool()

  @Test("the same options generate the same events")
  func generate() async throws {
    let numbers = ["generate", "--users", "50", "--events", "400", "--seed", "7", "--output", "-"]
    let first = try await magpie.run(numbers)
    #expect(first.status == 0)
    #expect(first.lines.count == 400)
    for line in first.lines { _ = try StructuredEvent.decode(line, now: .now) }
    #expect(try await magpie.run(numbers).output == first.output)
  }

  @Test("a disk that is full exits 74, a path that cannot be opened 64")
  func fullDisk() async throws {
    for (path, status) in [("/dev/full", 74), ("/proc/nowhere/events", 64)] as [(String, Int32)] {
      let result = try await Tool()(
        "generate", "--users", "5", "--events", "10", "--seed", "1", "--output", path)
      #expect(result.status == status && result.error.contains("\(path) cannot be written"))
    }
  }

  @Test("a progress line ends before the terminal's last column, and a dumb terminal shows none")
  func progressLine() async throws {
    func shown(_ tool: Tool) async throws -> String {
      try await tool.onTerminal(
        "generate", "--users", "5", "--events", "10", "--seed", "1", "--output", "/dev/null",
        columns: 20, showsErrors: true)
    }
    let start = "\r\u{1B}[K"
    let redrawn = try await shown(magpie)
    #expect(redrawn.hasPrefix("\(start)1 of 10 events, 0 …\(start)"), "\(redrawn)")
    #expect(try await shown(Tool(environment: ["TERM": "dumb"])) == "10 events written\r\n")
  }

  @Test("generated events are published at the requested rate")
  func generateToKafka() async throws {
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    for topic in Topic.allCases { try broker.createTopic(topic.name(), partitions: 2) }
    let start = ContinuousClock.now
    let result = try await magpie(
      "generate", "--users", "20", "--events", "100", "--seed", "1", "--rate", "200", "--json",
      "--progress", "--kafka-bootstrap", broker.bootstrap)
    #expect(result.status == 0, "\(result.error)")
    #expect(ContinuousClock.now - start > .milliseconds(400))
    #expect(result.error.contains("of 100 events"))
    #expect(try member("events", of: result.lines[0]) == 100)
    let written = try Admin(configuration: broker.configuration)
      .watermarks(topics: Topic.allCases.map { $0.name() })
    #expect(written.values.reduce(0) { $0 + $1.high } == 100)
  }

  @Test("an LDBC snapshot becomes events, and rows without a counterpart are reported")
  func importLDBC() async throws {
    let directory = NSTemporaryDirectory() + "magpie-ldbc-\(UUID())"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let time = "2011-01-02T03:04:05.678+0000"
    for (name, text) in [
      "person": "id|firstName|lastName|creationDate\n1|Mai|Anh|\(time)\n2|Ali|Can|\(time)\n",
      "person_speaks_language": "Person.id|language\n1|vi\n",
      "person_knows_person": "Person.id|Person.id|creationDate\n1|2|\(time)\n",
      "post": "id|imageFile|content|creator|creationDate\n10||hello|1|\(time)\n",
      "comment":
        "id|content|creator|replyOfPost|replyOfComment|creationDate\n20|hi|2|10||\(time)\n",
      "person_likes_post": "Person.id|Post.id|creationDate\n2|10|\(time)\n",
      "person_likes_comment": "Person.id|Comment.id|creationDate\n1|20|\(time)\n",
    ] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)_0_0.csv"))
    }
    let file = directory + "/events.jsonl"
    let result = try await magpie("import", "ldbc-snb", directory, "--output", file, "--json")
    #expect(result.status == 0, "\(result.error)")
    #expect(try member("events", of: result.lines[0]) == 7)
    #expect(try member("skipped", of: result.lines[0]) == ["likes of comments": 1])
    let check = try await magpie("publish", file, "--dry-run")
    #expect(check.output == "7 valid, 0 rejected\n")

    let empty = try await magpie("import", "ldbc-snb", "/nonexistent", "--output", "-")
    #expect(empty.status == 64)
    #expect(empty.error.contains("/nonexistent"))
  }

  @Test("a different partition count is refused with the reason")
  func partitionCount() async throws {
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    for topic in Topic.allCases { try broker.createTopic(topic.name(prefix: "x."), partitions: 3) }
    var magpie = magpie
    magpie.environment = ["MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap, "MAGPIE_TOPIC_PREFIX": "x."]
    let kept = try await magpie("topics", "--json")
    #expect(kept.status == 0, "\(kept.error)")
    #expect(kept.lines.count == Topic.allCases.count)
    #expect(try member("partitions", of: kept.lines[0]) == 3)
    #expect(try member("created", of: kept.lines[0]) == false)
    #expect(try await magpie("topics", "--partitions", "3").status == 0)
    let refused = try await magpie("topics", "--partitions", "5")
    #expect(refused.status == 1)
    #expect(refused.error.contains("partition-count-must-grow.md"))
    #expect(refused.error.contains("--partitions 3"))
  }
}
