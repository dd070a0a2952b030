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

  /// Nothing in the code knows this kind.
  private static let harvest = """
    {"F77": {
      "name": "harvest", "message": "harvest", "group": "none", "actor": "required",
      "arguments": {"fruit": {"type": "text", "bytes": 64}, "amount": {"type": "number"}},
      "deepLinks": ["garden://{subject}/{fruit}"], "badgeIcon": "leaf", "highlight": "bold"
    }}
    """

  private static let locales = [
    "en", "ko", "th", "ja", "zh-Hans", "zh-Hant", "vi", "id", "es", "ar", "he",
  ]

  @Test(
    "a kind from a directory, with an argument and a plural, goes from a kcat record to every language, and its dead letter is redriven once the registry has it"
  )
  func ownKind() async throws {
    let stack = try Stack(partitions: 1)
    defer { stack.stop() }
    let catalogs = stack.directory.appending(path: "catalogs")
    try FileManager.default.createDirectory(at: catalogs, withIntermediateDirectories: true)
    try Data(#"{"someone": "Someone"}"#.utf8).write(to: catalogs.appending(path: "en.arb"))
    let workers = try ["notification-worker", "alarm-worker"].map {
      try stack.start($0, arguments: ["--catalog-dir", catalogs.path])
    }
    // Profiles have time zones, which it reads.
    try stack.start("reminder-worker")
    let now = EventTime.now.rfc3339
    for locale in Self.locales {
      try kcat(
        stack, topic: .profiles, key: "reader-\(locale)",
        headers: ["ce_type=magpie.profile.changed.v1", "ce_id=p-\(locale)", "ce_time=\(now)"],
        value: #"{"user":"reader-\#(locale)","nickname":"r","locale":"\#(locale)"}"#)
      try kcat(
        stack, topic: .alarms, key: "reader-\(locale)",
        headers: ["ce_type=magpie.alarm.raised.v1", "ce_id=a-\(locale)", "ce_time=\(now)"],
        value: #"""
          {"recipient":"reader-\#(locale)","kind":"harvest","subject":"tree","source":"s",
            "actor":"mina","headText":"ripe","imageUrl":"https://images.example/pear.jpg",
            "arguments":{"fruit":"a/pear","amount":"3"}}
          """#)
    }
    try await eventually("every alarm is a dead letter\n\(stack.logTails)") {
      try stack.connection().query("SELECT count(*) FROM dead_letters WHERE topic LIKE '%alarms'")
        .only.int(0) == Self.locales.count
    }
    let reason = try stack.connection().query("SELECT DISTINCT reason FROM dead_letters")
    #expect(try reason.only.text(0).contains("harvest"))

    try Data(Self.harvest.utf8).write(to: catalogs.appending(path: "kinds.json"))
    for locale in Self.locales {
      let message =
        "{amount, plural, =1{\(locale) {actor} {fruit}} other{\(locale) {actor} # {fruit}}}"
      try Data(#"{"harvest": "\#(message)"}"#.utf8)
        .write(to: catalogs.appending(path: "\(locale).arb"))
    }
    for worker in workers { worker.signal(SIGHUP) }
    for name in ["notification-worker", "alarm-worker"] {
      try await eventually("\(name) reloads\n\(stack.logTails)") {
        stack.log(of: name).contains("reloaded the catalogs")
      }
    }
    let redriven = try stack.magpie(
      "dead-letters", "redrive", "--all", "--catalog-dir", catalogs.path)
    #expect(redriven.exit == .exited(0), "\(redriven.output)")
    for locale in Self.locales {
      let reader = "reader-\(locale)"
      try await eventually("\(reader) has an alarm\n\(stack.logTails)") {
        try stack.connection().query("SELECT FROM alarm_page($1, NULL, 10)", [.text(reader)])
          .count == 1
      }
      let row = try stack.connection().query(
        "SELECT text, kind, deep_link, badge_icon, image_url FROM alarm_page($1, NULL, 10)",
        [.text(reader)]
      ).only
      let text = try row.text(0).filter { $0 != "\u{2068}" && $0 != "\u{2069}" }
      let three = locale == "ar" ? "٣" : "3"
      let nobody = ["en": "Someone"][locale]
      #expect(text.hasPrefix("\(locale) \(nobody ?? "")"), "\(text)")
      #expect(text.hasSuffix(" \(three) a/pear: ripe"), "\(text)")
      #expect(try row.text(1) == "F77")
      #expect(try row.text(2) == "garden://tree/a%2Fpear")
      #expect(try row.text(3) == "leaf")
      #expect(try row.text(4) == "https://images.example/pear.jpg")
    }
    #expect(try stack.magpie("verify", "--wait", hangLimitText).exit == .exited(0))
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
