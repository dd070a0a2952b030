import Events
import Testing
import Workload

@Suite struct StructuredTests {
  static let line =
    #"{"type":"magpie.like.created.v1","id":"1","source":"app","#
    + #""time":"2012-09-14T16:30:01.25+09:00","data":{"actor":"a","post":"p","postOwner":"o"}}"#

  @Test("a handwritten line is an event")
  func handWritten() throws {
    let expected = Event(
      id: "1", source: "app", time: EventTime(microseconds: 1_347_607_801_250_000),
      payload: .likeCreated(.with { ($0.actor, $0.post, $0.postOwner) = ("a", "p", "o") }))
    #expect(try StructuredEvent.decode(Self.line) == expected)
    let spaced = Self.line.replacing(",", with: " ,\n\t").replacing(":{", with: " : {")
    #expect(try StructuredEvent.decode(spaced) == expected)
    let escaped = Self.line.replacing(#""id":"1""#, with: #""\u0069d":"\u0031""#)
    #expect(try StructuredEvent.decode(escaped) == expected)
    let full = Self.line.replacing(
      "{\"type\"",
      with: #"{"specversion":"1.0","datacontenttype":"application/json; charset=utf-8","type""#)
    #expect(try StructuredEvent.decode(full) == expected)
  }

  @Test("a handwritten line with arguments is an event")
  func handWrittenAlarm() throws {
    let line =
      #"{"type":"magpie.alarm.raised.v1","id":"1","source":"app","time":"2012-09-14T07:30:01Z","#
      + #""data":{"recipient":"r","kind":"gift-amount","source":"g1","actor":"a","imageUrl":"i","#
      + #""arguments":{"amount":"5","title":"}\u0022{"}}}"#
    let event = Event(
      id: "1", source: "app", time: EventTime(microseconds: 1_347_607_801_000_000),
      payload: .alarmRaised(
        .with {
          ($0.recipient, $0.kind, $0.source) = ("r", "gift-amount", "g1")
          ($0.actor, $0.imageURL) = ("a", "i")
          $0.arguments = ["amount": "5", "title": "}\"{"]
        }))
    #expect(try StructuredEvent.decode(line) == event)
    #expect(event.key == "r" && event.topic == .alarms)
  }

  @Test("equal alarms are equal lines and records, in whatever order their arguments were set")
  func argumentOrder() throws {
    var samples = Samples(seed: 13)
    for _ in 0..<40 {
      let event = samples.event(.alarmRaised)
      guard case .alarmRaised(var data) = event.payload else { continue }
      let arguments = data.arguments
      data.arguments = [:]
      for name in arguments.keys.shuffled(using: &samples.random) {
        data.arguments[name] = arguments[name]
      }
      var other = event
      other.payload = .alarmRaised(data)
      #expect(other == event)
      for type in ContentType.allCases {
        #expect(
          try EventCodec.encode(other, as: type).value == EventCodec.encode(event, as: type).value)
      }
      #expect(try StructuredEvent.encode(other) == StructuredEvent.encode(event))
    }
  }

  @Test(
    "a line with one defect is rejected with the matching code",
    arguments: [
      ("\"id\"", "\"Id\"", EventError.Code.unknownField),
      ("\"postOwner\"", "\"postowner\"", .unknownField),
      ("\"source\":\"app\",", "", .missingField),
      ("\"id\":\"1\"", "\"id\":\"\"", .missingField),
      ("\"id\":\"1\"", "\"id\":1", .badJSON),
      ("\"id\":\"1\"", "\"id\":\"1\",\"id\":\"2\"", .badJSON),
      ("like.created.v1", "like.created", .unknownType),
      ("2012-09-14", "2012-09-31", .badTime),
      ("2012-09-14", "1970-09-14", .timeTooEarly),
      ("2012-09-14", "2112-09-14", .timeTooLate),
      ("{\"actor\":\"a\",\"post\":\"p\",\"postOwner\":\"o\"}", "\"\"", .badJSON),
      (",\"data\":{\"actor\":\"a\",\"post\":\"p\",\"postOwner\":\"o\"}", "", .missingField),
      ("\"actor\":\"a\"", "\"actor\":\"\"", .missingField),
      ("\"actor\":\"a\"", "\"actor\":a", .badJSON),
      ("\"actor\":\"a\"", "\"actor\":\"\\uD800\"", .badJSON),
      ("\"id\":\"1\"", "\"id\":\"\\uD800\"", .badJSON),
      ("\"id\":\"1\"", "\"id\":\"\\q\"", .badJSON),
      ("{\"type\"", "{\"specversion\":\"0.3\",\"type\"", .unsupportedSpecVersion),
      ("{\"type\"", "{\"datacontenttype\":\"text/plain\",\"type\"", .unsupportedContentType),
      ("}}", "}", .badJSON),
      ("}}", "}}}", .badJSON),
      ("}}", "}} x", .badJSON),
      ("{\"type\"", "[{\"type\"", .badJSON),
    ])
  func refused(find: String, replacement: String, code: EventError.Code) {
    let line = Self.line.replacing(find, with: replacement)
    #expect(line != Self.line)
    #expect {
      try StructuredEvent.decode(line, now: now)
    } throws: { error in
      #expect((error as? EventError)?.code == code, "\(error)")
      return (error as? EventError)?.code == code
    }
  }
}

