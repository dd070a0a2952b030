import Events
import Foundation
import Kafka
import Postgres
import RecordLog
import TestSupport
import Testing

@testable import magpie

/// `magpie replay --republish` and `--apply` without any worker.
@Suite struct ReplayAgainTests {
  private let setup: LetterDatabase

  init() throws { setup = try LetterDatabase(partitions: 2) }

  private func publish(_ count: Int) throws {
    let producer = try Producer(configuration: TestBroker.shared.configuration)
    try producer.send(
      try (0..<count).map { index in
        var wire = try setup.wire(setup.like("actor\(index)", owner: "owner\(index % 5)"))
        wire.headers.append(Header(name: "trace", value: nil))
        return OutgoingRecord(
          topic: Topic.likes.name(prefix: setup.prefix), wire: wire,
          timestampMilliseconds: 1_700_000_000_000 + Int64(index) * 1000)
      })
    producer.close()
  }

  private func all(_ prefix: String) throws -> [TopicPartition: [Record]] {
    let log = try KafkaLog(configuration: TestBroker.shared.configuration)
    var result: [TopicPartition: [Record]] = [:]
    try log.read(log.spans(of: [Topic.likes.name(prefix: prefix)]), maxRecords: 1000) { batch in
      for record in batch.records { result[record.topicPartition, default: []].append(record) }
    }
    return result
  }

  /// A broker of the test's own, with the topics of both prefixes, and the tool that connects to it.
  private func ownBroker(_ target: String, partitions: Int) throws -> (EmbeddedBroker, Tool) {
    let broker = try EmbeddedBroker()
    for prefix in [setup.prefix, target] {
      for topic in Topic.allCases {
        try broker.createTopic(topic.name(prefix: prefix), partitions: partitions)
      }
    }
    var tool = setup.tool
    tool.environment["MAGPIE_KAFKA_BOOTSTRAP"] = broker.bootstrap
    return (broker, tool)
  }

