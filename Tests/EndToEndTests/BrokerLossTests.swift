import EmbeddedStack
import Events
import FaultInjection
import Foundation
import Kafka
import Model
import TestSupport
import Testing
import Verification

/// A Kafka cluster whose nodes are killed one after the other while all kinds of events are published.
@Suite(.serialized, .onKillableBrokers) struct BrokerLossTests {
  @Test(
    "while nodes are killed, the producer and the workers go on, lag answers, and the tables equal the model"
  )
  func killedNodes() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 6)
    defer { stack.stop() }
    let lines = try stack.generated(users: 200, events: 6_000, generator: &generator)
    for worker in Stack.workers { for _ in 0..<2 { try stack.start(worker, lanes: 2) } }

    let nodes = 3
    for node in 0..<nodes {
      let share = lines[
        (lines.count * node / nodes)..<(lines.count * (node + 1) / nodes)]
      let file = stack.directory.appending(path: "part-\(node).jsonl").path
      try Data((share.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: file))
      let before = try applied(stack)
      let publishing = try stack.startMagpie("publish", file)
      try await eventually("records of this part are applied") { try applied(stack) > before }
      do {
        defer { #expect(throws: Never.self) { try BrokerCommand.start.run(on: UInt32(node)) } }
        try BrokerCommand.stop.run(on: UInt32(node))
        try expectQuickLag(stack, killed: node)
        // The other nodes elect leaders, and everything goes on without this one.
        #expect(publishing.wait(seconds: hangLimitSeconds) == .exited(0), "\(stack.logTails)")
        let waited = try stack.magpie("verify", "--wait", hangLimitText)
        #expect(waited.exit == .exited(0), "node \(node)\n\(waited.output)\n\(stack.logTails)")
      }
    }

    let deep = try stack.magpie("verify", "--deep", "--wait", hangLimitText)
    #expect(deep.exit == .exited(0), "\(deep.output)\n\(stack.logTails)")
    let model = Model(try lines.map { try StructuredEvent.decode(String($0)) })
    let differences = try ModelComparison(model: model, connection: stack.connection())
      .differences()
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
    let letters = try stack.connection().query("SELECT count(*) FROM dead_letters")
    #expect(try letters.only.int(0) == 0)
    let admin = try Admin(configuration: try TestBroker.shared.configuration)
    let ends = try admin.watermarks(topics: Topic.allCases.map { $0.name(prefix: stack.prefix) })
    for topic in Topic.allCases {
      let records = ends.filter { $0.key.topic == topic.name(prefix: stack.prefix) }
      #expect(records.values.contains { $0.high > 0 }, "nothing was published to \(topic)")
    }
  }

  /// The sum of the stored offsets.
  private func applied(_ stack: Stack) throws -> Int {
    try stack.connection().query(
      "SELECT coalesce(sum(next_offset), 0)::bigint FROM consumer_offsets"
    ).only.int(0)
  }

  /// `magpie lag` reports the partitions whose leader answers: right after a node was killed, others may
  /// have no leader. Asking for one partition after the other took 90 seconds.
  private func expectQuickLag(_ stack: Stack, killed node: Int) throws {
    let start = ContinuousClock.now
    let lag = try stack.magpie("lag", "--json")
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    print("magpie lag after killing node \(node): \(seconds) s, \(lag.exit)")
    #expect(seconds < 60)
    // 69 if some partitions are unknown.
    #expect(lag.exit == .exited(0) || lag.exit == .exited(69), "\(lag.output)")
    #expect(lag.output.contains("\"unansweredPartitions\""), "\(lag.output)")
  }
}
