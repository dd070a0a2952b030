import Events
import Foundation
import Model
import TestSupport
import Testing
import Verification

/// The whole pipeline as processes, compared with the model.
@Suite(.serialized) struct PipelineTests {
  @Test(
    "6000 events, also of erased people, equal the model after workers joined, left and were killed, and PostgreSQL crashed"
  )
  func campaign() async throws {
    var generator = SeededGenerator()
    // Low, so that feeds are trimmed and authors pulled with few people and posts.
    let stack = try Stack(
      partitions: 8, settings: ["MAGPIE_FEED_LENGTH": "20", "MAGPIE_PUSH_LIMIT": "40"])
    defer { stack.stop() }
    let file = stack.directory.appending(path: "events.jsonl").path
    let seed = UInt32.random(in: 1...1_000_000, using: &generator)
    let generated = try stack.magpie(
      "generate", "--users", "300", "--events", "6000", "--seed", "\(seed)", "--erasures", "20",
      "--output", file)
    #expect(generated.exit == .exited(0), "\(generated.output)")

    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 6000)
    var running = try Stack.workers.map { try stack.start($0, lanes: 2) }
    let parts = 10
    for part in 0..<parts {
      let share = lines[(lines.count * part / parts)..<(lines.count * (part + 1) / parts)]
      let path = stack.directory.appending(path: "part-\(part).jsonl")
      try Data((share.joined(separator: "\n") + "\n").utf8).write(to: path)
      let published = try stack.magpie("publish", path.path)
      #expect(published.exit == .exited(0), "\(published.output)")
      switch part {
      case 1: for worker in Stack.workers { running.append(try stack.start(worker)) }
      case 3: for index in 0..<3 { running[index].signal(SIGKILL) }
      case 4: for worker in Stack.workers { running.append(try stack.start(worker, lanes: 2)) }
      case 5: try stack.crashDatabase()
      case 7: for index in 3..<6 { running[index].signal(SIGTERM) }
      default: break
      }
    }
    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "seed \(seed)\n\(verified.output)\n\(stack.logTails)")
    try await eventually("everybody is erased, and what that changes is rendered") {
      try stack.connection().query(
        "SELECT NOT EXISTS (SELECT FROM erasures WHERE user_id IS NOT NULL)"
      ).only.bool(0)
    }
    let erased = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(erased.exit == .exited(0), "seed \(seed)\n\(erased.output)\n\(stack.logTails)")
    for child in running[3..<6] { #expect(child.wait(seconds: hangLimitSeconds) == .exited(0)) }

    let events = try lines.map { try StructuredEvent.decode(String($0)) }
    let connection = try stack.connection()
    let ids = try formerIDs(
      of: events.filter { $0.type == .userErased }.map(\.key), on: connection)
    let differences = try ModelComparison(
      model: Model(events, formerIDs: ids), connection: connection
    ).differences()
    #expect(differences.isEmpty, "seed \(seed)\n\(differences.joined(separator: "\n"))")
    let letters = try stack.connection().query("SELECT count(*) FROM dead_letters")
    #expect(try letters.only.int(0) == 0)
  }

  @Test("the same log in three random orders, or with every event twice, results in identical rows")
  func orderFree() async throws {
    var generator = SeededGenerator()
    let events = try generate(users: 60, events: 1200, generator: &generator)
    var found: [[String]] = []
    for order in 0..<4 {
      var log = order == 3 ? events + events : events
      if order > 0 { log.shuffle(using: &generator) }
      let stack = try Stack(partitions: 2)
      defer { stack.stop() }
      for worker in Stack.workers { try stack.start(worker) }
      let path = stack.directory.appending(path: "log.jsonl")
      try Data((log.joined(separator: "\n") + "\n").utf8).write(to: path)
      let published = try stack.magpie("publish", path.path)
      #expect(published.exit == .exited(0), "\(published.output)")
      let applied = try stack.magpie("verify", "--wait", hangLimitText)
      #expect(applied.exit == .exited(0), "\(applied.output)\n\(stack.logTails)")
      try await eventually("deleted notifications are swept") {
        try stack.connection().query(
          "SELECT NOT EXISTS (SELECT FROM notification_recipients WHERE deleted_all_at > swept_at)"
        ).only.bool(0)
      }
      // The sweep publishes retractions.
      let swept = try stack.magpie("verify", "--wait", hangLimitText)
      #expect(swept.exit == .exited(0), "\(swept.output)\n\(stack.logTails)")
      found.append(try stack.rows())
    }
    #expect(found[0].count > 1000)
    for order in 1..<4 {
      let difference = found[order].difference(from: found[0])
      #expect(difference.isEmpty, "order \(order): \(difference.prefix(4))")
    }
  }

  private func generate(users: Int, events: Int, generator: inout SeededGenerator) throws
    -> [Substring]
  {
    let stack = try Stack(partitions: 1)
    defer { stack.stop() }
    let file = stack.directory.appending(path: "events.jsonl").path
    let seed = UInt32.random(in: 1...1_000_000, using: &generator)
    let generated = try stack.magpie(
      "generate", "--users", "\(users)", "--events", "\(events)", "--seed", "\(seed)",
      "--output", file)
    #expect(generated.exit == .exited(0), "\(generated.output)")
    return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
  }
}
