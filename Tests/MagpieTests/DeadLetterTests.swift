import Events
import Foundation
import Postgres
import TestSupport
import Testing

/// Listing, showing, discarding and exporting dead letters.
@Suite struct DeadLetterTests {
  private let letters: LetterDatabase

  init() throws { letters = try LetterDatabase() }

  @Test("list counts dead letters, filters them, and pages through all of them")
  func lists() async throws {
    for offset in 0..<25 {
      try letters.insert(
        letters.wire(letters.like("a\(offset)")), offset: offset,
        code: offset < 5 ? "bad-json" : "wrong-key")
    }
    let first = try await letters.tool("dead-letters", "list", "--limit", "10", "--json")
    #expect(first.status == 0, "\(first.error)")
    #expect(first.lines.count == 11)
    #expect(try member("count", of: first.lines[10], as: Int.self) == 25)
    var ids = try first.lines.dropLast().map { try member("id", of: $0, as: String.self) }
    var next: String? = try member("next", of: first.lines[10])
    while let after = next {
      let page = try await letters.tool(
        "dead-letters", "list", "--limit", "10", "--json", "--after", after)
      ids += try page.lines.dropLast().map { try member("id", of: $0, as: String.self) }
      next = try member("next", of: page.lines[page.lines.count - 1])
    }
    #expect(ids == (0..<25).map { letters.id($0) })

    let some = try await letters.tool("dead-letters", "list", "--reason-code", "bad-json")
    #expect(some.output.contains("5 open dead letters"))
    #expect(
      try await letters.tool("dead-letters", "list", "--group", "fanout").output.hasPrefix(
        "No open"))
    for (filter, problem) in [
      ("--group=notifications", "There is no consumer group notifications. The groups are"),
      ("--topic=like", "There is no topic like. The topics are"),
      ("--group=fanout --topic=likes", "fanout does not read the topic likes; it reads"),
    ] {
      let refused = try await letters.tool.run(
        ["dead-letters", "list"] + filter.split(separator: " ").map(String.init))
      #expect(refused.status == 64 && refused.error.contains(problem), "\(refused.error)")
    }
    let future = try await letters.tool("dead-letters", "list", "--since", "2999-01-01T00:00:00Z")
    #expect(future.output == "No open dead letters.\n")
    let recent = try await letters.tool("dead-letters", "list", "--since", "1h", "--topic", "likes")
    #expect(recent.output.contains("25 open"))

    let counts = try await letters.tool(
      "dead-letters", "list", "--by", "reason", "--by", "state", "--json")
    #expect(try counts.lines.map { try member("count", of: $0, as: Int.self) } == [20, 5])
    let lag = try await letters.tool("lag")
    #expect(lag.output.contains("open dead letters: 25"), "\(lag.error)")

