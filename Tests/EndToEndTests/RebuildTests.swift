import EmbeddedStack
import Events
import Foundation
import Model
import Postgres
import TestSupport
import Testing
import Verification

/// Rebuilding and swapping tables without concurrent writes.
@Suite(.serialized, .onTrueEnds) struct RebuildTests {
  @Test(
    "a rebuild killed at six random points completes and equals the live tables, as does one over its result"
  )
  func killedRebuild() async throws {
    var generator = SeededGenerator()
    let (stack, lines) = try await filledStack(events: 3000, generator: &generator)
    defer { stack.stop() }
    let live = try stack.rows()

    var kills = 0
    for _ in 0..<200 where kills < 6 {
      let child = try stack.startMagpie("replay", "--rebuild", "all")
      let seconds = Double.random(in: 0.05...2.5, using: &generator)
      if let exit = child.wait(seconds: seconds) {
        // It completed before the kill: start again.
        #expect(exit == .exited(0), "\(stack.logTails)")
        try stack.succeed("replay", "--drop-rebuilt")
      } else {
        child.terminate(SIGKILL)
        kills += 1
      }
    }
    #expect(kills == 6)
    try stack.succeed("replay", "--rebuild", "all")
    try stack.expectRows(live, in: "magpie_shadow")
    #expect(try stack.rows() == live, "the live tables are unchanged")
    try stack.expectInvariants(in: "magpie_shadow")

    // Applying the whole log again changes nothing.
    try stack.connection().script(
      "UPDATE magpie_shadow.consumer_offsets SET next_offset = 0 WHERE topic !~ 'changes'")
    try stack.succeed("replay", "--rebuild", "all")
    try stack.expectRows(live, in: "magpie_shadow")
    try await exchanges(stack, lines, live, &generator)
  }

  /// Swaps with a blocking reader, kills and concurrency; the contents of the live tables never change.
  private func exchanges(
    _ stack: Stack, _ lines: [Substring], _ live: [String], _ generator: inout SeededGenerator
  ) async throws {
    // The snapshot of this reader is older than the tables that it might read after a swap.
    let reader = try stack.connection()
    try reader.script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM users")
    try stack.connection().script("CREATE TABLE something AS SELECT 1")
    let refused = try stack.magpie("replay", "--swap", "--wait-readers", "1")
    #expect(refused.exit == .exited(1))
    #expect(refused.output.contains("process \(reader.backendProcessID)"), "\(refused.output)")
    #expect(try reader.query("SELECT count(*) FROM follows").only.int(0) > 0)
    try reader.script("COMMIT")

    // A swap killed at any moment has happened entirely or not at all.
    var exchanged = 0
    for attempt in 0..<8 {
      // Up to 1, 2, 3, 5, 8, 13, 21 and 35 s, so that on any machine some are killed and some complete.
      let seconds = Double.random(in: 0.1...pow(1.66, Double(attempt)), using: &generator)
      if try await stack.exchange(killedAfter: seconds) { exchanged += 1 }
      #expect(try stack.hasSchema("magpie_old") != stack.hasSchema("magpie_shadow"))
      try stack.expectRows(live, in: "public")
    }
    #expect(exchanged > 0)

    // Of two concurrent swaps, one succeeds.
    if try stack.hasSchema("magpie_old") { try stack.succeed("replay", "--swap-back") }
    if try stack.hasSchema("magpie_old") {
      try stack.succeed("replay", "--drop-old")
      try stack.succeed("replay", "--rebuild", "all")
    }
    let two = try [0, 1].map { _ in try stack.startMagpie("replay", "--swap") }
    let exits = two.map { $0.wait(seconds: hangLimitSeconds) }
    #expect(exits.count { $0 == .exited(0) } == 1, "\(exits)\n\(stack.logTails)")
    try stack.expectRows(live, in: "public")

    // The workers continue on these tables, and after swapping back on the former ones.
    for _ in 0..<2 {
      let verified = try stack.magpie("verify", "--wait", hangLimitText)
      #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")
      let model = Model(try lines.map { try StructuredEvent.decode(String($0)) })
      let differences = try ModelComparison(model: model, connection: try stack.connection())
        .differences()
      #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
      if try stack.hasSchema("magpie_old") { try stack.succeed("replay", "--swap-back") }
    }
    try stack.succeed("replay", "--drop-old")
    #expect(try !stack.hasSchema("magpie_old"))
    try stack.expectRows(live, in: "public")
  }

  @Test("rows that a broken handler wrote are gone after a rebuild and a swap", .onDebugWorkers)
  func brokenHandler() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    try stack.start(
      "fanout-worker",
      sabotage: "UPDATE follow_counts SET followers = followers + 1 WHERE user_key % 5 = 0")
    try stack.start(
      "notification-worker",
      sabotage: "DELETE FROM notifications WHERE abs(hashtext(notification_id::text)) % 4 = 0")
    for worker in ["alarm-worker", "reminder-worker"] { try stack.start(worker) }
    let lines = try stack.generated(users: 60, events: 2000, generator: &generator)
    try stack.publish(lines)
    try await stack.waitUntilApplied()
    let found = try stack.magpie("verify")
    #expect(found.exit == .exited(1))
    #expect(found.output.contains("follow_counts = active follows"), "\(found.output)")
    #expect(found.output.contains("verify_notifications: broken"), "\(found.output)")

    // The bug is fixed, and more events are published.
    stack.stopWorkers()
    for worker in Stack.workers { try stack.start(worker) }
    try stack.succeed("replay", "--rebuild", "all")
    let diff = try stack.magpie("replay", "--diff")
    #expect(diff.exit == .exited(1))
    #expect(diff.output.contains("follow_counts"), "\(diff.output)")
    #expect(diff.output.contains("notifications"), "\(diff.output)")
    let more = try stack.generated(users: 60, events: 1000, generator: &generator)
    try stack.publish(more)
    try stack.succeed("replay", "--swap")
    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")
    try stack.succeed("verify", "--deep")
    let model = Model(try (lines + more).map { try StructuredEvent.decode(String($0)) })
    let differences = try ModelComparison(model: model, connection: try stack.connection())
      .differences()
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
  }

  private func filledStack(events: Int, generator: inout SeededGenerator) async throws
    -> (Stack, [Substring])
  {
    let stack = try Stack(partitions: 4)
    for worker in Stack.workers { try stack.start(worker) }
    let lines = try stack.generated(users: 100, events: events, generator: &generator)
    try stack.publish(lines)
    try await stack.waitUntilApplied()
    return (stack, lines)
  }
}