@Suite struct FuzzTests {
  @Test("random bytes are rejected or decoded and never crash")
  func bytes() {
    var samples = Samples(seed: 6)
    for _ in 0..<8_000 {
      let type = EventType.allCases.randomElement(using: &samples.random) ?? .likeCreated
      let contentType: ContentType = Bool.random(using: &samples.random) ? .json : .protobuf
      guard var record = try? EventCodec.encode(samples.event(type), as: contentType) else {
        Issue.record("a sample is not valid")
        return
      }
      mutate(&record.value, &samples.random)
      if Int.random(in: 0..<4, using: &samples.random) == 0 {
        mutate(&record.key, &samples.random)
        let index = Int.random(in: record.headers.indices, using: &samples.random)
        mutate(&record.headers[index].value, &samples.random)
      }
      if let event = try? EventCodec.decode(record, topic: type.topic, now: now) {
        // A decoded event can be encoded again.
        #expect(throws: Never.self) { try EventCodec.encode(event) }
      }
    }
  }

  @Test("random lines are rejected or decoded and never crash")
  func lines() {
    var samples = Samples(seed: 7)
    for _ in 0..<5_000 {
      let type = EventType.allCases.randomElement(using: &samples.random) ?? .likeCreated
      var bytes = (try? StructuredEvent.encode(samples.event(type))).map { Array($0.utf8) }
      mutate(&bytes, &samples.random)
      let line = String(decoding: bytes ?? [], as: UTF8.self)
      if let event = try? StructuredEvent.decode(line, now: now) {
        #expect(throws: Never.self) { try StructuredEvent.encode(event) }
      }
    }
    for _ in 0..<8_000 {
      var bytes: [UInt8]? = Array("2012-09-14T16:30:01.25+09:00".utf8)
      mutate(&bytes, &samples.random)
      _ = try? EventTime(rfc3339: String(decoding: bytes ?? [], as: UTF8.self))
    }
  }

  private func mutate(_ bytes: inout [UInt8]?, _ random: inout SplitMix64) {
    var changed = bytes ?? []
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      let byte = UInt8.random(in: 0...255, using: &random)
      guard let index = changed.indices.randomElement(using: &random) else { break }
      switch Int.random(in: 0..<4, using: &random) {
      case 0: changed[index] = byte
      case 1: changed.insert(byte, at: index)
      case 2: changed.remove(at: index)
      default: changed.removeSubrange(index..<min(changed.count, index + 5))
      }
    }
    bytes = changed
  }
}
