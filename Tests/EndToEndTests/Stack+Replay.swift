import EmbeddedStack
import Foundation
import Postgres
import TestSupport
import Testing

/// What the tests of rebuilding and exchanging do with a stack.
extension Stack {
  /// Runs the tool; it must succeed.
  func succeed(_ arguments: String...) throws {
    let run = try magpie(arguments)
    #expect(run.exit == .exited(0), "magpie \(arguments.joined(separator: " ")): \(run.output)")
  }

  /// Events as `magpie generate` makes them, one line each.
  func generated(users: Int, events: Int, generator: inout SeededGenerator) throws -> [Substring] {
    let file = directory.appending(path: "events-\(UUID().uuidString).jsonl").path
    let seed = UInt32.random(in: 1...1_000_000, using: &generator)
    try succeed(
      "generate", "--users", "\(users)", "--events", "\(events)", "--seed", "\(seed)",
      "--output", file)
    return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
  }

  func publish(_ lines: some Collection<Substring>) throws {
    let path = directory.appending(path: "log-\(UUID().uuidString).jsonl")
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: path)
    try succeed("publish", path.path)
  }

  /// Applied, rendered and swept: nothing moves any more.
  func waitUntilApplied() async throws {
    for _ in 0..<2 {
      // Its verdict is another matter here.
      _ = try magpie("verify", "--wait", hangLimitText)
      try await eventually("all that was deleted is swept") {
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

  /// An exchange of tables, forth or back, that is killed unless it has ended by then; whether it did.
  func exchange(killedAfter seconds: Double) async throws -> Bool {
    let isSwapped = try hasSchema("magpie_old")
    let child = try startMagpie("replay", isSwapped ? "--swap-back" : "--swap")
    let exit = child.wait(seconds: seconds)
    if exit == nil { child.terminate(SIGKILL) }
    try await eventually("the killed one's transaction ends") {
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

  /// The schema's verify functions, looking at the tables of another schema first.
  func expectInvariants(in schema: String) throws {
    let connection = try connection()
    try connection.script("SET search_path = \(schema), public")
    for check in ["verify_feeds", "verify_notifications", "verify_alarms"] {
      let rows = try connection.query("SELECT v::text FROM \(check)() v LIMIT 3").map {
        try $0.text(0)
      }
      #expect(rows.isEmpty, "\(check): \(rows)")
    }
  }
}