  @Test("republished records are equal, in the same order, and carry their origin")
  func republishes() async throws {
    try publish(200)
    // What workers publish is left out.
    let changes = Topic.notificationChanges
    let producer = try Producer(configuration: TestBroker.shared.configuration)
    try producer.send([
      OutgoingRecord(
        topic: changes.name(prefix: setup.prefix), partition: 0, key: nil, value: nil)
    ])
    producer.close()
    let target = TestBroker.topicPrefix()
    #expect(try await setup.tool("replay", "--republish", setup.prefix).status == 64)
    let missing = try await setup.tool("replay", "--republish", target)
    #expect(missing.status == 69 && missing.error.contains("magpie topics --topic-prefix"))
    try TestBroker.shared.createTopics(prefix: target, partitions: 2)
    let done = try await setup.tool("replay", "--republish", target)
    #expect(done.output == "200 published again\n", "\(done.error)")
    let (sources, copies) = (try all(setup.prefix), try all(target))
    #expect(copies.values.reduce(0) { $0 + $1.count } == 200)
    for (place, records) in sources {
      let copied =
        copies[
          TopicPartition(topic: Topic.likes.name(prefix: target), partition: place.partition)] ?? []
      #expect(copied.map(\.value) == records.map(\.value))
      #expect(copied.map(\.key) == records.map(\.key))
      #expect(copied.map(\.timestampMilliseconds) == records.map(\.timestampMilliseconds))
      for (copy, record) in zip(copied, records) {
        #expect(Array(copy.headers.dropLast()) == record.headers)
        #expect(
          copy.headers.last
            == Header("magpie_origin", "\(record.topic)/\(record.partition)/\(record.offset)"))
      }
    }
    let named = try await setup.tool("replay", "--republish", target, "--topic", changes.rawValue)
    #expect(named.output == "1 published again\n", "\(named.error)")
    // As many partitions as are selected, but not as many as there are.
    let narrow = TestBroker.topicPrefix()
    try TestBroker.shared.createTopics(prefix: narrow, partitions: 1)
    let one = try await setup.tool("replay", "--republish", narrow, "--partition", "likes:1")
    let likes = TopicPartition(topic: Topic.likes.name(prefix: setup.prefix), partition: 1)
    #expect(one.output == "\(sources[likes]?.count ?? 0) published again\n", "\(one.error)")
  }

  @Test("a killed republish resumes from its position file; another replay's file is refused")
  func resumes() async throws {
    // At one record per second, it is killed long before the last.
    try publish(2_000)
    let target = TestBroker.topicPrefix()
    try TestBroker.shared.createTopics(prefix: target, partitions: 2)
    let file = NSTemporaryDirectory() + "position-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: file) }
    let process = try setup.tool.makeProcess([
      "replay", "--republish", target, "--rate", "1", "--position", file,
    ])
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.start()
    try await eventually { FileManager.default.fileExists(atPath: file) }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    let before = try all(target).values.reduce(0) { $0 + $1.count }
    #expect(before > 0 && before < 2_000)
    let dry = try await setup.tool(
      "replay", "--republish", target, "--position", file, "--dry-run", "--json")
    let left: Int? = try member("records", of: dry.lines.last ?? "")
    #expect((2_000 - before...2_000 - before + 50).contains(left ?? 0), "\(dry)")
    let rest = try await setup.tool("replay", "--republish", target, "--position", file)
    #expect(rest.status == 0, "\(rest.error)")
    let copies = try all(target).values.flatMap { $0 }
    #expect(Set(copies.map { $0.headers.last?.value }).count == 2_000)
    // At most one second of records is published twice.
    #expect(copies.count < 2_000 + 50)
    let nothing = try await setup.tool("replay", "--republish", target, "--position", file)
    #expect(nothing.output == "0 published again\n")
    let other = try await setup.tool(
      "replay", "--republish", target, "--position", file, "--user", "owner1")
    #expect(other.status == 64 && other.error.contains("another replay"))

    // Recreated topics of these names.
    for count in [10_000, 10] {
      let (broker, tool) = try ownBroker(target, partitions: 2)
      defer { broker.close() }
      let producer = try Producer(
        configuration: ClientConfiguration(
          bootstrap: broker.bootstrap, properties: ["compression.type": "none"]))
      try producer.send(
        (0..<count).map {
          OutgoingRecord(
            topic: Topic.likes.name(prefix: setup.prefix), partition: Int32($0 % 2), key: nil,
            value: nil)
        })
      producer.close()
      let refused = try await tool("replay", "--republish", target, "--position", file)
      #expect(refused.status == 1, "\(refused.output)")
      #expect(
        refused.error.contains(count == 10 ? "ends at 5" : "is another log"), "\(refused.error)")
    }
  }

  @Test("brokers decide how large a record may be; one that is too large is named")
  func large() async throws {
    let target = TestBroker.topicPrefix()
    let (broker, tool) = try ownBroker(target, partitions: 1)
    defer { broker.close() }
    let producer = try Producer(
      configuration: ClientConfiguration(
        bootstrap: broker.bootstrap, properties: ["message.max.bytes": "2000000"]))
    defer { producer.close() }
    let likes = Topic.likes.name(prefix: setup.prefix)
    try producer.send(
      [1, 1_020_076].map {
        OutgoingRecord(
          topic: likes, partition: 0, key: nil, value: [UInt8](repeating: 1, count: $0))
      })
    let done = try await tool("replay", "--republish", target)
    #expect(done.output == "2 published again\n", "\(done.error)")
    let tooLarge = "\(likes)[0]@1 was not published again: MSG_SIZE_TOO_LARGE"
    let local = try await tool(
      "replay", "--republish", target, "--kafka-property", "message.max.bytes=1000000")
    #expect(local.status == 1 && local.output == "1 published again\n", "\(local)")
    #expect(
      local.error.contains(tooLarge)
        && local.error.contains("raise the Kafka property message.max.bytes"), "\(local.error)")
    broker.pushErrors(.produce, [.recordTooLarge])
    let refused = try await tool("replay", "--republish", target, "--from-offset", "likes:0:1")
    #expect(refused.status == 1 && refused.output == "0 published again\n", "\(refused)")
    #expect(
      refused.error.contains(tooLarge)
        && refused.error.contains("raise max.message.bytes of the topic"), "\(refused.error)")
  }

  @Test("a replay whose next records Kafka has deleted is not resumed")
  func deletedBeforeThePosition() async throws {
    let target = TestBroker.topicPrefix()
    let (broker, tool) = try ownBroker(target, partitions: 1)
    defer { broker.close() }
    let producer = try Producer(
      configuration: ClientConfiguration(
        bootstrap: broker.bootstrap, properties: ["compression.type": "none"]))
    defer { producer.close() }
    let likes = Topic.likes.name(prefix: setup.prefix)
    let record = OutgoingRecord(
      topic: likes, partition: 0, key: nil, value: [UInt8](repeating: 1, count: 30_000))
    let file = NSTemporaryDirectory() + "position-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: file) }
    try producer.send([record, record])
    let first = try await tool("replay", "--republish", target, "--position", file)
    #expect(first.output == "2 published again\n", "\(first.error)")
    // The embedded broker keeps 5 MiB of each partition.
    try producer.send([OutgoingRecord](repeating: record, count: 250))
    let refused = try await tool("replay", "--republish", target, "--position", file)
    #expect(refused.status == 66, "\(refused.output)\(refused.error)")
    #expect(
      refused.error.contains("\(likes)[0]: offsets 2 up to 252 were requested"), "\(refused.error)")
  }

  @Test("filters select by person, type, time and offset; a dry run counts and changes nothing")
  func filters() async throws {
    try publish(100)
    func count(_ arguments: String...) async throws -> Int? {
      let result = try await setup.tool.run(
        ["replay", "--apply", "--dry-run", "--json"] + arguments)
      #expect(result.status == 0, "\(result.error)")
      return try member("records", of: result.lines[0], as: Int.self)
    }
    #expect(try await count() == 100)
    #expect(try await count("--user", "owner1") == 20)
    #expect(try await count("--user", "owner1", "--user", "owner2", "--topic", "likes") == 40)
    #expect(try await count("--topic", "posts") == 0)
    #expect(try await count("--type", "like.removed.v1") == 0)
    #expect(try await count("--type", "magpie.like.created.v1") == 100)
    #expect(try await count("--since", "2023-11-14T22:13:50Z") == 70)
    #expect(
      try await count("--since", "2023-11-14T22:13:50Z", "--until", "2023-11-14T22:14:00Z") == 10)
    let end =
      try all(setup.prefix)[
        TopicPartition(topic: Topic.likes.name(prefix: setup.prefix), partition: 0)]?.count ?? 0
    #expect(end > 10 && end < 90)
    // --partition excludes other partitions.
    #expect(try await count("--partition", "likes:0") == end)
    #expect(try await count("--partition", "likes:0", "--partition", "likes:1") == 100)
    #expect(try await count("--from-offset", "likes:0:\(end)") == 0)
    #expect(try await count("--from-offset", "likes:0:3") == end - 3)
    #expect(
      try await count("--from-offset", "likes:0:3", "--partition", "likes:1") == 100 - 3)
    let text = try await setup.tool("replay", "--apply", "--dry-run", "--rate", "10")
    #expect(text.output.contains("people: 5") && text.output.contains("duration at --rate: 10 s"))
    #expect(try await setup.tool("replay", "--apply", "--type", "nonsense").status == 64)
    #expect(try await setup.tool("replay", "--apply", "--from-offset", "likes:9:0").status == 1)
    #expect(try await setup.tool("replay", "--apply", "--partition", "likes:9").status == 1)
    #expect(try await setup.tool("replay", "--apply", "--partition", "likes").status == 64)
    #expect(
      try await setup.tool("replay", "--apply", "--topic", "posts", "--partition", "likes:0")
        .status == 1)
    #expect(try setup.count("likes") == 0)
  }

  @Test("a dry run counts records of any time")
  func anyTime() async throws {
    let producer = try Producer(configuration: TestBroker.shared.configuration)
    try producer.send(
      [Int64.max, Int64.max / 1000 + 1, 1_700_000_000_000].map {
        OutgoingRecord(
          topic: Topic.likes.name(prefix: setup.prefix), key: nil, value: nil,
          timestampMilliseconds: $0)
      })
    producer.close()
    for mode in [["--apply"], ["--republish", "other."]] {
      let result = try await setup.tool.run(["replay", "--dry-run", "--json"] + mode)
      #expect(result.status == 0, "\(result.error)")
      #expect(try member("records", of: result.lines[0], as: Int.self) == 3)
      #expect(
        try member("to", of: result.lines[0]) == EventTime(microseconds: .max).rfc3339)
    }
  }

  @Test("a position that a full disk cannot take exits 74", .enabled(if: Mount.isPossible))
  func fullDisk() async throws {
    let mount = try Mount(kibibytes: 4)
    defer { mount.remove() }
    try Data(repeating: 1, count: 4096).write(to: URL(filePath: mount.path + "/all"))
    let target = TestBroker.topicPrefix()
    try TestBroker.shared.createTopics(prefix: target, partitions: 2)
    let full = try await setup.tool(
      "replay", "--republish", target, "--position", mount.path + "/position")
    #expect(
      full.status == 74 && full.error.contains("/position cannot be written"), "\(full.error)")
    let nowhere = try await setup.tool(
      "replay", "--republish", target, "--position", "/proc/nowhere/position")
    #expect(nowhere.status == 64, "\(nowhere.error)")
  }

  @Test(
    "a record that the target topic would delete at once is not republished",
    arguments: [
      (["retention.ms": "3600000"], true), (["retention.ms": "-1"], false), ([:], false),
      (["retention.ms": "7200000"], false),
      (["retention.ms": "3600000", "cleanup.policy": "compact"], false),
      (["retention.ms": "3600000", "message.timestamp.type": "LogAppendTime"], false),
    ])
  func retention(settings: [String: String], isRefused: Bool) throws {
    let now = EventTime(microseconds: 1_700_000_000_000_000)
    let record = Record(
      topic: "old.likes", partition: 0, offset: 7,
      timestampMilliseconds: 1_700_000_000_000 - 3_600_001, key: nil, value: nil)
    let retention = TargetRetention(["new.likes": settings])
    do {
      try retention.check(record, in: "new.likes", now: now)
      #expect(!isRefused)
    } catch let failure as Failure {
      #expect(isRefused)
      #expect(failure.message.contains("--topic new.likes --add-config retention.ms=-1"))
    }
  }

  @Test(
    "--apply waits while the workers are behind, and applies records that a worker dead-lettered")
  func applies() async throws {
    try publish(50)
    let group = setup.prefix + "notification"
    let likes = Topic.likes.name(prefix: setup.prefix)
    let partition = try #require(try all(setup.prefix).keys.first)
    try setup.connection.query(
      """
      INSERT INTO dead_letters (consumer_group, topic, partition, record_offset, header_names,
        header_values, reason_code, reason, code_version)
      VALUES ($1, $2, $3, 0, '{}', '{}', 'not-applicable', 'then', '0')
      """, [.text(group), .text(likes), .int4(partition.partition)])
    // This worker is connected and applies nothing, so all 50 records are lag.
    let worker = try Connection(
      setup.tool.environment["MAGPIE_DATABASE_URL"] ?? "", applicationName: group)
    let process = try setup.tool.makeProcess([
      "replay", "--apply", "--max-lag", "0", "--worker", "notification", "--progress",
    ])
    let said = NSTemporaryDirectory() + "said-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: said) }
    try Data().write(to: URL(filePath: said))
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle(forWritingAtPath: said)
    try process.start()
    try await eventually("it reports that it waits") {
      try String(contentsOfFile: said, encoding: .utf8).contains(
        "waiting for the workers: they have 50 records to apply (\(group) 50)")
    }
    #expect(try setup.count("likes") == 0)
    // It connects again when its session is lost.
    let lost = try setup.connection.query(
      """
      SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'magpie'
      """
    ).map { try $0.int(0) }
    #expect(!lost.isEmpty)
    try await eventually("it has another session") {
      try setup.count(
        """
        pg_stat_activity WHERE datname = current_database() AND application_name = 'magpie'
          AND pid <> ALL ('{\(lost.map(String.init).joined(separator: ","))}')
        """) == 1
    }
    // After a minute it ends by itself.
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    #expect(process.terminationStatus != 0)
    worker.close()
    try await eventually {
      try setup.count("pg_stat_activity WHERE application_name = '\(group)'") == 0
    }
    // It does not wait for a worker that is down, and says so.
    let done = try await setup.tool(
      "replay", "--apply", "--max-lag", "0", "--worker", "notification", "--json")
    #expect(done.status == 0, "\(done.error)")
    #expect(done.error.contains("no worker of \(group) is running; not waiting for its 50 records"))
    #expect(try member("applied", of: done.lines[0], as: Int.self) == 50)
    #expect(try setup.count("likes WHERE active") == 50)
    #expect(
      try setup.count("dead_letters WHERE state = 'redriven' AND resolved_by = 'a replay'") == 1)
    #expect(try setup.count("consumer_offsets") == 0)
  }
}
