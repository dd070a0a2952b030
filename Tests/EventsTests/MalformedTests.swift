import Events
import Testing

/// A record with one defect, and the expected error.
struct Malformed: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var code: EventError.Code
  var field: String?
  var topic: Topic = .comments
  var record: WireRecord

  /// - Parameter change: introduces the defect into a valid comment.
  init(
    _ name: String, _ code: EventError.Code, field: String? = nil, as type: ContentType = .json,
    _ change: (inout WireRecord) -> Void
  ) {
    (testDescription, self.code, self.field) = (name, code, field)
    record =
      (try? EventCodec.encode(comment(), as: type)) ?? WireRecord(key: nil, value: nil, headers: [])
    change(&record)
  }
}

func comment() -> Event {
  Event(
    id: "e1", source: "app", time: now,
    payload: .commentCreated(
      .with {
        ($0.comment, $0.actor, $0.post, $0.postOwner) = ("c1", "a1", "p1", "o1")
        ($0.text, $0.mentions) = ("hello", ["m1"])
      }))
}

extension WireRecord {
  mutating func set(_ name: String, _ text: String) { set(name, bytes: Array(text.utf8)) }

  mutating func set(_ name: String, bytes: [UInt8]?) {
    for index in headers.indices where headers[index].name == name { headers[index].value = bytes }
  }

  mutating func remove(_ name: String) { headers.removeAll { $0.name == name } }

  mutating func json(_ text: String) { value = Array(text.utf8) }

  /// The valid comment's JSON with one member replaced.
  mutating func json(_ name: String, _ replacement: String) {
    let members = [
      "comment": "\"c1\"", "actor": "\"a1\"", "post": "\"p1\"", "postOwner": "\"o1\"",
      "text": "\"hello\"", "mentions": "[]",
    ].merging([name: replacement]) { $1 }
    json("{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}")
  }
}

private func quoted(_ count: Int) -> String { "\"" + String(repeating: "x", count: count) + "\"" }

@Suite struct MalformedTests {
  @Test("the record that the malformed ones are derived from is valid")
  func good() throws {
    for type in ContentType.allCases {
      let record = try EventCodec.encode(comment(), as: type)
      #expect(try EventCodec.decode(record, topic: .comments, now: now) == comment())
    }
  }

  @Test("a record with one defect is rejected with the matching code", arguments: cases)
  func refused(malformed: Malformed) {
    #expect {
      try EventCodec.decode(malformed.record, topic: malformed.topic, now: now)
    } throws: { error in
      guard let error = error as? EventError else { return false }
      #expect(error.code == malformed.code, "\(error)")
      if let field = malformed.field { #expect(error.field == field, "\(error)") }
      #expect(error.message.count > 20 && error.message.utf8.count < 1000)
      return error.code == malformed.code
    }
  }

