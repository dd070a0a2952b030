import Events
import Foundation
import Postgres
import RecordLog
import TestSupport
import Testing
import Verification
import Workload

/// `verify --deep` decodes JSON with a different decoder than the workers do.
@Suite struct JSONTests {
  /// People and texts from planes 1, 2, 3, 14 and 16: a rare name, an emoji, the flag of England.
  private static let events: [Event] = [
    event(1, .profile("u", nickname: "𠮷野", bio: "𝔐 🪶 \u{30000}")),
    event(2, .profile("v", nickname: "🏴\u{E0067}\u{E007F} \u{100000}")),
    event(3, .like("𠮷", "p", of: "u")),
    event(4, .follow("\u{2A6D6}", "u")),
    event(5, .post("p", by: "u", title: "𠀋", mentions: ["v"])),
  ]

  private static func event(_ number: Int64, _ payload: Payload) -> Event {
    Event(
      id: "\(number)", source: "test",
      time: EventTime(microseconds: 1_760_000_000_000_000 + number), payload: payload)
  }

  @Test("data with every character escaped is applied correctly and verified")
  func escaped() throws {
    let log = MemoryLog()
    try log.appendEscaped(Self.events)
    let tables = try Tables(log)
    try tables.applyAll()
    let names = try tables.admin.query(
      "SELECT nickname FROM profiles WHERE nickname <> '' ORDER BY user_id"
    )
    .map { try $0.text(0) }
    #expect(names == ["𠮷野", "🏴\u{E0067}\u{E007F} \u{100000}"])
    #expect(try tables.verify().lines == [])
    #expect(try suspicious(tables) == [:])
  }

  @Test("both decoders agree on every event type")
  func agreement() throws {
    let log = MemoryLog()
    let events = Array(SocialWorkload(users: 30, events: 1500, seed: 12))
    try log.appendEscaped(events)
    let tables = try Tables(log)
    try tables.applyAll()
    #expect(Set(events.map(\.type)).count >= 14)
    let report = try tables.verify()
    #expect(report.lines == [])
    #expect(report.rows > 1000)
  }

  @Test(
    "rows from a version that misread surrogate pairs are named, and the runbook's query finds them"
  )
  func misread() throws {
    let log = MemoryLog()
    try log.appendEscaped(Self.events)
    let stored = MemoryLog()
    try stored.appendEscaped(Self.events, misread: true)
    let tables = try Tables(stored)
    try tables.applyAll()
    let found = try tables.verify(log: log).lines
    for line in [
      "profiles different u ", "profiles different v ", "likes missing u p / 𠮷",
      "likes extra u p / \u{10BB7}",
    ] {
      #expect(found.contains(line), "\(line) is not in \(found.sorted())")
    }
    #expect(found.contains { $0.hasPrefix("follows missing") }, "\(found.sorted())")
    #expect(found.contains { $0.hasPrefix("posts different") }, "\(found.sorted())")
    let counts = try suspicious(tables)
    for table in ["profiles", "likes", "posts", "users", "notifications"] {
      #expect(counts[table, default: 0] > 0, "\(table): \(counts)")
    }
  }

  @Test("data about which decoders disagree is applied neither by the workers nor by the model")
  func disagreement() throws {
    let log = MemoryLog()
    var record = try EventCodec.encode(Self.events[0], as: .json)
    // For a duplicate field, SwiftProtobuf takes the last value, Foundation the first.
    record.value = Array(#"{"user":"u","nickname":"a","nickname":"b"}"#.utf8)
    log.append(record, to: .profiles)
    let tables = try Tables(log)
    try tables.applyAll()
    #expect(try tables.verify().lines == [])
  }

  /// The results of the runbook's query: rows by table.
  private func suspicious(_ tables: Tables) throws -> [String: Int] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appending(path: "docs/operations/misread-surrogate-pairs.md"),
      encoding: .utf8)
    let query = try #require(page.firstMatch(of: /```sql\n((?s).*?)```/))
    return try Dictionary(
      uniqueKeysWithValues: tables.admin.query(String(query.1)).map {
        (try $0.text(0), try $0.int(1))
      })
  }
}

extension MemoryLog {
  /// Appends the events as JSON with everything outside ASCII escaped, like Python's `json.dumps`.
  ///
  /// - Parameter misread: with the characters that SwiftProtobuf 1.39.0 decodes them to.
  fileprivate func appendEscaped(_ events: [Event], misread: Bool = false) throws {
    for event in events {
      var record = try EventCodec.encode(event, as: .json)
      record.value = record.value.map { ascii(String(decoding: $0, as: UTF8.self), misread) }
      if misread {
        record.key = record.key.map { key in
          let text = String(decoding: key, as: UTF8.self)
          return Array(String(String.UnicodeScalarView(text.unicodeScalars.map(misreading))).utf8)
        }
      }
      append(record, to: event.topic)
    }
  }
}

private func misreading(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
  guard scalar.value >= 0x10000 else { return scalar }
  return Unicode.Scalar(0x10000 | (scalar.value - 0x10000)) ?? scalar
}

private func ascii(_ json: String, _ misread: Bool) -> [UInt8] {
  var result: [UInt8] = []
  for scalar in json.unicodeScalars {
    if scalar.isASCII {
      result.append(UInt8(scalar.value))
      continue
    }
    for unit in UTF16.encode(misread ? misreading(scalar) : scalar) ?? .init() {
      result += Array(("\\u" + String(UInt32(unit) + 0x10000, radix: 16).dropFirst()).utf8)
    }
  }
  return result
}