    // Those that were set aside are counted as --topic selects them.
    try letters.connection.script(
      """
      UPDATE dead_letters SET topic = topic || '@gone-20260101T000000'
      WHERE record_offset = (SELECT min(record_offset) FROM dead_letters)
      """)
    let topics = try await letters.tool("dead-letters", "list", "--by", "topic", "--json")
    #expect(try topics.lines.map { try member("count", of: $0, as: Int.self) } == [25])
  }

  @Test("show decodes what it can, prints the bytes, and escapes control characters")
  func shows() async throws {
    var record = try letters.wire(letters.like("evil\u{202E}name"))
    record.key = [0xFF, 0x1B, 0x5B]
    record.headers.append(.init(name: "x-\u{1B}]0;pwned\u{7}", value: nil))
    try letters.insert(record, offset: 1, code: "wrong-key", reason: "\u{1B}[31mred\nline")
    let shown = try await letters.tool("dead-letters", "show", letters.id(1))
    #expect(shown.status == 0, "\(shown.error)")
    #expect(!shown.output.utf8.contains(0x1B) && !shown.output.utf8.contains(0x07))
    #expect(!shown.output.unicodeScalars.contains("\u{202E}"))
    #expect(shown.output.contains("ff1b5b  (not UTF-8)"))
    #expect(shown.output.contains("as magpie.like.created.v1"))
    #expect(shown.output.contains("7b 22 61 63 74 6f 72 22"), "the value in hexadecimal")
    #expect(shown.output.contains("failed  wrong-key"))
    // The formats without the group: the one in the workers' logs, and one with slashes.
    for id in ["\(letters.prefix)likes[0]@1", "\(letters.prefix)likes/0/1"] {
      #expect(try await letters.tool("dead-letters", "show", id).output == shown.output)
    }
    let json = try await letters.tool("dead-letters", "show", letters.id(1), "--json")
    #expect(try member("keyBase64", of: json.lines[0], as: String.self) == "/xtb")
    #expect(!json.output.utf8.contains(0x1B))
    let none = try await letters.tool("dead-letters", "show", letters.id(99))
    #expect(none.status == 1 && none.error.contains("no dead letter"))
    #expect(try await letters.tool("dead-letters", "show", "nonsense").status == 64)
  }

  @Test("show prints Protobuf of an unknown type by field number")
  func showsProtobuf() async throws {
    var record = try letters.wire(letters.like("minji"), as: .protobuf)
    record.headers[3].value = Array("magpie.like.adored.v9".utf8)
    record.value? += [0x07]
    try letters.insert(record, offset: 1, code: "unknown-type")
    let shown = try await letters.tool("dead-letters", "show", letters.id(1))
    #expect(shown.output.contains("1: \"minji\""), "\(shown.output)")
    #expect(shown.output.contains("no Protobuf field begins at byte"))
    try letters.insert(
      WireRecord(key: nil, value: nil, headers: []), offset: 2, code: "missing-key")
    let empty = try await letters.tool("dead-letters", "show", letters.id(2))
    #expect(empty.output.contains("none (a tombstone)"))
  }

  @Test(
    "discard requires a reason and a selection, and keeps the record, the reason and who discarded it"
  )
  func discards() async throws {
    for offset in 0..<5 {
      try letters.insert(
        letters.wire(letters.like("a\(offset)")), offset: offset,
        code: offset < 3 ? "bad-json" : "wrong-key")
    }
    #expect(try await letters.tool("dead-letters", "discard", "--all").status == 64)
    #expect(try await letters.tool("dead-letters", "discard", "--reason", "why").status == 64)
    #expect(
      try await letters.tool("dead-letters", "discard", "--all", "--reason", " ").status == 64)
    let dry = try await letters.tool(
      "dead-letters", "discard", "--reason-code", "bad-json", "--reason", "x", "--dry-run")
    #expect(dry.output == "3 would be discarded\n")
    #expect(try letters.states() == Array(repeating: "open", count: 5))
    let done = try await letters.tool(
      "dead-letters", "discard", "--reason-code", "bad-json", "--reason", "a test's\u{1B} rubbish",
      "--by", "me")
    #expect(done.output == "3 discarded\n")
    #expect(try letters.states() == ["discarded", "discarded", "discarded", "open", "open"])
    let shown = try await letters.tool("dead-letters", "show", letters.id(0))
    #expect(shown.output.contains(#": a test's\u{1B} rubbish"#), "\(shown.output)")
    // A discarded dead letter is not discarded again.
    let again = try await letters.tool(
      "dead-letters", "discard", letters.id(0), letters.id(3), "--reason", "other")
    #expect(again.output == "1 discarded\n" && again.status == 1)
    #expect(
      again.error.contains("\(letters.id(0)) is not open: it was discarded by me at "),
      "\(again.error)")
    #expect(!again.error.contains(letters.id(3)))
    #expect(
      try letters.count("dead_letters WHERE resolution = 'a test''s' || chr(27) || ' rubbish'") == 3
    )
    let unknown = try await letters.tool("dead-letters", "discard", letters.id(77), "--reason", "x")
    #expect(unknown.status == 1)
  }

  @Test("without ids, only dead letters of this prefix's groups are listed, discarded and redriven")
  func staysInPrefix() async throws {
    try letters.insert(letters.wire(letters.like("a")), offset: 0, code: "bad-json")
    let other = ["--topic-prefix", letters.prefix + "other."]
    let listed = try await letters.tool.run(
      ["dead-letters", "list", "--reason-code", "bad-json"] + other)
    #expect(listed.output == "No open dead letters.\n", "\(listed.error)")
    for selection in ["--all", "--reason-code=bad-json", "--since=1h", "--user=post"] {
      let done = try await letters.tool.run(
        ["dead-letters", "discard", selection, "--reason", "x"] + other)
      #expect(done.output == "0 discarded\n", "\(done.error)")
    }
    let dry = try await letters.tool.run(["dead-letters", "redrive", "--all", "--dry-run"] + other)
    #expect(dry.output == "0 would be redriven\n", "\(dry.error)")
    let redriven = try await letters.tool.run(["dead-letters", "redrive", letters.id(0)] + other)
    #expect(redriven.status == 64 && redriven.error.contains("set --topic-prefix"))
    #expect(try letters.states() == ["open"])
    let byID = try await letters.tool.run(
      ["dead-letters", "discard", letters.id(0), "--reason", "x"] + other)
    #expect(byID.output == "1 discarded\n", "\(byID.error)")
  }

  @Test("exported events can be published; exported records contain every byte")
  func exports() async throws {
    let good = letters.like("good")
    try letters.insert(letters.wire(good, as: .protobuf), offset: 0)
    var misplaced = try letters.wire(letters.like("misplaced"))
    misplaced.key = Array("somebody else".utf8)
    try letters.insert(misplaced, offset: 1, code: "wrong-key")
    try letters.insert(
      WireRecord(key: [0xFF], value: [0, 1, 2], headers: [.init(name: "h", value: nil)]), offset: 2,
      code: "missing-header")

    let records = try await letters.tool("dead-letters", "export")
    #expect(records.status == 0 && records.lines.count == 3)
    #expect(try member("value", of: records.lines[2], as: String.self) == "AAEC")
    #expect(try member("event", of: records.lines[2], as: [String: Any].self) == nil)
    #expect(
      try member("event", of: records.lines[0], as: [String: Any].self)?["id"] as? String == good.id
    )

    let events = try await letters.tool("dead-letters", "export", "--as", "events")
    #expect(events.status == 1 && events.error.contains("1 dead letters cannot be decoded"))
    #expect(events.lines.count == 2)
    let published = try await letters.tool("publish", "-", input: Array(events.output.utf8))
    #expect(published.output == "2 acknowledged, 0 rejected\n", "\(published.error)")
  }
}
