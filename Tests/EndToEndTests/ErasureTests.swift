import EmbeddedStack
import Events
import Foundation
import Kafka
import Model
import Postgres
import RecordLog
import TestSupport
import Testing
import Verification

/// People who are erased, with workers as processes: nothing brings them back.
@Suite(.serialized) struct ErasureTests {
  @Test(
    "erased people do not come back with a replay, a redrive, or a rebuild from the log or an archive, and nothing is left of them"
  )
  func forGood() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 3)
    defer { stack.stop() }
    // A defect that makes dead letters of some messages, also of people who are erased later.
    try stack.connection().script(
      "ALTER TABLE messages ADD CONSTRAINT defect CHECK (text NOT LIKE 'defect%')")
    for worker in Stack.workers { try stack.start(worker, lanes: 2) }
    let archive = stack.directory.appending(path: "archive").path
    let archiver = try stack.startMagpie(
      "archive", "run", "--dir", archive, "--segment-seconds", "0.2", "--http-port", "0")
    let before = [
      Payload.profile("someone-leaving", nickname: "the nickname of someone leaving"),
      .message("e2e-1", from: "someone-staying", to: "someone-leaving", "defect 1"),
      .message("e2e-2", from: "someone-leaving", to: "someone-staying", "defect 2"),
      .message("e2e-3", from: "someone-staying", to: "someone-else", "defect 3"),
      .message("e2e-4", from: "someone-gone-later", to: "someone-staying", "bye"),
    ]
    let erasures = ["someone-leaving", "someone-gone-later"].map { person in
      Payload.userErased(.with { $0.user = person })
    }
    let own = (before + erasures).enumerated().map { number, payload in
      Event(
        id: "e2e-\(number)", source: "test",
        time: EventTime(microseconds: 1_736_000_000_000_000 + Int64(number)), payload: payload)
    }
    let lines = try stack.generated(
      users: 50, events: 1500, erasures: 10, generator: &generator)
    let ownLines = try own.map { Substring(try StructuredEvent.encode($0)) }
    try stack.publish(ownLines.dropLast(2))
    try stack.publish(lines)
    try await stack.waitUntilApplied()
    let letters = "SELECT count(*) FROM dead_letters WHERE state = 'open'"
    #expect(try stack.connection().query(letters).only.int(0) == 3)
    try stack.publish(ownLines.suffix(2).prefix(1))
    var all = try (lines + ownLines.dropLast()).map { try StructuredEvent.decode(String($0)) }
    var forgotten = gone(all)
    #expect(forgotten.count > 4)
    try await expectGone(forgotten, stack, "after the erasures")

    try stack.connection().script("ALTER TABLE messages DROP CONSTRAINT defect")
    try stack.magpie("dead-letters", "redrive", "--all")
    try await expectGone(forgotten, stack, "after a redrive")
    let kept = try stack.connection().query(
      """
      SELECT m.message_id, r.user_id FROM messages m JOIN users r ON r.user_key = m.receiver
      WHERE m.message_id LIKE 'e2e-%' ORDER BY 1
      """
    ).map { [try $0.text(0), String(try $0.text(1).prefix(7))] }
    #expect(kept == [["e2e-1", "erased:"], ["e2e-3", "someone"], ["e2e-4", "someone"]])
    try expectModel(all, stack)
    let rows = try stack.rows()

    try stack.succeed("replay", "--apply")
    try await expectGone(forgotten, stack, "after the log was applied again")
    try stack.expectRows(rows, in: "public")

    try stack.succeed("replay", "--rebuild", "all")
    try stack.succeed("replay", "--diff")
    try await expectGone(forgotten, stack, "with rebuilt tables")
    // The live tables are done with somebody whom the rebuilt ones still name.
    try stack.publish(ownLines.suffix(1))
    all += own.suffix(1)
    forgotten = gone(all)
    try await waitUntilErased(stack)
    try stack.succeed("replay", "--swap")
    try await expectGone(forgotten, stack, "after a swap")
    try expectModel(all, stack)
    try stack.succeed("replay", "--drop-old")

    try await erase(from: archive, besides: archiver, stack, &generator)
    for person in forgotten.prefix(3) {
      try stack.succeed("erasure", "verify", person, "--skip-kafka", "--archive", archive)
    }
    try stack.succeed("verify", "--deep", "--archive", archive)
    try stack.succeed("replay", "--rebuild", "all", "--archive", archive)
    try stack.succeed("replay", "--diff", "--archive", archive)
    try await expectGone(forgotten, stack, "with tables rebuilt from the archive")
    try stack.succeed("replay", "--swap")
    try expectModel(all, stack)
    try stack.succeed("replay", "--drop-old")

    // From producers that were offline.
    try stack.publish(lines.shuffled(using: &generator))
    try await expectGone(forgotten, stack, "after the events were published again")
    try expectModel(all, stack)
    try stack.succeed("verify", "--deep")
  }

  /// Erases people from the archive, killed several times, until a run ends.
  private func erase(
    from archive: String, besides archiver: ChildProcess, _ stack: Stack,
    _ generator: inout SeededGenerator
  ) async throws {
    // The archiver may replace the manifest at any moment, too.
    for _ in 0..<5 {
      let run = try stack.startMagpie("archive", "erase", "--dir", archive)
      if run.wait(seconds: .random(in: 0...1, using: &generator)) == nil { run.terminate(SIGKILL) }
    }
    // What was published until now has to be in the archive before the last run.
    let kafka = try KafkaLog(configuration: TestBroker.shared.configuration)
    let topics = Topic.allCases.map { $0.name(prefix: stack.prefix) }
    let ends = try kafka.spans(of: topics).mapValues(\.upperBound).filter { $0.value > 0 }
    try await eventually("the archive has the log") {
      let shown = try stack.magpie("archive", "show", "--dir", archive, "--json")
      return ends.allSatisfy { place, end in
        shown.output.split(separator: "\n").contains {
          $0.contains("\"\(place.topic)\"") && $0.contains("\"partition\":\(place.partition)")
            && $0.contains("\"next\":\(end)")
        }
      }
    }
    #expect(archiver.terminate(within: hangLimitSeconds) == .exited(0), "\(stack.logTails)")
    try stack.succeed("archive", "erase", "--dir", archive)
    try stack.succeed("archive", "verify", "--dir", archive)
  }

  /// The erased people whom no later event names.
  private func gone(_ events: [Event]) -> [String] {
    let erasures = events.reduce(into: [BytewiseString: EventTime]()) { times, event in
      guard event.type == .userErased else { return }
      times[.init(event.key)] = max(times[.init(event.key)] ?? event.time, event.time)
    }
    return erasures.filter { person, at in
      !events.contains { event in
        event.time > at && event.people.contains { $0.hasSameBytes(as: person.string) }
      }
    }.map(\.key.string)
  }

  private func expectGone(_ people: [String], _ stack: Stack, _ what: Comment) async throws {
    try await waitUntilErased(stack)
    let places = try DatabaseDump(of: stack.databaseURL).places(of: people)
    #expect(places == [], what)
  }

  private func waitUntilErased(_ stack: Stack) async throws {
    try await stack.waitUntilApplied()
    try await eventually("nobody is being erased") {
      try stack.connection().query(
        """
        SELECT NOT EXISTS (SELECT FROM erasures WHERE user_id IS NOT NULL)
          AND NOT EXISTS (SELECT FROM fanout_erasures UNION ALL SELECT FROM notification_erasures
            UNION ALL SELECT FROM alarm_erasures UNION ALL SELECT FROM reminder_erasures)
        """
      ).only.bool(0)
    }
    // What the sweeps have published.
    try await stack.waitUntilApplied()
  }

  private func expectModel(_ events: [Event], _ stack: Stack) throws {
    let connection = try stack.connection()
    let ids = try formerIDs(
      of: events.filter { $0.type == .userErased }.map(\.key), on: connection)
    let model = Model(events, formerIDs: ids)
    let differences = try ModelComparison(model: model, connection: connection).differences()
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))\n\(stack.logTails)")
  }
}
