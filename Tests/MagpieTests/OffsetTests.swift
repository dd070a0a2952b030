import Events
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

/// `magpie offsets`: its refusals and its changes.
@Suite struct OffsetTests {
  private let setup: LetterDatabase
  private var likes: String { Topic.likes.name(prefix: setup.prefix) }
  private var group: String { setup.prefix + "notification" }

  init() throws { setup = try LetterDatabase(partitions: 2) }

  private func records(_ count: Int, partition: Int32, bytes: Int = 10) -> [OutgoingRecord] {
    (0..<count).map { index in
      OutgoingRecord(
        topic: likes, partition: partition, key: Array("k\(index)".utf8),
        value: [UInt8](repeating: UInt8(index % 251), count: bytes),
        headers: [Header("ce_id", "\(partition)-\(index)")],
        timestampMilliseconds: 1_700_000_000_000 + Int64(index) * 60_000)
    }
  }

  private func produce(_ records: [OutgoingRecord], to bootstrap: String? = nil) throws {
    let producer = try Producer(
      configuration: ClientConfiguration(
        bootstrap: bootstrap ?? TestBroker.shared.bootstrap,
        properties: ["compression.type": "none"]))
    try producer.send(records)
    producer.close()
  }

  private func store(_ next: Int64, partition: Int32) throws {
    try setup.connection.query(
      "SELECT fence_claim($1, $2, $3, $4)",
      [.text(group), .textArray([likes]), .int4Array([partition]), .int8Array([next])])
  }

  /// `next/epoch` of each partition with a row.
  private func stored() throws -> [String] {
    try setup.connection.query(
      "SELECT next_offset || '/' || owner_epoch FROM consumer_offsets ORDER BY partition"
    ).map { try $0.text(0) }
  }

  private func reset(_ arguments: String...) async throws -> Tool.Result {
    try await setup.tool.run(
      ["offsets", "reset", "--group", "notification", "--topic", "likes"] + arguments)
  }

  @Test(
    "moving back sets the offset, bumps the epoch and reports how many records are applied again")
  func back() async throws {
    try produce(records(10, partition: 0) + records(5, partition: 1))
    try store(8, partition: 0)
    try store(5, partition: 1)
    let dry = try await reset("--to-start", "--dry-run")
    #expect(dry.status == 0 && dry.output.contains("2 partitions would be moved"), "\(dry.error)")
    #expect(try stored() == ["8/1", "5/1"])
    let known = "last_offset = next_offset - 1, last_identity = '1-1'"
    try setup.connection.script("UPDATE consumer_offsets SET \(known)")
    let done = try await reset("--to-start", "--json")
    #expect(try member("reapplied", of: done.lines[2], as: Int.self) == 13)
    #expect(try stored() == ["0/2", "0/2"])
    #expect(try setup.count("consumer_offsets WHERE last_offset IS NOT NULL") == 0)
    let one = try await reset("--partition", "0", "--to-offset", "0")
    #expect(one.output.contains("1 partitions moved"), "\(one.error)")
    #expect(try stored() == ["0/3", "0/2"])
  }

  @Test("nothing is printed as moved if the transaction is not committed")
  func notCommitted() async throws {
    try produce(records(10, partition: 0))
    try store(8, partition: 0)
    let input = Array(try await setup.tool("offsets", "export").output.utf8)
    try setup.connection.script(
      """
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE 'not today';
      END
      $$;
      CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON consumer_offsets
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()
      """)
    for result in [
      try await reset("--to-start"),
      try await setup.tool("offsets", "import", "-", "--by", "offset", input: input),
    ] {
      #expect(result.status == 1 && result.output == "", "\(result.output)")
      #expect(result.error.contains("not today"), "\(result.error)")
    }
    #expect(try stored() == ["8/1"])
  }

