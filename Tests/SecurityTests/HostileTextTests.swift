import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Lanes

/// Text that affects programs that show it unescaped, from a producer's records through real
/// workers to logs and all output of the tool.
@Suite struct HostileTextTests {
  /// Terminal escape sequences (CSI, OSC with a link, a title and the clipboard, DCS, C1), line
  /// breaks that forge lines, characters that reorder or hide text, and closing quotes.
  static let pieces = [
    "\u{1B}[31m", "\u{1B}[2J\u{1B}[H", "\u{1B}]8;;http://evil.example\u{1B}\\",
    "\u{1B}]0;title\u{7}",
    "\u{1B}]52;c;ZXZpbA==\u{7}", "\u{1B}P+q\u{1B}\\", "\u{9B}31m", "\u{90}", "\u{85}", "\u{7F}",
    "\r", "\n2026-01-01T00:00:00.000Z error magpie_fanout: forged", "\u{8}\u{8}", "\t", "\u{B}",
    "\u{202E}", "\u{2066}", "\u{2069}", "\u{200F}", "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{200B}",
    "\u{E0041}", "\u{61C}", "\"", "'; DROP TABLE users; --", "$1", "</script>", "\\", "x", "가",
  ]

  static func text(_ random: inout SeededGenerator, pieces count: Int = 4) -> String {
    (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
  }

  /// The scalars in printed output that could affect a terminal.
  static func hazards(_ output: String) -> [String] {
    output.unicodeScalars.filter { scalar in
      if scalar == "\n" || scalar == "\u{200C}" || scalar == "\u{200D}" { return false }
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: return true
      default: return scalar.properties.isBidiControl
      }
    }.map { $0.escaped(asASCII: true) }
  }

  @Test("the escaping function removes everything hazardous and preserves the rest")
  func function() {
    var random = SeededGenerator()
    for _ in 0..<5_000 {
      let text = Self.text(&random, pieces: Int.random(in: 0...6, using: &random))
      for escaped in [escapedForDisplay(text), escapedJSONForDisplay(text)] {
        #expect(Self.hazards(escaped) == [] && !escaped.contains("\n"))
      }
      #expect(Self.hazards(escapedForDisplay(text, keepingNewlines: true)) == [])
      #expect(Self.hazards(WorkerStopped(reason: text, nextStep: text).description) == [])
    }
    for scalar in (0...0x10FFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init) {
      #expect(Self.hazards(escapedForDisplay(String(scalar))) == [])
    }
    let plain = "까치 👩‍👩‍👧‍👦 สวัสดี مرحبا é e\u{301} \"'\\"
    #expect(escapedForDisplay(plain) == plain)
    let json = escapedJSONForDisplay("{\"a\":\"\u{1F600}\u{E0041}\u{202E}\"}")
    #expect(json == "{\"a\":\"\u{1F600}\\udb40\\udc41\\u202e\"}")
  }

  @Test("a hostile producer's records forge no log line and affect no terminal")
  func throughEverything() async throws {
    var random = SeededGenerator()
    let url = try TestDatabase.fresh()
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    let prefix = TestBroker.topicPrefix()
    for topic in Topic.allCases {
      try broker.createTopic(topic.name(prefix: prefix), partitions: 1)
    }
    try produce(broker, prefix: prefix, &random)
    let environment = [
      "MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap, "MAGPIE_DATABASE_URL": url,
      "MAGPIE_TOPIC_PREFIX": prefix, "MAGPIE_HTTP_PORT": "0", "MAGPIE_LOG_LEVEL": "trace",
    ]
    var workers: [Running] = []
    for (name, format) in [
      ("fanout-worker", "text"), ("notification-worker", "json"), ("alarm-worker", "text"),
      ("reminder-worker", "json"),
    ] {
      workers.append(
        try Running(
          name, ["--log-format", format, "--dead-letter-share-limit", "1"], environment))
    }
    let verified = try run("magpie", ["verify", "--wait", hangLimitText], environment)
    #expect(verified.exit == .exited(0), "\(verified.output) \(workers.map(\.output))")
    let database = try Connection(url, applicationName: "test")
    let letters = try database.query("SELECT count(*) FROM dead_letters").only.int(0)
    #expect(letters > 60)
    for worker in workers {
      worker.child.signal(SIGTERM)
      #expect(worker.end() == .exited(0), "\(worker.output.suffix(1000))")
      #expect(Self.hazards(worker.output) == [])
      // Every line is ours: no record started one.
      for line in worker.output.split(separator: "\n") {
        #expect(line.hasPrefix("20") || line.hasPrefix("{\""), "\(line)")
        #expect(!line.hasPrefix("2026-01-01"), "\(line)")
      }
      #expect(worker.output.contains("dead letter"))
    }
    try show(environment, database)
  }

