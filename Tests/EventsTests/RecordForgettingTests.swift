import Records
import Testing
import Workload

@testable import Events

/// What is left of a record when a person is erased.
@Suite struct RecordForgettingTests {
  private func event(_ payload: Payload, at time: EventTime = now) -> Event {
    Event(id: "e", source: "s", time: time, payload: payload)
  }

  private func record(_ payload: Payload, as type: ContentType) throws -> WireRecord {
    try EventCodec.encode(event(payload), as: type)
  }

  /// - Parameter seconds: after `now`.
  private func remainder(
    _ record: WireRecord, _ topic: Topic?, erasing id: String, after seconds: Int64 = 0,
    doneAfter: Int64? = nil, writtenAt: EventTime? = now
  ) -> WireRecord? {
    let later = { (seconds: Int64) in
      EventTime(microseconds: now.microseconds + seconds * 1_000_000)
    }
    return RecordForgetting(record, topic: topic, time: writtenAt).remainder {
      $0 == id
        ? PersonErasure(
          erasedAt: later(seconds), doneAt: doneAfter.map(later), formerID: "erased:00")
        : nil
    }
  }

  @Test(arguments: ContentType.allCases)
  func `nothing is left of an event that names the person, at or before the erasure`(
    _ type: ContentType
  ) throws {
    let like = try record(
      .likeCreated(.with { ($0.actor, $0.post, $0.postOwner) = ("42", "p", "o") }), as: type)
    #expect(remainder(like, .likes, erasing: "42") == .erased)
    #expect(remainder(like, .likes, erasing: "o") == .erased)
    #expect(remainder(like, .likes, erasing: "42", after: -1) == nil)
    #expect(remainder(like, .likes, erasing: "4") == nil)
    #expect(remainder(like, .likes, erasing: "p") == nil)
    let erasure = try record(.userErased(.with { $0.user = "42" }), as: type)
    #expect(remainder(erasure, .erasures, erasing: "42") == .erased)
    #expect(remainder(.erased, .likes, erasing: "42") == nil)
  }

  @Test(arguments: ContentType.allCases)
  func `a mention goes, and a message to the person stays its sender's`(_ type: ContentType)
    throws
  {
    let post = try record(
      .postPublished(.with { ($0.post, $0.author, $0.mentions) = ("p", "a", ["m", "42"]) }),
      as: type)
    let left = try #require(remainder(post, .posts, erasing: "42"))
    #expect(left.isChangedByErasure && !left.isErased)
    let expected = Payload.postPublished(
      .with { ($0.post, $0.author, $0.mentions) = ("p", "a", ["m"]) })
    #expect(try EventCodec.decode(left, topic: .posts, now: now) == event(expected))
    #expect(remainder(left, .posts, erasing: "42") == nil)

    let message = try record(
      .messageSent(
        .with { ($0.message, $0.sender, $0.receiver, $0.text) = ("m", "a", "42", "hi") }), as: type)
    #expect(remainder(message, .messages, erasing: "a") == .erased)
    let kept = try #require(remainder(message, .messages, erasing: "42"))
    #expect(kept.key == Array("erased:00".utf8))
    let decoded = try EventCodec.decode(kept, topic: .messages, now: now)
    #expect(decoded.key == "erased:00")
    // Only a record that was changed may name a former person as its receiver.
    var sent = kept
    sent.headers.removeAll { $0.name == WireRecord.erasedHeader }
    #expect(throws: EventError.self) { try EventCodec.decode(sent, topic: .messages, now: now) }
    #expect(throws: EventError.self) { try EventCodec.encode(decoded) }
  }

  @Test(arguments: ContentType.allCases)
  func `what workers publish is erased as long as it may name the person`(_ type: ContentType)
    throws
  {
    let snapshot = try record(
      .alarmChanged(
        .with {
          $0.notification = "00000000-0000-0000-0000-000000000001"
          ($0.recipient, $0.kind, $0.locale, $0.version) = ("r", "F00", "en", 1)
          ($0.contributionCount, $0.raisedAt) = (1, EventTime.now.microseconds)
          $0.segments = [.with { ($0.kind, $0.text, $0.actor) = ("actor", "Ann", "42") }]
        }), as: type)
    #expect(remainder(snapshot, .alarmChanges, erasing: "42") == .erased)
    let change = try record(
      .notificationChanged(
        .with {
          $0.notification = "00000000-0000-0000-0000-000000000001"
          ($0.recipient, $0.type, $0.source, $0.generation) = ("r", 0, "42", 1)
          ($0.contributionCount, $0.raisedAt, $0.counter) = (1, EventTime.now.microseconds, 1)
        }), as: type)
    #expect(remainder(change, .notificationChanges, erasing: "42") == .erased)
    #expect(remainder(snapshot, .alarmChanges, erasing: "r") == .erased)
    #expect(remainder(snapshot, .alarmChanges, erasing: "42", after: -9, doneAfter: 1) == .erased)
    #expect(remainder(snapshot, .alarmChanges, erasing: "42", after: -9, doneAfter: -1) == nil)
  }