  @Test("moving forward requires the exact number of skipped records")
  func forward() async throws {
    try produce(records(10, partition: 0) + records(5, partition: 1))
    try store(3, partition: 0)
    // A partition that was never consumed counts from its log start offset.
    for arguments in [[], ["--skip-records", "7"], ["--skip-records", "13"]] {
      let refused = try await setup.tool.run(
        ["offsets", "reset", "--group", group, "--topic", likes, "--to-end"] + arguments)
      #expect(refused.status == 1)
      #expect(refused.error.contains("--skip-records 12"), "\(refused.error)")
    }
    #expect(try stored() == ["3/1"])
    #expect(try await reset("--to-start", "--skip-records", "1").status == 1)
    let ahead = try await reset("--to-time", "2023-11-14T22:18:20Z")
    #expect(
      ahead.status == 1 && ahead.error.contains("To apply all records, use an earlier time"),
      "\(ahead.error)")
    let done = try await reset("--to-end", "--skip-records", "12")
    #expect(done.status == 0, "\(done.error)")
    #expect(try stored() == ["10/2", "5/1"])
    // Minute 4 is before the stored offsets, so no record is skipped.
    let back = try await reset("--to-time", "2023-11-14T22:17:20Z")
    #expect(back.status == 0, "\(back.error)")
    #expect(try stored() == ["4/3", "4/2"])
  }

  @Test(
    "offsets beyond the log, unknown groups, topics and partitions, and two targets are refused")
  func refuses() async throws {
    try produce(records(3, partition: 0))
    #expect(try await reset("--partition", "0", "--to-offset", "4").status == 1)
    #expect(try await reset("--to-offset", "1").status == 64)
    #expect(try await reset("--to-start", "--to-end").status == 64)
    #expect(try await reset().status == 64)
    #expect(try await reset("--partition", "7", "--to-start").status == 64)
    for arguments in [
      ["--to-start"], ["--group", "nobody", "--to-start"],
      ["--group", "alarm", "--topic", "likes", "--to-start"],
    ] {
      #expect(try await setup.tool.run(["offsets", "reset"] + arguments).status == 64)
    }
    #expect(try stored() == [])
  }

  @Test("after the log lost records, the command that the worker prints works")
  func truncated() async throws {
    // The embedded broker keeps 5 MiB of each partition.
    try produce(records(250, partition: 0, bytes: 30_000))
    try store(2, partition: 0)
    let shown = try await setup.tool(
      "offsets", "show", "--group", "notification", "--topic", "likes", "--json")
    let low = try member("lowWatermark", of: shown.lines[0], as: Int64.self) ?? 0
    #expect(low > 2, "\(shown.output)\(shown.error)")
    #expect(try member("lagSeconds", of: shown.lines[0], as: Double.self) ?? 0 > 1_000_000)
    #expect(
      try await setup.tool("offsets", "show").output.contains("were deleted before they were"))
    let refused = try await reset("--partition", "0", "--to-start")
    #expect(refused.status == 1 && refused.error.contains("--skip-records \(low - 2)"))
    let done = try await reset("--partition", "0", "--to-start", "--skip-records", "\(low - 2)")
    #expect(done.status == 0, "\(done.error)")
    #expect(try stored() == ["\(low)/2"])
  }

  @Test("lag marks a stored offset past the end of the log")
  func pastEnd() async throws {
    try produce(records(3, partition: 0))
    try store(3, partition: 0)
    #expect(try await setup.tool("lag").output.contains("past the end") == false)
    try setup.connection.script("UPDATE consumer_offsets SET next_offset = 5")
    let lag = try await setup.tool("lag", "--json")
    let past = try lag.lines.dropLast().filter { try member("isPastEnd", of: $0) == true }
    #expect(past.count == 1 && past[0].contains("\"nextOffset\":5"), "\(lag.output)")
    let text = try await setup.tool("lag")
    #expect(text.status == 0, "\(text.error)")
    #expect(
      text.output.contains("\(likes)[0]  next 5  high 3  lag 0  past the end"), "\(text.output)")
  }

  @Test("lag shows every kind of queued work, as a text and as JSON")
  func pending() async throws {
    #expect(try await setup.tool("lag").output.contains("waiting: ") == false)
    try setup.connection.script(
      """
      INSERT INTO pending_renders (user_id, part) VALUES ('a', 'actor'), ('b', 'actor');
      INSERT INTO notification_scoped_reviews
        (recipient, scope, type, value, after_time, caused_at)
      VALUES ('a', 'actor', -1, 'b', now(), now());
      INSERT INTO subscription_work (author, post_id, caused_at)
      SELECT 'a', 'p' || n, now() FROM generate_series(1, 3) AS n
      """)
    let text = try await setup.tool("lag")
    for phrase in [
      "2 people to render again", "1 reviews after mutes", "3 posts to announce to subscribers",
    ] {
      #expect(text.output.contains("waiting: \(phrase)\n"), "\(text.output)\(text.error)")
    }
    let total = try await setup.tool("lag", "--json").lines.last ?? ""
    for (name, count) in [
      ("Renders", 2), ("Reviews", 1), ("Subscriptions", 3), ("Reminders", 0), ("Erasures", 0),
    ] {
      #expect(try member("pending\(name)", of: total) == count, "\(total)")
    }
  }

  @Test("an export that fails leaves the former file and nothing else, and a later one replaces it")
  func exportsToFile() async throws {
    try produce(records(2, partition: 0))
    try store(1, partition: 0)
    let directory = FileManager.default.temporaryDirectory.appending(path: "offsets-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appending(path: "offsets.jsonl")
    try Data("former\n".utf8).write(to: file)
    let failed = try await setup.tool(
      "offsets", "export", "--output", file.path, "--group", "nobody")
    #expect(failed.status == 64, "\(failed.error)")
    #expect(try String(contentsOf: file, encoding: .utf8) == "former\n")
    let done = try await setup.tool("offsets", "export", "--output", file.path)
    #expect(done.status == 0, "\(done.error)")
    let piped = try await setup.tool("offsets", "export", "--output", "/dev/stdout")
    #expect(piped.lines.count == 1, "\(piped.error)")
    #expect(try String(contentsOf: file, encoding: .utf8) == piped.output)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["offsets.jsonl"])
  }

  @Test("an import by offset compares the record before each offset, and is refused if one differs")
  func importsByOffset() async throws {
    let all = records(10, partition: 0) + records(5, partition: 1)
    try produce(all)
    try store(7, partition: 0)
    try store(5, partition: 1)
    let exported = try await setup.tool("offsets", "export")
    #expect(exported.lines.count == 2, "\(exported.error)")
    let input = Array(exported.output.utf8)

    var changed = all
    changed[6].headers = [Header("ce_id", "another")]
    for (copy, isRefused) in [(all, false), (changed, true), (Array(all[..<6]), true)] {
      let (broker, other) = try otherCluster(partitions: 2)
      try produce(copy, to: broker.bootstrap)
      try setup.connection.query("UPDATE consumer_offsets SET next_offset = 0")
      let result = try await other("offsets", "import", "-", "--by", "offset", input: input)
      #expect(result.status == (isRefused ? 1 : 0), "\(result.error)")
      let offsets = try stored().map { $0.prefix { $0 != "/" } }
      #expect(offsets == (isRefused ? ["0", "0"] : ["7", "5"]))
    }
  }

  @Test(
    "an import by time goes back by the margin, even to another number of partitions, never forward"
  )
  func importsByTime() async throws {
    try produce(records(10, partition: 0) + records(5, partition: 1))
    try store(7, partition: 0)
    try store(5, partition: 1)
    let input = Array(try await setup.tool("offsets", "export").output.utf8)

    let (same, sameTool) = try otherCluster(partitions: 2)
    // The copy begins with another record, so its offsets differ.
    try produce(
      [records(1, partition: 0)[0]] + records(10, partition: 0) + records(5, partition: 1),
      to: same.bootstrap)
    let moved = try await sameTool(
      "offsets", "import", "-", "--by", "time", "--margin-seconds", "120", input: input)
    #expect(moved.status == 0, "\(moved.error)")
    // Minutes 6 and 4, minus two minutes: offsets 4 + 1 and 2.
    #expect(try stored().map { $0.prefix { $0 != "/" } } == ["5", "2"])

    let (broker, otherTool) = try otherCluster(partitions: 1)
    try produce(records(10, partition: 0), to: broker.bootstrap)
    let merged = try await otherTool(
      "offsets", "import", "-", "--by", "time", "--margin-seconds", "60", input: input)
    #expect(merged.status == 0, "\(merged.error)")
    #expect(try stored().first?.hasPrefix("3/") == true, "the earlier of minutes 6 and 4, less one")
    let reminders = String(decoding: input, as: UTF8.self).replacing("likes", with: "reminders")
    let fewer = try await otherTool(
      "offsets", "import", "-", "--by", "time", input: Array(reminders.utf8))
    #expect(fewer.status == 1 && fewer.error.contains("create the topic with as many"), "\(fewer)")
  }

  @Test("an import is refused while a worker is connected")
  func importNeedsStoppedWorkers() async throws {
    try produce(records(2, partition: 0))
    try store(1, partition: 0)
    let input = Array(try await setup.tool("offsets", "export").output.utf8)
    let worker = try Connection(
      setup.tool.environment["MAGPIE_DATABASE_URL"] ?? "", applicationName: group)
    let refused = try await setup.tool("offsets", "import", "-", "--by", "offset", input: input)
    #expect(refused.status == 1 && refused.error.contains("Stop them first"), "\(refused.error)")
    worker.close()
    try await eventually {
      try setup.count("pg_stat_activity WHERE application_name = '\(group)'") == 0
    }
    #expect(
      try await setup.tool("offsets", "import", "-", "--by", "offset", input: input).status == 0)
    let garbage = try await setup.tool(
      "offsets", "import", "-", "--by", "offset", input: Array("{}\n".utf8))
    #expect(garbage.status == 64)
    let negative = String(decoding: input, as: UTF8.self)
      .replacing(#""nextOffset":1"#, with: #""nextOffset":-1"#)
    let refusedLine = try await setup.tool(
      "offsets", "import", "-", "--by", "offset", input: Array(negative.utf8))
    #expect(refusedLine.status == 64, "\(refusedLine.error)")
    #expect(
      refusedLine.error.contains("export`: nextOffset or partition is negative."),
      "\(refusedLine.error)")
  }

  private func otherCluster(partitions: Int) throws -> (EmbeddedBroker, Tool) {
    let broker = try EmbeddedBroker()
    for topic in Topic.allCases {
      try broker.createTopic(topic.name(prefix: setup.prefix), partitions: partitions)
    }
    var tool = setup.tool
    tool.environment["MAGPIE_KAFKA_BOOTSTRAP"] = broker.bootstrap
    return (broker, tool)
  }
}
