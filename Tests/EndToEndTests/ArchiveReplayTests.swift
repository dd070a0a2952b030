import EmbeddedStack
import Events
import Foundation
import Kafka
import RecordLog
import TestSupport
import Testing

/// Repairs from an archive, after Kafka has deleted records.
@Suite(.serialized) struct ArchiveReplayTests {
  @Test(
    "records that Kafka has deleted are rebuilt, verified and applied again from the archive",
    .onTrueEnds)
  func forgotten() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 1)
    defer { stack.stop() }
    let archive = stack.directory.appending(path: "archive").path
    for worker in Stack.workers { try stack.start(worker) }
    let archiver = try stack.startMagpie(
      "archive", "run", "--dir", archive, "--segment-seconds", "0.2", "--http-port", "0")
    try stack.publish(try stack.generated(users: 40, events: 800, generator: &generator))

    // The embedded broker keeps 5 MiB of each partition, so no consumer may fall behind by that much.
    let messages = TopicPartition(topic: Topic.messages.name(prefix: stack.prefix), partition: 0)
    let kafka = try KafkaLog(configuration: TestBroker.shared.configuration)
    for part in 0..<7 {
      try sendLongMessages(part, prefix: stack.prefix)
      try await stack.waitUntilApplied()
      let end = try kafka.spans(of: [messages.topic])[messages]?.upperBound
      try await eventually("the archive has the messages") {
        let shown = try stack.magpie("archive", "show", "--dir", archive, "--json")
        return shown.output.split(separator: "\n").contains {
          $0.contains(messages.topic) && $0.contains("\"next\":\(end ?? -1)")
        }
      }
    }
    #expect(archiver.terminate(within: hangLimitSeconds) == .exited(0), "\(stack.logTails)")
    // Does not apply to a broker that keeps more.
    guard try kafka.spans(of: [messages.topic])[messages]?.lowerBound != 0 else {
      #expect(try TestBroker.shared.embedded == nil)
      return
    }

    let live = try stack.rows()
    let refused = try stack.magpie("replay", "--rebuild", "all")
    #expect(refused.exit == .exited(66), "\(refused.output)")
    #expect(refused.output.contains(messages.topic), "\(refused.output)")
    try stack.succeed("replay", "--rebuild", "all", "--archive", archive)
    try stack.expectRows(live, in: "magpie_shadow")
    try stack.succeed("replay", "--diff", "--archive", archive)
    let shallow = try stack.magpie("verify", "--deep")
    #expect(shallow.exit == .exited(66), "\(shallow.output)")
    try stack.succeed("verify", "--deep", "--archive", archive)

    try stack.connection().script("DELETE FROM messages")
    let found = try stack.magpie("verify", "--deep", "--archive", archive)
    #expect(found.exit == .exited(1), "\(found.output)")
    try stack.succeed("replay", "--apply", "--archive", archive, "--topic", "messages")
    try stack.succeed("verify", "--deep", "--archive", archive)
    #expect(try stack.rows() == live)
  }

  private func sendLongMessages(_ part: Int, prefix: String) throws {
    // Compressed, they would not fill the embedded broker's partition.
    var configuration = try TestBroker.shared.configuration
    configuration.properties["compression.type"] = "none"
    let producer = try Producer(configuration: configuration)
    defer { producer.close() }
    let now = EventTime.now
    try producer.send(
      try (0..<100).map { number in
        let name = "\(part)-\(number)"
        let event = Event(
          id: "long-\(name)", source: "test", time: now,
          payload: .message(
            "long-\(name)", from: "talker", to: "listener",
            String(repeating: name, count: 10_000 / name.utf8.count)))
        return try OutgoingRecord(
          topic: event.topic.name(prefix: prefix), wire: EventCodec.encode(event, as: .protobuf))
      })
  }
}