  /// Runs every command of the tool that shows the data.
  private func show(_ environment: [String: String], _ database: Connection) throws {
    let ids = try database.query(
      """
      SELECT consumer_group || ':' || topic || '/' || partition || '/' || record_offset
      FROM dead_letters ORDER BY 1 LIMIT 5
      """
    ).map { try $0.text(0) }
    let users = try database.query("SELECT user_id FROM users ORDER BY 1 LIMIT 3").map {
      try $0.text(0)
    }
    #expect(!ids.isEmpty && !users.isEmpty)
    // Inconsistent rows, so that the comparison shows hostile text.
    try database.script(
      "UPDATE conversations SET last_message_id = last_message_id || 'x'; UPDATE posts SET title = '!'"
    )
    var commands = [
      ["dead-letters", "list"], ["dead-letters", "list", "--json"],
      ["dead-letters", "list", "--by", "reason"], ["dead-letters", "export"],
      ["dead-letters", "export", "--as", "events"], ["dead-letters", "redrive", "--all"],
      ["verify"], ["verify", "--json"], ["lag"], ["offsets", "show"], ["offsets", "export"],
    ]
    for id in ids {
      commands += [
        ["dead-letters", "show", id], ["dead-letters", "show", "--full", "--json", id],
      ]
    }
    for user in users {
      for command in ["home", "feed", "profile", "search", "alarms", "conversations", "settings"] {
        commands += [[command, user], [command, user, "--json"]]
      }
    }
    let report = "/tmp/magpie-report-\(UUID().uuidString).html"
    defer { try? FileManager.default.removeItem(atPath: report) }
    commands += [
      ["verify", "--deep", "--html", report], ["verify", "--deep", "--json"],
      ["publish", "/nonexistent\u{1B}[31m"],
    ]
    for command in commands {
      let ran = try run("magpie", command, environment)
      let isUsageError = command[0] != "publish" && ran.exit == .exited(64)
      #expect(ran.exit != nil && !isUsageError, "\(command): \(ran.output)")
      #expect(Self.hazards(ran.output) == [], "\(command)")
    }
    let page = try String(contentsOfFile: report, encoding: .utf8)
    #expect(!page.contains("\u{1B}") && !page.contains("</script>x") && page.contains("<bdi>"))
  }

  /// Valid events full of hostile text, and invalid records with hostile bytes everywhere.
  private func produce(
    _ broker: EmbeddedBroker, prefix: String, _ random: inout SeededGenerator
  ) throws {
    var records: [OutgoingRecord] = []
    for number in 0..<40 {
      // Ids may contain invisible characters but no control characters.
      let user = "u\(number % 5)\u{202E}\u{2066}\u{FEFF}'$1"
      let (text, other) = (Self.text(&random), Self.text(&random))
      let now = EventTime.now
      let payloads: [Payload] = [
        .post("p\(number)", by: user, title: other, caption: text),
        .message("m\(number)", from: user, to: "u0", text),
        .profile(user, nickname: other, bio: text),
        .comment("c\(number)", by: user, on: "p0", of: "u0", text),
        .follow("u0", user),
        .alarmRaised(
          .with {
            ($0.recipient, $0.kind, $0.source) = (user, "announcement", "a\(number)")
            ($0.arguments, $0.headText, $0.imageURL) = (["title": other], text, text)
          }),
        .reminderSet(
          .with {
            ($0.user, $0.reminder, $0.title) = (user, "r\(number)", "x" + other)
            ($0.memo, $0.link) = (text, text)
            // Rings soon.
            $0.instant = EventTime(microseconds: now.microseconds + 2_000_000).description
          }),
      ]
      for (kind, payload) in payloads.enumerated() {
        let event = Event(
          id: "\(number)-\(kind)", source: "\u{202E}s", time: now, payload: payload)
        var record = try OutgoingRecord(
          topic: event.topic.name(prefix: prefix), wire: EventCodec.encode(event, as: .json))
        records.append(record)
        guard number < 12 else { continue }
        let hostile = Array(Self.text(&random, pieces: 8).utf8)
        switch number % 6 {
        case 0: record.key = hostile
        case 1: record.value = Array("{\"\(text)\": \"".utf8) + hostile
        case 2: record.headers[3].value = hostile
        case 3: record.headers.append(Header(name: "ce_time\u{1B}[31m", value: hostile))
        case 4: record.headers[4].value = hostile
        default: record.headers[5].value = hostile
        }
        if number % 6 == 3 { record.value = hostile }
        records.append(record)
      }
    }
    let producer = try Producer(configuration: broker.configuration)
    defer { producer.close() }
    try producer.send(records)
  }
}
