import EmbeddedStack
import Foundation
import Postgres
import TestSupport
import Testing

/// Helpers of the tests that rebuild and swap tables.
extension Stack {
  /// Runs the tool and expects success.
  func succeed(_ arguments: String...) throws {
    let run = try magpie(arguments)
    #expect(run.exit == .exited(0), "magpie \(arguments.joined(separator: " ")): \(run.output)")
  }

  /// Events of `magpie generate`, one per line.
  func generated(
    users: Int, events: Int, erasures: Int = 0, generator: inout SeededGenerator
  ) throws -> [Substring] {
    let file = directory.appending(path: "events-\(UUID().uuidString).jsonl").path
    let seed = UInt32.random(in: 1...1_000_000, using: &generator)
    try succeed(
      "generate", "--users", "\(users)", "--events", "\(events)", "--seed", "\(seed)",
      "--erasures", "\(erasures)", "--output", file)
    return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
  }

  func publish(_ lines: some Collection<Substring>) throws {
    let path = directory.appending(path: "log-\(UUID().uuidString).jsonl")
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: path)
    try succeed("publish", path.path)
  }

  /// Waits until all events are applied, all alarms rendered, and all deleted notifications swept.
  func waitUntilApplied() async throws {
    for _ in 0..<2 {
      // The tables may be broken on purpose, but all workers must be there.
      let verified = try magpie("verify", "--wait", hangLimitText)
      #expect(!verified.output.contains("records to apply"), "\(verified.output)")
      try await eventually("deleted notifications are swept") {
        try connection().query(
          "SELECT NOT EXISTS (SELECT FROM notification_recipients WHERE deleted_all_at > swept_at)"
        ).only.bool(0)
      }
    }
  }

  func hasSchema(_ name: String) throws -> Bool {
    try connection().query(
      "SELECT count(*) > 0 FROM pg_namespace WHERE nspname = $1", [.text(name)]
    ).only.bool(0)
  }

  /// Swaps the tables, or swaps them back, killing the tool after this time; returns whether it completed.
  func exchange(killedAfter seconds: Double) async throws -> Bool {
    let isSwapped = try hasSchema("magpie_old")
    let child = try startMagpie("replay", isSwapped ? "--swap-back" : "--swap")
    let exit = child.wait(seconds: seconds)
    if exit == nil { child.terminate(SIGKILL) }
    try await eventually("the killed tool's transaction ends") {
      try connection().query(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'magpie-replay'"
      ).only.int(0) == 0
    }
    return exit == .exited(0)
  }

  func expectRows(_ expected: [String], in schema: String) throws {
    let found = try rows(in: schema)
    let difference = found.difference(from: expected)
    #expect(difference.isEmpty, "\(schema): \(difference.count): \(difference.prefix(4))")
  }

  /// Runs the verify functions on the tables of another schema.
  func expectInvariants(in schema: String) throws {
    let connection = try connection()
    try connection.script("SET search_path = \(schema), public")
    for check in [
      "verify_feeds", "verify_notifications", "verify_subscriptions", "verify_alarms",
      "verify_reminders",
    ] {
      let rows = try connection.query("SELECT v::text FROM \(check)() v LIMIT 3").map {
        try $0.text(0)
      }
      #expect(rows.isEmpty, "\(check): \(rows)")
    }
  }
}