  @Test func `what workers publish counts by when they published it if its cause's time is ahead`()
    throws
  {
    let change = Payload.notificationChanged(
      .with {
        $0.notification = "00000000-0000-0000-0000-000000000001"
        ($0.recipient, $0.type, $0.source, $0.generation) = ("r", 0, "42", 1)
        ($0.contributionCount, $0.raisedAt, $0.counter) = (1, EventTime.now.microseconds, 1)
      })
    let ahead = EventTime(microseconds: now.microseconds + 3_600_000_000)
    var record = try EventCodec.encode(event(change, at: ahead), as: .json)
    for _ in 0..<2 {
      let left = remainder(record, .notificationChanges, erasing: "42", after: -9, doneAfter: 1)
      #expect(left == .erased)
      #expect(
        remainder(record, .notificationChanges, erasing: "42", after: -9, doneAfter: -1) == nil)
      // Neither does one that cannot be decoded stay.
      record.value?.removeLast()
    }
  }

  private func alarm(_ link: String, kind: String = "F33") throws -> WireRecord {
    try record(
      .alarmChanged(
        .with {
          $0.notification = "00000000-0000-0000-0000-000000000001"
          ($0.recipient, $0.kind, $0.locale, $0.version) = ("r", kind, "en", 1)
          ($0.contributionCount, $0.raisedAt) = (1, EventTime.now.microseconds)
          ($0.post, $0.comment, $0.deepLink) = ("p1", "c/1", link)
        }), as: .protobuf)
  }

  private static let links: [(link: String, id: String, isNamed: Bool)] = [
    ("magpie://groups/42/requests", "42", true), ("magpie://groups/42", "groups", false),
    ("magpie://groups/42", "magpie", false), ("app://42", "42", true), ("app:user:42", "42", true),
    ("app:user:42", "app", false), ("@42", "42", true), ("42", "42", true),
    ("https://example.com/u?id=42&x=y", "42", true), ("https://example.com/42.html", "42", true),
    ("https://example.com/4.2.html", "4.2", true), ("https://example.com/~4.2", "4.2", true),
    ("https://example.com/b%2Fc%", "b/c%", true), ("https://example.com/b%2Fc", "b", false),
    ("https://example.com/n%3a42/x", "n:42", true), ("https://example.com/n:42", "n:42", true),
    ("https://example.com/\u{C564}", "\u{C564}", true),
    ("https://example.com/%EC%95%A4", "\u{C564}", true),
    ("magpie://posts/p1/comments/c%2F1", "p1", false),
    ("magpie://posts/p1/comments/c%2F1", "c/1", false), ("app://x/1428", "42", false),
  ]

  @Test
  func `a published alarm names whom its link names, but not its post, its comment and its scheme`()
    throws
  {
    for (link, id, isNamed) in Self.links {
      let left = remainder(try alarm(link), .alarmChanges, erasing: id)
      #expect((left == .erased) == isNamed, "\(link) \(id)")
    }
    // What erasure verify takes for the end of an id is one here, too.
    for byte in UInt8(0x21)...0x7E {
      let delimiter = String(decoding: [byte], as: UTF8.self)
      let isWord = delimiter.contains(/[A-Za-z0-9_%-]/)
      let link = try alarm("app://x/a\(delimiter)42\(delimiter)z")
      #expect(
        (remainder(link, .alarmChanges, erasing: "42") == nil) == isWord, "\(delimiter)")
    }
    let dots = try alarm("app://x/" + String(repeating: ".", count: 60_000))
    #expect(remainder(dots, .alarmChanges, erasing: "42") == nil)
  }

  @Test func `an author's post and what else is no person's id does not count as one`() throws {
    for kind in ["F00", "F01", "F02", "F03", "F04", "F05", "F13"] {
      let alarm = try alarm("magpie://posts/42", kind: kind)
      #expect(remainder(alarm, .alarmChanges, erasing: "42") == nil, "\(kind)")
    }
    for (type, isNamed) in [(Int32(13), false), (6, true)] {
      let change = try record(
        .notificationChanged(
          .with {
            $0.notification = "00000000-0000-0000-0000-000000000001"
            ($0.recipient, $0.type, $0.source, $0.generation) = ("r", type, "42", 1)
            ($0.contributionCount, $0.raisedAt, $0.counter) = (1, EventTime.now.microseconds, 1)
          }), as: .protobuf)
      let left = remainder(change, .notificationChanges, erasing: "42")
      #expect((left == .erased) == isNamed, "\(type)")
    }
  }

  private static let undecodable: [(value: String, isNamed: Bool)] = [
    (#"{"user":"42"}"#, true), (#"{"a":[{"b":"42"}]}"#, true), (#"{"42":1}"#, true),
    (#"{"user":"\u00342"}"#, true), (#"{"data":"{\"user\":\"42\"}"}"#, true),
    (#"{"user":42}"#, true), (#"{"mentions":[7, 42]}"#, true), (#"{"user":"42""#, true),
    (#"{"a":"x,"user":"42"}"#, true), (#""42""#, true),
    (#"{"user":"1428"}"#, false), (#"{"user":"42 "}"#, false), (#"{"count":42}"#, false),
    (#"{"text":"I said \"42\" twice"}"#, false), (#"{"user":1428}"#, false), ("42", false),
    ("", false), ("\\", false), (#"{"a":"\"#, false), ("\"\\", false),
  ]

  @Test func `of JSON that cannot be decoded, only whole strings count`() {
    for (value, isNamed) in Self.undecodable {
      let record = WireRecord(key: nil, value: Array(value.utf8), headers: [])
      let left = remainder(record, .likes, erasing: "42")
      #expect((left == .erased) == isNamed, "\(value)")
      #expect(remainder(record, .likes, erasing: "42", after: -1) == nil)
      #expect((remainder(record, nil, erasing: "42", writtenAt: nil) == .erased) == isNamed)
    }
  }

  @Test func `a record that cannot be decoded and arrives late counts by the time that it states`()
  {
    let value = Array(#"{"user":"42""#.utf8)
    for (seconds, isErased) in [(Int64(-2), true), (0, false)] {
      let stated = EventTime(microseconds: now.microseconds + seconds * 1_000_000)
      let record = WireRecord(
        key: nil, value: value, headers: [Header("ce_time", stated.rfc3339)])
      #expect((remainder(record, .likes, erasing: "42", after: -1) == .erased) == isErased)
    }
  }

  @Test func `of Protobuf that cannot be decoded, only whole strings count`() {
    let inner: [UInt8] = [0x08, 5, 0x12, 2] + Array("42".utf8)
    let values: [([UInt8], Bool)] = [
      (inner, true), ([0, 0, 0, 0, 7, 0] + inner, true), ([0x1A, 6] + inner, true),
      (inner + [0x22, 90], true), ([0x12, 4] + Array("1428".utf8), false),
      ([0x12, 2, 0x34], false), ([], false),
    ]
    for (value, isNamed) in values {
      let record = WireRecord(key: nil, value: value, headers: [])
      #expect((remainder(record, .likes, erasing: "42") == .erased) == isNamed, "\(value)")
    }
  }

  @Test func `a key and a header count as a whole`() throws {
    let key = WireRecord(key: Array("42".utf8), value: nil, headers: [])
    #expect(remainder(key, .likes, erasing: "42") == .erased)
    #expect(remainder(key, .likes, erasing: "4") == nil)
    let header = WireRecord(key: nil, value: nil, headers: [Header("user", "42")])
    #expect(remainder(header, .likes, erasing: "42") == .erased)
    // The event of a record with a wrong key is read nevertheless.
    var wrong = try record(
      .likeCreated(.with { ($0.actor, $0.post, $0.postOwner) = ("42", "p", "o") }), as: .protobuf)
    wrong.key = [1]
    #expect(remainder(wrong, .likes, erasing: "42") == .erased)
  }

  @Test func `random bytes are read without a trap`() {
    var random = SplitMix64(seed: 7)
    for _ in 0..<1_200 {
      let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in
        Bool.random(using: &random)
          ? UInt8.random(in: 0...255, using: &random)
          : Array("\"\\{}[]:,u0".utf8).randomElement(using: &random) ?? 0
      }
      let record = WireRecord(key: nil, value: bytes, headers: [])
      #expect(remainder(record, .likes, erasing: "never in there") == nil)
    }
  }
}
