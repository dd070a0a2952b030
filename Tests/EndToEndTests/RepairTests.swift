import Events
import Foundation
import Model
import Postgres
import TestSupport
import Testing
import Verification

/// Repairs of a running system, compared with the model of the whole log.
@Suite(.serialized) struct RepairTests {
  @Test(
    "after a defect is fixed and its dead letters are redriven under live workers, the tables equal the model"
  )
  func redriven() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 4)
    defer { stack.stop() }
    // A defect in the tables: about one in sixteen records of several kinds cannot be applied.
    let defects = [
      ("likes", "post_id || actor"), ("comments", "comment_id"), ("messages", "message_id"),
      ("posts", "post_id"), ("profiles", "nickname"), ("alarms", "notification_id::text"),
    ]
    for (table, column) in defects {
      try stack.connection().script(
        "ALTER TABLE \(table) ADD CONSTRAINT defect CHECK (md5(\(column)) NOT LIKE '7%')")
    }
    let log = try generate(stack, events: 3000, generator: &generator)
    for worker in Stack.workers { try stack.start(worker, lanes: 2) }
    try stack.publish(log[..<2000])
    try waitUntilApplied(stack)
    let open = try count(stack, "dead_letters WHERE state = 'open'")
    #expect(open > 20)
    let lag = try stack.magpie("lag")
    #expect(lag.output.contains("open dead letters: \(open)"))

    // Before the fix, all fail again and stay open.
    let tooEarly = try stack.magpie("dead-letters", "redrive", "--all")
    #expect(tooEarly.exit == .exited(1), "\(tooEarly.output)")
    // Except those that a newer version of the same fact has superseded.
    #expect(try count(stack, "dead_letters WHERE state = 'open'") > open / 2)
    #expect(try count(stack, "dead_letters WHERE state = 'open' AND attempts < 3") == 0)

    for (table, _) in defects {
      try stack.connection().script("ALTER TABLE \(table) DROP CONSTRAINT defect")
    }
    let redrive = try stack.child("dead-letters", "redrive", "--all", "--batch", "7")
    try stack.publish(log[2000...])
    #expect(redrive.wait(seconds: hangLimitSeconds) == .exited(0))
    try waitUntilApplied(stack)
    // Snapshots that the alarm-worker dead-lettered after the redrive had begun are still open.
    try stack.magpie("dead-letters", "redrive", "--all")
    try waitUntilApplied(stack)
    #expect(try count(stack, "dead_letters WHERE state <> 'redriven'") == 0)
    #expect(try count(stack, "dead_letter_history WHERE what = 'redriven'") >= open)
    try expectModel(log, stack)
  }

  @Test("applying the whole log again, twice, under live workers changes no row of any table")
  func appliedAgain() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 3)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker) }
    let log = try generate(stack, events: 1500, generator: &generator)
    try stack.publish(log[...])
    try await swept(stack)
    let rows = try stack.rows()
    #expect(rows.count > 1000)
    for round in 1...2 {
      let again = try stack.magpie("replay", "--apply", "--json", "--max-lag", "5000")
      #expect(again.exit == .exited(0), "\(again.output)")
      try await swept(stack)
      let difference = try stack.rows().difference(from: rows)
      #expect(difference.isEmpty, "round \(round): \(difference.prefix(4))")
    }
    #expect(try count(stack, "dead_letters") == 0)
    try expectModel(log, stack)
  }

  @Test("resetting offsets repeatedly under live workers loses and duplicates nothing")
  func resets() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 3)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker, lanes: 2) }
    let log = try generate(stack, events: 3000, generator: &generator)
    for part in 0..<6 {
      try stack.publish(log[(part * 500)..<((part + 1) * 500)])
      let group = ["fanout", "notification", "alarm"].randomElement(using: &generator) ?? ""
      let reset = try stack.magpie("offsets", "reset", "--group", group, "--to-start")
      #expect(reset.exit == .exited(0), "\(reset.output)")
    }
    // The lanes resume from the new offsets without help.
    try waitUntilApplied(stack)
    #expect(try count(stack, "dead_letters") == 0)
    #expect(try count(stack, "consumer_offsets WHERE owner_epoch > 1") > 0)
    try expectModel(log, stack)
  }

  private func generate(_ stack: Stack, events: Int, generator: inout SeededGenerator) throws
    -> [Substring]
  {
    let file = stack.directory.appending(path: "events.jsonl").path
    let seed = UInt32.random(in: 1...1_000_000, using: &generator)
    let generated = try stack.magpie(
      "generate", "--users", "80", "--events", "\(events)", "--seed", "\(seed)", "--output", file)
    #expect(generated.exit == .exited(0), "\(generated.output)")
    return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
  }

  /// Waits until everything is applied. Rows that wait for a redrive may break invariants.
  private func waitUntilApplied(_ stack: Stack) throws {
    let waited = try stack.magpie("verify", "--wait", hangLimitText)
    #expect([.exited(0), .exited(1)].contains(waited.exit), "\(waited.output)\n\(stack.logTails)")
  }

  private func swept(_ stack: Stack) async throws {
    try waitUntilApplied(stack)
    try await eventually("deleted notifications are swept") {
      try stack.connection().query(
        "SELECT NOT EXISTS (SELECT FROM notification_recipients WHERE deleted_all_at > swept_at)"
      ).only.bool(0)
    }
    try waitUntilApplied(stack)
  }

  private func expectModel(_ log: [Substring], _ stack: Stack) throws {
    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")
    let model = Model(try log.map { try StructuredEvent.decode(String($0)) })
    let differences = try ModelComparison(model: model, connection: stack.connection())
      .differences()
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
  }

  private func count(_ stack: Stack, _ sql: String) throws -> Int {
    try stack.connection().query("SELECT count(*) FROM \(sql)").only.int(0)
  }
}