  static let cases: [Malformed] = [
    Malformed("no key", .missingKey, field: "key") { $0.key = nil },
    Malformed("empty key", .wrongKey, field: "key") { $0.key = [] },
    Malformed("another's key", .wrongKey) { $0.key = Array("a1".utf8) },
    Malformed("key of invalid UTF-8", .wrongKey) { $0.key = [0xFF] },
    Malformed("tombstone", .missingValue) { $0.value = nil },
    Malformed("huge value", .valueTooLarge) { $0.json("text", quoted(1 << 20)) },
    Malformed("many headers", .tooManyHeaders) {
      $0.headers += (0..<100).map { .init(name: "x\($0)", value: nil) }
    },
    Malformed("headers that cannot be read", .tooManyHeaders) {
      $0.headers = [.init(name: WireRecord.unreadableHeader, value: nil)]
    },
    Malformed("no ce_id", .missingHeader, field: "ce_id") { $0.remove("ce_id") },
    Malformed("null ce_id", .missingHeader, field: "ce_id") { $0.set("ce_id", bytes: nil) },
    Malformed("empty ce_id", .missingHeader, field: "ce_id") { $0.set("ce_id", "") },
    Malformed("long ce_id", .badHeader, field: "ce_id") {
      $0.set("ce_id", String(repeating: "x", count: 129))
    },
    Malformed("ce_id of invalid UTF-8", .badHeader, field: "ce_id") {
      $0.set("ce_id", bytes: [0x61, 0xC0, 0x80])
    },
    Malformed("ce_id with a surrogate", .badHeader) { $0.set("ce_id", bytes: [0xED, 0xA0, 0x80]) },
    Malformed("ce_id with a NUL", .badHeader) { $0.set("ce_id", "a\0b") },
    Malformed("two ce_ids", .duplicateHeader) { $0.headers.append(.init("ce_id", "a")) },
    Malformed("a null ce_id and another", .duplicateHeader) {
      $0.headers.insert(.init(name: "ce_id", value: nil), at: 0)
    },
    Malformed("two null ce_ids", .duplicateHeader) {
      $0.set("ce_id", bytes: nil)
      $0.headers.append(.init(name: "ce_id", value: nil))
    },
    Malformed("no ce_source", .missingHeader) { $0.remove("ce_source") },
    Malformed("long ce_source", .badHeader) {
      $0.set("ce_source", String(repeating: "x", count: 513))
    },
    Malformed("no ce_specversion", .missingHeader) { $0.remove("ce_specversion") },
    Malformed("ce_specversion 0.3", .unsupportedSpecVersion) { $0.set("ce_specversion", "0.3") },
    Malformed("no ce_type", .missingHeader) { $0.remove("ce_type") },
    Malformed("unknown ce_type", .unknownType) { $0.set("ce_type", "magpie.comment.created.v2") },
    Malformed("another topic's type", .wrongTopic) {
      $0.set("ce_type", "magpie.like.created.v1")
    },
    Malformed("no ce_time", .missingHeader) { $0.remove("ce_time") },
    Malformed("ce_time without offset", .badTime, field: "ce_time") {
      $0.set("ce_time", "2012-01-01T00:00:00")
    },
    Malformed("ce_time in 1970", .timeTooEarly, field: "ce_time") {
      $0.set("ce_time", "1970-01-01T00:00:00Z")
    },
    Malformed("ce_time just before 2000", .timeTooEarly) {
      $0.set("ce_time", "1999-12-31T23:59:59.999999Z")
    },
    Malformed("ce_time an hour and a microsecond ahead", .timeTooLate, field: "ce_time") {
      $0.set("ce_time", EventTime(microseconds: now.microseconds + 3_600_000_001).rfc3339)
    },
    Malformed("no content-type", .missingHeader) { $0.remove("content-type") },
    Malformed("content-type text", .unsupportedContentType) {
      $0.set("content-type", "text/plain")
    },
    Malformed("structured mode", .unsupportedContentType) {
      $0.set("content-type", "application/cloudevents+json")
    },
    Malformed("the id of a former person", .badID, field: "actor") {
      $0.json("actor", #""erased:0f""#)
    },
    Malformed("truncated JSON", .badJSON) { $0.value?.removeLast() },
    Malformed("an array", .badJSON) { $0.json("[]") },
    Malformed("null", .badJSON) { $0.json("null") },
    Malformed("empty JSON value", .badJSON) { $0.json("") },
    Malformed("two objects", .badJSON) { $0.value? += Array("{}".utf8) },
    Malformed("JSON of invalid UTF-8", .badJSON) { $0.value?.insert(0xFF, at: 12) },
    Malformed("half a surrogate pair", .badJSON) { $0.json("text", #""\uD83D""#) },
    Malformed("a number instead of a text", .badJSON) { $0.json("text", "5") },
    Malformed("deeply nested unknown field", .badJSON) {
      $0.json("later", String(repeating: "[", count: 500_000))
    },
    Malformed("deeply nested objects", .badJSON) {
      $0.json("later", String(repeating: #"{"a":"#, count: 150_000))
    },
    Malformed("truncated Protobuf", .badProtobuf, as: .protobuf) { $0.value?.removeLast() },
    Malformed("Protobuf of invalid UTF-8", .badProtobuf, as: .protobuf) {
      $0.value = [0x0A, 0x02, 0xC3, 0x28]
    },
    Malformed("JSON declared as Protobuf", .badProtobuf) {
      $0.set("content-type", "application/protobuf")
    },
    Malformed("empty Protobuf", .missingField, field: "comment", as: .protobuf) { $0.value = [] },
    Malformed("no comment id", .missingField, field: "comment") { $0.json("comment", "\"\"") },
    Malformed("no actor", .missingField, field: "actor") { $0.json("actor", "null") },
    Malformed("an id too long", .fieldTooLong, field: "post") { $0.json("post", quoted(129)) },
    Malformed("an id with a NUL", .badID, field: "actor") { $0.json("actor", #""a\u0000b""#) },
    Malformed("an id with a newline", .badID, field: "actor") { $0.json("actor", #""a\nb""#) },
    Malformed("an id with a C1 control", .badID) { $0.json("actor", #""a\u0085b""#) },
    Malformed("a text with a NUL", .badText, field: "text") { $0.json("text", #""a\u0000b""#) },
    Malformed("a text too long", .fieldTooLong, field: "text") {
      $0.json("text", quoted(Limits.commentBytes + 1))
    },
    Malformed("too many mentions", .tooManyMentions, field: "mentions") {
      $0.json("mentions", "[" + (0...100).map { "\"u\($0)\"" }.joined(separator: ",") + "]")
    },
    Malformed("an empty mention", .missingField, field: "mentions") {
      $0.json("mentions", #"[""]"#)
    },
  ]

  @Test(
    "the error for undecodable data names the field",
    arguments: [
      ("text", #""\uD83D""#), ("text", "5"), ("text", #""a\q""#), ("postOwner", "[]"),
      ("actor", "{}"),
      ("mentions", "[1]"), ("mentions", #"["a", null]"#),
    ])
  func field(name: String, value: String) throws {
    var record = try EventCodec.encode(comment(), as: .json)
    record.json(name, value)
    #expect {
      try EventCodec.decode(record, topic: .comments, now: now)
    } throws: { error in
      let error = error as? EventError
      return error?.code == .badJSON && error?.field == name
        && error?.message.contains("\"\(name)\" in the data of magpie.comment.created.v1") == true
        && error?.message.contains("malformedString") == false
    }
  }

  @Test(
    "a name that appears twice in an object of the data is rejected, however it is spelled or escaped",
    arguments: [
      (#""postOwner":"o","post_owner":"o""#, "post_owner"), (#""a_b_c":1,"aBC":[{}]"#, "aBC"),
      (#""text":"x","mentions":["y","z"],"text":"z""#, "text"),
      (#""text":"x","te\u0078t":"y""#, "text"), (#""later":{"a":{},"b":"\"","a":1}"#, "a"),
      (#""later":[[{"a":[1,2]},{"b":{"c":1},"b":null}]]"#, "b"),
      (#""later":{"a":[{"someName":1,"some_name":1}]}"#, "some_name"),
    ])
  func repeatedNames(members: String, name: String) throws {
    var record = try EventCodec.encode(comment(), as: .json)
    let others = #""comment":"c","actor":"a","post":"p","#
    for value in [others + members, members + "," + others.dropLast()] {
      record.value = Array("{\(value)}".utf8)
      #expect {
        try EventCodec.decode(record, topic: .comments, now: now)
      } throws: { error in
        let error = error as? EventError
        return error?.code == .badJSON && error?.field == name
          && error?.message == "\"\(name)\" appears twice in an object."
      }
    }
  }

  @Test(
    "the strings of unknown fields are checked, too",
    arguments: [#""\ud800""#, #"{"a":["\q"]}"#, "\"a\tb\"", #"{"\udc00":1}"#, #"["\u00g0"]"#])
  func unknownStrings(value: String) throws {
    var record = try EventCodec.encode(comment(), as: .json)
    record.json("later", value)
    #expect {
      try EventCodec.decode(record, topic: .comments, now: now)
    } throws: {
      let error = $0 as? EventError
      return error?.code == .badJSON && ["later", "a"].contains(error?.field)
        && error?.message.contains("has a malformed escape") == true
    }
  }

  @Test("a name may appear in several objects, and arguments may differ in an underscore only")
  func namesOfSeveralObjects() throws {
    let event = Event(
      id: "1", source: "s", time: now,
      payload: .alarmRaised(
        .with {
          ($0.recipient, $0.kind, $0.source) = ("r", "reply", "s")
          $0.arguments = ["some_name": "\"a\":1,\"a\":2", "someName": "b", "kind": "c"]
        }))
    var record = try EventCodec.encode(event, as: .json)
    record.value =
      Array(#"{"later":[{"kind":1},{"kind":[{"kind":2}]}],"#.utf8)
      + (record.value ?? []).dropFirst()
    #expect(try EventCodec.decode(record, topic: .alarms, now: now).payload == event.payload)
  }

  @Test("the error for a line that is not JSON says what was expected and where")
  func noJSON() {
    #expect {
      try StructuredEvent.decode("{bad json")
    } throws: {
      ($0 as? EventError)?.message
        == "Not a JSON object: expected a double quotation mark, found something else at byte 2."
    }
  }

  @Test(
    "the error for undecodable arguments names the field and the expected type",
    arguments: [
      ("[]", "is a malformed list"), ("\"x\"", "has the wrong type"), ("5", "has the wrong type"),
      (#"{"a":5}"#, "must be an object of strings"), (#"{"a":{}}"#, "must be an object of strings"),
      (#"{"a":"\uD83D"}"#, "must be an object of strings"),
      (#"{"\uD83D":"a"}"#, "must be an object of strings"),
    ])
  func undecodableArguments(value: String, why: String) {
    #expect {
      try EventCodec.jsonPayload(
        .alarmRaised,
        Array(#"{"recipient":"r","kind":"reply","source":"s","arguments":\#(value)}"#.utf8))
    } throws: { error in
      let error = error as? EventError
      return error?.code == .badJSON && error?.field == "arguments"
        && error?.message.contains(why) == true
    }
  }

  private func refuse(_ payload: Payload, _ code: EventError.Code, field: String? = nil) {
    #expect {
      try EventCodec.encode(Event(id: "1", source: "s", time: now, payload: payload))
    } throws: {
      let error = $0 as? EventError
      #expect(error?.code == code && (field == nil || error?.field == field), "\($0)")
      return error?.code == code
    }
  }

  @Test("an alarm action with a malformed UUID is rejected")
  func alarmActions() throws {
    for id in ["x", "12345678-1234-1234-1234-12345678901g", "12345678123412341234123456789012"] {
      refuse(.alarmRead(.with { ($0.user, $0.notification) = ("u", id) }), .badID)
    }
    refuse(.alarmDeleted(.with { $0.user = "u" }), .missingField)
  }

  @Test("a kind's syntax is checked wherever an event names one, but not whether it exists")
  func kinds() throws {
    func payloads(_ kind: String) -> [(Payload, field: String)] {
      [
        (.alarmMuted(.with { ($0.user, $0.type) = ("u", kind) }), "type"),
        (.alarmUnmuted(.with { ($0.user, $0.type) = ("u", kind) }), "type"),
        (.alarmRaised(.with { ($0.recipient, $0.kind, $0.source) = ("u", kind, "s") }), "kind"),
        (.alarmWithdrawn(.with { ($0.recipient, $0.kind, $0.source) = ("u", kind, "s") }), "kind"),
      ]
    }
    let longest = String(repeating: "x", count: 64)
    for kind in ["likes", "F06", "F999", "group-invitation", "Kind_1", "z", longest] {
      for (payload, _) in payloads(kind) {
        let event = Event(id: "1", source: "s", time: now, payload: payload)
        #expect(throws: Never.self, "\(kind)") { try EventCodec.encode(event) }
      }
    }
    let wrong = [
      "-x", "_x", "1x", "a b", "a.b", "a/b", " a", "a\n", "a\0", "좋아요", "é", longest + "x",
    ]
    for kind in wrong {
      for (payload, field) in payloads(kind) { refuse(payload, .badValue, field: field) }
    }
    for (payload, field) in payloads("") { refuse(payload, .missingField, field: field) }
  }

  @Test("a raised alarm needs a source, and its arguments have bounded names and values")
  func arguments() throws {
    func raised(_ arguments: [String: String], source: String = "s") -> Payload {
      .alarmRaised(
        .with {
          ($0.recipient, $0.kind, $0.source, $0.arguments) = ("u", "reply", source, arguments)
        })
    }
    func values(_ count: Int) -> [String: String] {
      Dictionary(uniqueKeysWithValues: (0..<count).map { ("name\($0)", "x") })
    }
    let bounds = [
      [:], values(16), ["a": ""], ["a": String(repeating: "x", count: 1024)],
      [String(repeating: "a", count: 64): "\u{202E}\n\u{1}"],
    ]
    for arguments in bounds {
      let event = Event(id: "1", source: "s", time: now, payload: raised(arguments))
      let record = try EventCodec.encode(event, as: .json)
      #expect(try EventCodec.decode(record, topic: .alarms, now: now) == event)
    }
    refuse(raised([:], source: ""), .missingField, field: "source")
    refuse(raised(values(17)), .badValue, field: "arguments")
    for name in ["", "-a", "1", "a b", "a.b", "제목", String(repeating: "a", count: 65)] {
      refuse(raised([name: "x"]), .badValue, field: "arguments")
    }
    refuse(
      raised(["a": String(repeating: "x", count: 1025)]), .fieldTooLong, field: "arguments.a")
    refuse(raised(["a": "x\0"]), .badText, field: "arguments.a")
    refuse(
      .notificationChanged(
        .with {
          ($0.notification, $0.recipient) = ("12345678-1234-1234-1234-123456789012", "u")
          ($0.contributionCount, $0.raisedAt) = (1, now.microseconds)
          $0.arguments = values(17)
        }), .badValue, field: "arguments")
  }

  @Test("a snapshot has actors exactly if it names one, and a type that is a kind's number")
  func snapshots() throws {
    func snapshot(actor: String, actors: Int64, type: Int32) -> Payload {
      .notificationChanged(
        .with {
          ($0.notification, $0.recipient) = ("12345678-1234-1234-1234-123456789012", "u")
          ($0.contributionCount, $0.raisedAt) = (1, now.microseconds)
          ($0.actor, $0.actorCount, $0.type) = (actor, actors, type)
        })
    }
    for (actor, actors, type): (String, Int64, Int32) in [("", 0, 0), ("a", 1, 999), ("a", 9, 6)] {
      let event = Event(
        id: "1", source: "s", time: now, payload: snapshot(actor: actor, actors: actors, type: type)
      )
      #expect(throws: Never.self) { try EventCodec.encode(event) }
    }
    refuse(snapshot(actor: "a", actors: 0, type: 6), .badValue, field: "actorCount")
    refuse(snapshot(actor: "", actors: -1, type: 6), .badValue, field: "actorCount")
    refuse(snapshot(actor: "a", actors: 1, type: 1000), .badValue, field: "type")
    refuse(snapshot(actor: "a", actors: 1, type: -1), .badValue, field: "type")
  }

  @Test("the encoder rejects what the decoder would reject", arguments: EventType.allCases)
  func encoder(type: EventType) {
    var samples = Samples(seed: 5)
    var event = samples.event(type)
    for change: (inout Event) -> Void in [
      { $0.id = "" }, { $0.id = String(repeating: "x", count: 129) }, { $0.source = "" },
      { $0.time = EventTime(microseconds: 0) }, { $0.source = "a\u{1}" },
    ] {
      var broken = event
      change(&broken)
      #expect(throws: EventError.self) { try EventCodec.encode(broken) }
      #expect(throws: EventError.self) { try StructuredEvent.encode(broken) }
    }
    event.id = "fine"
    #expect(throws: Never.self) { try EventCodec.encode(event) }
  }
}
