import EmbeddedStack
import Events
import Foundation
import Postgres
import TestSupport
import Testing

/// Third-party producers.
@Suite struct ForeignProducerTests {
  @Test("a like written with kcat, as JSON with headers, becomes a notification and an alarm")
  func kcat() async throws {
    let stack = try Stack(partitions: 1)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker) }
    let now = EventTime.now.rfc3339
    try kcat(
      stack, topic: .profiles, key: "mina",
      headers: ["ce_type=magpie.profile.changed.v1", "ce_id=p-1", "ce_time=\(now)"],
      value: #"{"user":"mina","nickname":"미나 🐦","locale":"ko"}"#)
    try kcat(
      stack, topic: .likes, key: "somchai",
      headers: ["ce_type=magpie.like.created.v1", "ce_id=l-1", "ce_time=\(now)"],
      value: #"{"actor":"mina","post":"post-1","postOwner":"somchai"}"#)
    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")
    let alarms = try stack.connection().query(
      "SELECT text, unread FROM alarm_page('somchai', NULL, 10)")
    #expect(alarms.count == 1)
    #expect(try alarms.first?.text(0).contains("미나 🐦") == true)
    #expect(try alarms.first?.bool(1) == true)
  }

  private func kcat(
    _ stack: Stack, topic: Topic, key: String, headers: [String], value: String
  ) throws {
    let file = stack.directory.appending(path: "record-\(UUID().uuidString).json")
    try Data(value.utf8).write(to: file)
    var arguments = [
      "-P", "-b", try TestBroker.shared.bootstrap, "-t", topic.name(prefix: stack.prefix),
      "-k", key, "-X", "partitioner=murmur2", "-X", "acks=all",
    ]
    let all =
      headers + [
        "ce_specversion=1.0", "ce_source=shell", "content-type=application/json",
      ]
    for header in all { arguments += ["-H", header] }
    let child = try ChildProcess("/usr/bin/env", ["kcat"] + arguments + [file.path])
    #expect(child.wait(seconds: hangLimitSeconds) == .exited(0))
  }
}
