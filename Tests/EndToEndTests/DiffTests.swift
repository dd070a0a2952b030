import Foundation
import Postgres
import TestSupport
import Testing

/// Repairing tables after a bug: verify, rebuild, compare, swap, verify.
@Suite(.serialized, .onTrueEnds) struct DiffTests {
  @Test(
    "verify --deep and replay --diff report exactly the corrupted rows; after the swap none remain")
  func afterABug() throws {
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    let file = stack.directory.appending(path: "events.jsonl").path
    try stack.magpie(
      "generate", "--users", "40", "--events", "1000", "--seed", "7", "--output", file)
    for worker in Stack.workers { try stack.start(worker) }
    let published = try stack.magpie("publish", file)
    #expect(published.exit == .exited(0), "\(published.output)")
    let applied = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(applied.exit == .exited(0), "\(applied.output)\n\(stack.logTails)")
    let clean = try stack.magpie("verify", "--deep", "--slices", "2")
    #expect(clean.exit == .exited(0), "\(clean.output)")

    let connection = try stack.connection()
    try connection.script(
      """
      DELETE FROM feed_entries WHERE (owner, post_key) IN (
        SELECT owner, post_key FROM feed_entries ORDER BY 1, 2 LIMIT 3);
      UPDATE alarms SET text = text || '!' WHERE notification_id IN (
        SELECT notification_id FROM shown_alarms ORDER BY 1 LIMIT 2);
      UPDATE likes SET active = NOT active WHERE (post_id, actor) IN (
        SELECT post_id, actor FROM likes ORDER BY 1, 2 LIMIT 1)
      """)
    let broken = try stack.magpie("verify", "--deep", "--json")
    #expect(broken.exit == .exited(1))
    expectBroken(broken.output)

    let rebuilt = try stack.magpie("replay", "--rebuild", "all")
    #expect(rebuilt.exit == .exited(0), "\(rebuilt.output)")
    let page = stack.directory.appending(path: "diff.html").path
    let diff = try stack.magpie("replay", "--diff", "--json", "--html", page)
    #expect(diff.exit == .exited(1), "\(diff.output)")
    expectBroken(diff.output)
    #expect(try String(contentsOfFile: page, encoding: .utf8).contains("in use"))

    let swapped = try stack.magpie("replay", "--swap")
    #expect(swapped.exit == .exited(0), "\(swapped.output)")
    let repaired = try stack.magpie("verify", "--deep")
    #expect(repaired.exit == .exited(0), "\(repaired.output)")
  }

  @Test("alarms with a wrong text are rebuilt, compared and swapped alone")
  func alarmsAlone() throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker) }
    try stack.publish(try stack.generated(users: 40, events: 800, generator: &generator))
    let applied = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(applied.exit == .exited(0), "\(applied.output)\n\(stack.logTails)")
    try stack.succeed("replay", "--rebuild", "alarms")
    let plan = try stack.magpie("replay", "--diff", "--dry-run", "--json")
    #expect(plan.output.contains(#""schema":"magpie_shadow","tables":["#), "\(plan.output)")
    try stack.succeed("replay", "--diff")

    try stack.connection().script(
      """
      UPDATE alarms SET text = text || '!' WHERE notification_id IN (
        SELECT notification_id FROM shown_alarms ORDER BY 1 LIMIT 3);
      """)
    let diff = try stack.magpie("replay", "--diff", "--json")
    #expect(diff.exit == .exited(1), "\(diff.output)")
    #expect(counts(diff.output) == ["alarms": ["different": 3]], "\(diff.output)")
    try stack.succeed("replay", "--swap")
    try stack.succeed("verify", "--deep")
  }

  /// Checks that exactly the corrupted tables differ, by the corrupted number of rows.
  private func expectBroken(_ output: String) {
    var counts = counts(output)
    // A trigger on likes keeps this table.
    counts["post_counts"] = nil
    #expect(
      counts == ["feeds": ["missing": 3], "alarms": ["different": 2], "likes": ["different": 1]],
      "\(output)")
  }

  /// The nonzero counts by table and kind of difference.
  private func counts(_ output: String) -> [String: [String: Int]] {
    var counts: [String: [String: Int]] = [:]
    for line in output.split(separator: "\n") {
      guard
        let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
        object["inFlight"] != nil, let table = object["table"] as? String
      else { continue }
      for kind in ["missing", "extra", "different"] {
        if let count = object[kind] as? Int, count > 0 { counts[table, default: [:]][kind] = count }
      }
    }
    return counts
  }
}
