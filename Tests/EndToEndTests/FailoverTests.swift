import EmbeddedStack
import Events
import Foundation
import Model
import Postgres
import TestSupport
import Testing
import Verification

/// A database that returns to an earlier state, as after a failover to a replica that was behind.
@Suite(.serialized) struct FailoverTests {
  @Test(
    "after lost commits the workers resume without help; a new generation corrects the alarms")
  func lostCommits() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    guard let cluster = stack.cluster else { return }  // An external server must not be stopped.
    let file = stack.directory.appending(path: "events.jsonl").path
    let seed = UInt32.random(in: 1...1_000_000, using: &generator)
    let generated = try stack.magpie(
      "generate", "--users", "40", "--events", "2400", "--seed", "\(seed)", "--output", file)
    #expect(generated.exit == .exited(0), "\(generated.output)")
    let log = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    for worker in Stack.workers { try stack.start(worker) }
    try stack.publish(log[..<800])
    try waitUntilApplied(stack)

    let live = cluster.directory
    let replica = live + ".behind"
    cluster.stop()
    // Preserves the owner, which may be another user.
    #expect(
      try ChildProcess("/bin/cp", ["-a", live, replica]).wait(seconds: hangLimitSeconds)
        == .exited(0))
    try cluster.restart()
    let before = EventTime.now
    try stack.publish(log[800..<1600])
    try waitUntilApplied(stack)
    // The commits since the copy are lost.
    cluster.immediateStop()
    try FileManager.default.removeItem(atPath: live)
    try FileManager.default.moveItem(atPath: replica, toPath: live)
    try cluster.restart()
    // The batches differ from before, so equal versions have different contents.
    try stack.publish(log[1600...])
    let waited = try stack.magpie("verify", "--wait", hangLimitText)
    print("without the runbook: verify exits with \(waited.exit)")

    let reset = try stack.magpie(
      "offsets", "reset", "--group", "notification", "--new-generation",
      "--to-time", EventTime(microseconds: before.microseconds - 60_000_000).rfc3339)
    #expect(reset.exit == .exited(0), "\(reset.output)")
    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "seed \(seed)\n\(verified.output)\n\(stack.logTails)")
    let model = Model(try log.map { try StructuredEvent.decode(String($0)) })
    let differences = try ModelComparison(model: model, connection: stack.connection())
      .differences()
    #expect(differences.isEmpty, "seed \(seed)\n\(differences.joined(separator: "\n"))")
  }

  private func waitUntilApplied(_ stack: Stack) throws {
    let waited = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(waited.exit == .exited(0), "\(waited.output)\n\(stack.logTails)")
  }
}
