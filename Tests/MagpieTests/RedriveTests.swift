import Events
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

/// `magpie dead-letters redrive`.
@Suite struct RedriveTests {
  private let letters: LetterDatabase

  init() throws { letters = try LetterDatabase() }

  private func insertLikes(_ count: Int, poison: Set<Int> = []) throws {
    for offset in 0..<count {
      var record = try letters.wire(letters.like("actor\(offset)", post: "post\(offset % 7)"))
      if poison.contains(offset) { record.value = Array("{".utf8) }
      try letters.insert(record, offset: offset)
    }
  }

  @Test(
    "redriven dead letters are applied and published; those that fail again stay open with their history"
  )
  func redrives() async throws {
    try insertLikes(40, poison: [3, 17, 18])
    let done = try await letters.tool("dead-letters", "redrive", "--all", "--json", "--batch", "16")
    #expect(done.status == 1, "\(done.error)")
    #expect(try member("redriven", of: done.lines[0], as: Int.self) == 37)
    #expect(try member("failed", of: done.lines[0], as: Int.self) == 3)
    #expect(try letters.count("likes WHERE active") == 37)
    #expect(try letters.count("notifications") == 7)
    #expect(try letters.count("dead_letters WHERE state = 'redriven' AND attempts = 2") == 37)
    #expect(
      try letters.count(
        "dead_letters WHERE state = 'open' AND attempts = 2 AND reason_code = 'bad-json'") == 3)
    #expect(
      try letters.count(
        "dead_letter_history WHERE what = 'failed' AND entry = 1 AND reason = 'for the test'") == 40
    )
    #expect(try letters.count("dead_letter_history WHERE what = 'failed' AND entry = 2") == 3)
    let admin = try Admin(configuration: TestBroker.shared.configuration)
    let changes = try admin.watermarks(
      topics: [Topic.notificationChanges.name(prefix: letters.prefix)])
    #expect(changes.values.reduce(0) { $0 + $1.high } >= 7)
    // Only the three remain, and another redrive fails on them again.
    let again = try await letters.tool("dead-letters", "redrive", "--group", "notification")
    #expect(again.status == 1 && again.output == "0 redriven, 3 failed again and stay open\n")
    #expect(try letters.count("dead_letters WHERE attempts = 3") == 3)
  }

  @Test("only selected dead letters are redriven, and a dry run changes nothing")
  func selects() async throws {
    try insertLikes(5)
    try letters.insert(letters.wire(letters.like("z")), offset: 9, code: "wrong-key")
    #expect(try await letters.tool("dead-letters", "redrive").status == 64)
    let dry = try await letters.tool("dead-letters", "redrive", "--all", "--dry-run")
    #expect(dry.output == "6 would be redriven\n")
    let counted = try await letters.tool("dead-letters", "redrive", "--all", "--dry-run", "--json")
    #expect(try member("redriven", of: counted.lines[0]) == 6)
    #expect(try member("dryRun", of: counted.lines[0]) == true)
    let one = try await letters.tool("dead-letters", "redrive", letters.id(2))
    #expect(one.output == "1 redriven\n", "\(one.error)")
    #expect(try letters.states() == ["open", "open", "redriven", "open", "open", "open"])
    for arguments in [[], ["--dry-run"]] {
      let again = try await letters.tool.run(
        ["dead-letters", "redrive", letters.id(2)] + arguments)
      #expect(again.status == 1 && again.output.hasPrefix("0 "), "\(again.output)")
      #expect(again.error.contains("\(letters.id(2)) is not open: it was redriven by "))
    }
    // Set aside, because its log is gone.
    try letters.connection.script(
      "UPDATE dead_letters SET topic = topic || '@gone-20260101T000000' WHERE record_offset = 9")
    let some = try await letters.tool("dead-letters", "redrive", "--reason-code", "wrong-key")
    #expect(some.output == "1 redriven\n")
    #expect(try letters.count("dead_letters WHERE state = 'open'") == 4)
  }

  @Test("dead letters of devices are counted and stay open, and the others are redriven")
  func secretTopic() async throws {
    try insertLikes(2)
    let nothing = WireRecord(key: Array("a".utf8), value: nil, headers: [])
    try letters.insert(nothing, offset: 5, group: "push", topic: .devices, code: "bad-token")
    // Of a topic that the same worker reads and whose name sorts after that one.
    try letters.insert(nothing, offset: 6, group: "push", topic: .people, code: "missing-header")
    let dry = try await letters.tool("dead-letters", "redrive", "--all", "--dry-run")
    #expect(dry.output == "3 would be redriven, 1 can only be discarded\n", "\(dry.error)")
    let done = try await letters.tool("dead-letters", "redrive", "--all")
    #expect(
      done.output == "2 redriven, 1 failed again and stay open, 1 can only be discarded\n",
      "\(done.error)")
    #expect(done.status == 1 && !done.error.contains("is not a topic of"), "\(done.error)")
    #expect(try letters.states() == ["redriven", "redriven", "open", "open"])
    let one = try await letters.tool("dead-letters", "redrive", "--topic", "devices", "--json")
    #expect(one.status == 1, "\(one.error)")
    #expect(try member("discardOnly", of: one.lines[0]) == 1)
  }

  @Test(
    "what computes random moments without reminder-worker's secret warns, and nothing else does")
  func missingSecret() async throws {
    try letters.insert(letters.wire(letters.like("a")), offset: 0)
    try letters.insert(
      letters.wire(letters.like("b")), offset: 1, group: "reminder", topic: .reminders)
    let secret = NSTemporaryDirectory() + "secret-\(UUID().uuidString)"
    try Data(repeating: 7, count: 32).write(to: URL(filePath: secret))
    defer { try? FileManager.default.removeItem(atPath: secret) }
    for (arguments, isWarned) in [
      (["dead-letters", "redrive", "--group", "notification"], false),
      (["dead-letters", "redrive", "--all"], true),
      (["replay", "--rebuild", "alarms", "--dry-run"], false),
      (["replay", "--rebuild", "all", "--dry-run"], true),
      (["replay", "--apply", "--dry-run", "--worker", "alarm"], false),
      (["replay", "--apply", "--dry-run"], true),
    ] {
      let bare = try await letters.tool.run(arguments)
      #expect(bare.error.contains("MAGPIE_SECRET_FILE") == isWarned, "\(arguments): \(bare.error)")
      let kept = try await letters.tool.run(arguments + ["--secret-file", secret])
      #expect(!kept.error.contains("MAGPIE_SECRET_FILE"), "\(arguments): \(kept.error)")
    }
  }

  @Test("without a broker, no dead letter whose events must be published is marked as redriven")
  func needsBroker() async throws {
    try insertLikes(2)
    var tool = letters.tool
    tool.environment["MAGPIE_KAFKA_BOOTSTRAP"] = "127.0.0.1:9"
    let failed = try await tool(
      "dead-letters", "redrive", "--all", "--kafka-property", "message.timeout.ms=1500",
      "--patience", "1")
    #expect(failed.status == 69, "\(failed.error)")
    #expect(try letters.states() == ["open", "open"])
    #expect(try letters.count("likes") == 0)
  }

  @Test("if it fails half-way, it reports what was redriven before")
  func partly() async throws {
    try insertLikes(10)
    try letters.connection.script(
      """
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE insufficient_privilege;
      END
      $$;
      CREATE TRIGGER refuse BEFORE INSERT ON likes FOR EACH ROW WHEN (NEW.actor = 'actor7')
        EXECUTE FUNCTION refuse()
      """)
    let failed = try await letters.tool("dead-letters", "redrive", "--all", "--batch", "3")
    #expect(failed.status != 0 && failed.output == "6 redriven\n", "\(failed.output)")
    #expect(!failed.error.isEmpty)
    #expect(try letters.count("dead_letters WHERE state = 'redriven'") == 6)
  }

  @Test("killed at any point and run twice concurrently, it redrives each once and loses none")
  func killed() async throws {
    try insertLikes(600, poison: [100])
    for redriven in [0, 1, 60, 200] {
      let process = try letters.tool.makeProcess([
        "dead-letters", "redrive", "--all", "--batch", "5",
      ])
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.start()
      // At this moment it is usually in the middle of a batch.
      try await eventually("\(redriven) are redriven") {
        try letters.count("dead_letters WHERE state = 'redriven'") >= redriven
      }
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
    // The last one's COMMIT may still be under way.
    try await eventually("its sessions have ended") {
      try letters.count(
        "pg_stat_activity WHERE datname = current_database() AND application_name = 'magpie'") == 0
    }
    let open = try letters.count("dead_letters WHERE state = 'open'")
    let applied = try letters.count("likes")
    #expect(applied == 600 - open)
    let tool = letters.tool
    async let one = tool("dead-letters", "redrive", "--all", "--batch", "7", "--json")
    async let two = tool("dead-letters", "redrive", "--all", "--batch", "5", "--json")
    let results = try await [one, two]
    let redriven = try results.map { try member("redriven", of: $0.lines[0], as: Int.self) ?? 0 }
    #expect(redriven.reduce(0, +) == open - 1)
    #expect(try letters.count("likes") == 599)
    #expect(try letters.count("dead_letters WHERE state = 'redriven' AND attempts = 2") == 599)
    #expect(try letters.count("dead_letter_history WHERE what = 'redriven'") == 599)
    let broken = try letters.connection.query("SELECT count(*) FROM verify_notifications()")
    #expect(try broken.only.int(0) == 0)
  }
}
