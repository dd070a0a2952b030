import EmbeddedStack
import Events
import Foundation
import Kafka
import TestSupport
import Testing

/// Following a like by its trace through the worker processes.
@Suite(.serialized) struct TraceTests {
  @Test(
    "a like's trace is in the log of the worker that applies it and of the worker that renders its alarm"
  )
  func follow() async throws {
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker, arguments: ["--log-format", "json"]) }
    let trace = "0af7651916cd43dd8448eb211c80319c"
    let header = "00-\(trace)-b7ad6b7169203331-01"
    let like = ["--actor", "minji", "--post", "p1", "--owner", "somchai"]
    let sent = try stack.magpie(["publish", "like", "--id", "e1", "--traceparent", header] + like)
    #expect(sent.exit == .exited(0), "\(sent.output)")
    // Neither of the next two is logged at this level: the first is not sampled, the second is malformed.
    let silent = header.dropLast() + "0"
    let unsampled = try stack.magpie(
      ["publish", "like", "--traceparent", String(silent)]
        + ["--actor", "a", "--post", "p2", "--owner", "o"])
    #expect(unsampled.exit == .exited(0), "\(unsampled.output)")
    try publishHostile(stack)
    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")
    #expect(
      try stack.connection().query("SELECT count(*) FROM dead_letters").only.int(0) == 0)

    try await eventually("both lines are written") {
      lines(stack, "notification-worker").count == 1 && lines(stack, "alarm-worker").count == 1
    }
    let applied = try #require(lines(stack, "notification-worker").first)
    #expect(applied["trace_id"] == trace && applied["event"] == "e1")
    #expect(applied["type"] == "magpie.like.created.v1")
    let rendered = try #require(lines(stack, "alarm-worker").first)
    #expect(rendered["trace_id"] == trace)
    #expect(rendered["type"] == "magpie.notification.changed.v1")
    let alarm = try stack.connection().query(
      "SELECT notification_id::text FROM alarms WHERE recipient = 'somchai'"
    ).only.text(0)
    #expect(rendered["event"]?.hasPrefix(alarm) == true)
  }

  /// Publishes a like with a malformed traceparent.
  private func publishHostile(_ stack: Stack) throws {
    let event = Event(
      id: "hostile", source: "test", time: .now,
      payload: .like("hostile", "p3", of: "somebody"))
    var wire = try EventCodec.encode(event)
    wire.headers.append(.init("traceparent", "00-\u{1B}[2J"))
    let producer = try Producer(configuration: TestBroker.shared.configuration)
    try producer.send([
      OutgoingRecord(
        topic: event.topic.name(prefix: stack.prefix), wire: wire)
    ])
    producer.close()
  }

  /// The metadata of a worker's log lines about traces.
  private func lines(_ stack: Stack, _ worker: String) -> [[String: String]] {
    stack.log(of: worker).split(separator: "\n").compactMap { line in
      let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      guard object?["message"] as? String == "applied" else { return nil }
      return object?["metadata"] as? [String: String]
    }
  }
}
