import Events
import Foundation
import Testing
import Workload

/// Every Unicode character round-trips through JSON, however it is escaped. The reference is
/// Foundation's `JSONDecoder` (`JSONSerialization` drops a byte order mark at the beginning of a
/// string).
@Suite struct ScalarTests {
  /// All scalar values in chunks, unescaped and as JSON strings.
  private static let corpus = pieces(of: 8192).flatMap { scalars in
    [Escape.needed, .all].map {
      (text: scalars.flatMap { UTF8.encode($0)! }, string: quotedBytes(scalars, $0))
    }
  }

  @Test("Foundation decodes the test strings to the intended text")
  func reference() throws {
    for (text, string) in Self.corpus {
      let read = try JSONDecoder().decode(String.self, from: Data(string))
      #expect(read.utf8.elementsEqual(text), "\(first(text))")
    }
  }

  /// One type with texts and a list decodes all chunks. Each of the others decodes a few, and all of them together
  /// decode each.
  @Test(
    "every scalar value, escaped or not, is decoded in the text fields of every type",
    arguments: zip(EventType.allCases.indices, EventType.allCases))
  func data(number: Int, type: EventType) throws {
    let fields = try textFields(type)
    let decodesAll = type == .postPublished
    for (index, (text, string)) in Self.corpus.enumerated()
    where decodesAll || index % EventType.allCases.count == number {
      var json = Array("{".utf8)
      for field in fields {
        json += Array(json.count > 1 ? ",\"\(field.name)\":".utf8 : "\"\(field.name)\":".utf8)
        switch field.shape {
        case .text: json += string
        case .list: json += Array("[".utf8) + string + Array("]".utf8)
        case .map: json += Array(#"{"a":"#.utf8) + string + Array("}".utf8)
        }
      }
      json += Array("}".utf8)
      let found = try reflectedTexts(EventCodec.jsonPayload(type, json))
      for field in fields {
        if !hasSameBytes(found[field.property], text) {
          Issue.record("\(field.name), \(first(text))")
        }
      }
    }
  }

  @Test("every scalar value allowed in an id or a source round-trips through a line of JSON")
  func attributes() throws {
    for scalars in pieces(of: 120) {
      let allowed = scalars.filter { $0.properties.generalCategory != .control }
      guard let scalar = allowed.first else { continue }
      let (text, id) = (string(allowed), string(allowed.prefix(30)))
      for escape in [Escape.needed, .all] {
        let attributes = "\"id\":\(quoted(id, escape)),\"source\":\(quoted(text, escape))"
        let event = try StructuredEvent.decode(
          #"{"type":"magpie.alarm.read-all.v1","time":"2020-01-01T00:00:00Z","data":{"user":"u"},"#
            + attributes + "}")
        #expect(event.id.hasSameBytes(as: id), "\(scalar), \(escape)")
        #expect(event.source.hasSameBytes(as: text), "\(scalar), \(escape)")
      }
    }
  }

  @Test("every scalar value allowed in a text is encoded so that Foundation decodes it")
  func written() throws {
    for scalars in pieces(of: 4000) {
      let text = string(scalars.filter { $0 != "\0" })
      let event = Event(
        id: "1", source: "s", time: now,
        payload: .messageSent(
          .with { ($0.message, $0.sender, $0.receiver, $0.text) = ("m", "s", "r", text) }))
      let record = try EventCodec.encode(event, as: .json)
      let read = try JSONDecoder().decode(
        [String: String].self, from: Data(try #require(record.value)))
      #expect(read["text"]?.hasSameBytes(as: text) == true, "\(first(text.utf8))")
      #expect(try StructuredEvent.decode(StructuredEvent.encode(event)) == event)
    }
  }

  @Test("names of fields and attributes may be escaped", arguments: EventType.allCases)
  func names(type: EventType) throws {
    var samples = Samples(seed: 11)
    let event = samples.event(type)
    let plain = try StructuredEvent.encode(event)
    // In the samples, only names are followed by a colon.
    let escaped = plain.replacing(/"([A-Za-z0-9-]+)":/) { match in
      quoted(String(match.1), .all) + ":"
    }
    #expect(escaped != plain)
    #expect(try StructuredEvent.decode(escaped) == event)
  }

  @Test("a record's key is compared with the unescaped data")
  func key() throws {
    let record = WireRecord(
      key: Array("𠮷".utf8), value: Array(#"{"user":"\ud842\udfb7"}"#.utf8),
      headers: try EventCodec.encode(
        Event(id: "1", source: "s", time: now, payload: .alarmReadAll(.with { $0.user = "u" })),
        as: .json
      ).headers)
    let event = try EventCodec.decode(record, topic: .alarmActions, now: now)
    #expect(event.key.unicodeScalars.map(\.value) == [0x20BB7])
  }

  @Test("a lone surrogate is rejected in any context")
  func lone() {
    for unit in 0xD800...0xDFFF {
      let half = "\\u" + String(unit, radix: 16)
      let other = unit < 0xDC00 ? "\\uD800" : "\\uDC00"
      for text in [half, "a\(half)b", half + other, half + "\\n", half + "\\\\", half + "\\u0041"] {
        #expect(throws: EventError.self, "\(text)") {
          try EventCodec.jsonPayload(.alarmReadAll, Array("{\"user\":\"\(text)\"}".utf8))
        }
      }
    }
  }

  @Test("random sequences of escapes are accepted, rejected and decoded as by Foundation")
  func anyOrder() throws {
    let pieces = [
      #"\\"#, #"\""#, #"\ud842"#, #"\uDFB7"#, #"\udb40\udc67"#, #"\uDBFF\udfff"#, #"\u0041"#,
      #"\n"#,
      #"\"#, "u", "ud842", "x", "𠮷", "\u{10BB7}", "é", #"\/"#, #"\u00"#,
    ]
    var random = SplitMix64(seed: 12)
    var accepted = 0
    for _ in 0..<10_000 {
      let count = Int.random(in: 0...6, using: &random)
      let text = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      let json = Array("{\"user\":\"\(text)\",\"later\":1}".utf8)
      let expected = try? JSONDecoder().decode([String: Texts?].self, from: Data(json))
      let found = try? EventCodec.jsonPayload(.alarmReadAll, json)
      #expect((found == nil) == (expected == nil), "\(text)")
      guard let found, let expected else { continue }
      accepted += 1
      #expect(reflectedTexts(found)["user"] == expected["user"]??.bytes, "\(text)")
    }
    #expect(accepted > 3_000)
  }
}

private enum Escape {
  /// Only what JSON requires.
  case needed
  /// Every character, alternating between lower-case and upper-case digits.
  case all
}

/// A text field's value: a string, or a list whose first element is compared.
private enum Texts: Decodable {
  case one(String)
  case list([String])
  case other

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int.self), number == 1 {
      self = .other
    } else if let list = try? container.decode([String].self) {
      self = .list(list)
    } else {
      self = .one(try container.decode(String.self))
    }
  }

  var bytes: [UInt8]? {
    switch self {
    case .one(let text): Array(text.utf8)
    case .list(let list): list.first.map { Array($0.utf8) }
    case .other: nil
    }
  }
}

private let digits = [[UInt8]("0123456789abcdef".utf8), [UInt8]("0123456789ABCDEF".utf8)]

private func quotedBytes(_ scalars: [Unicode.Scalar], _ escape: Escape) -> [UInt8] {
  var result = [UInt8(ascii: "\"")]
  for scalar in scalars {
    if escape == .needed, scalar.value >= 0x20, scalar != "\"", scalar != "\\" {
      result.append(contentsOf: UTF8.encode(scalar)!)
      continue
    }
    let digits = digits[Int(scalar.value % 2)]
    for unit in UTF16.encode(scalar)! {
      result.append(UInt8(ascii: "\\"))
      result.append(UInt8(ascii: "u"))
      for shift in [12, 8, 4, 0] as [UInt16] { result.append(digits[Int(unit >> shift & 15)]) }
    }
  }
  result.append(UInt8(ascii: "\""))
  return result
}

private func quoted(_ text: String, _ escape: Escape) -> String {
  String(decoding: quotedBytes(Array(text.unicodeScalars), escape), as: UTF8.self)
}

/// All scalar values in order, in chunks of at most `count`; every 64th of planes 4 to 13, which have no characters.
private func pieces(of count: Int) -> [[Unicode.Scalar]] {
  stride(from: UInt32(0), through: 0x10FFFF, by: count).map { start in
    (start..<min(start + UInt32(count), 0x110000)).compactMap {
      0x40000..<0xE0000 ~= $0 && !$0.isMultiple(of: 64) ? nil : Unicode.Scalar($0)
    }
  }
}

private func string(_ scalars: some Sequence<Unicode.Scalar>) -> String {
  String(decoding: scalars.flatMap { UTF8.encode($0)! }, as: UTF8.self)
}

private func hasSameBytes(_ found: [UInt8]?, _ expected: [UInt8]) -> Bool {
  guard let found, found.count == expected.count else { return false }
  return found.withUnsafeBytes { found in
    expected.withUnsafeBytes { memcmp(found.baseAddress!, $0.baseAddress!, found.count) == 0 }
  }
}

private func first(_ text: some Sequence<UInt8>) -> String {
  let first = String(decoding: Array(text), as: UTF8.self).unicodeScalars.first
  return "from U+" + String(first?.value ?? 0, radix: 16)
}

/// How a field holds text: as a string, in a list, or as a value of a map.
private enum TextShape {
  case text, list, map
}

/// The text fields of a type: the JSON name, the message's property, and its shape.
private func textFields(
  _ type: EventType
) throws -> [(name: String, property: String, shape: TextShape)] {
  let empty = try EventCodec.jsonPayload(type, Array("{}".utf8))
  let texts = reflectedFields(empty).compactMap {
    field -> (name: String, property: String, shape: TextShape)? in
    let name = field.name.replacing("URL", with: "Url")
    switch field.value {
    case is String: return (name, field.name, .text)
    // `is` accepts an empty list of anything.
    case let list where Swift.type(of: list) == [String].self: return (name, field.name, .list)
    case is [String: String]: return (name, field.name, .map)
    default: return nil
    }
  }
  #expect(!texts.isEmpty)
  return texts
}

/// The UTF-8 bytes of a payload's text fields, by property name.
private func reflectedTexts(_ payload: Payload) -> [String: [UInt8]] {
  var result: [String: [UInt8]] = [:]
  for (name, value) in reflectedFields(payload) {
    if let text = value as? String { result[name] = Array(text.utf8) }
    if let list = value as? [String], list.count == 1 { result[name] = Array(list[0].utf8) }
    if let map = value as? [String: String], map.count == 1 {
      result[name] = map["a"].map { Array($0.utf8) }
    }
  }
  return result
}

/// The fields of a payload's message. SwiftProtobuf stores those of a large message in a class, with
/// an underscore before their names.
private func reflectedFields(_ payload: Payload) -> [(name: String, value: Any)] {
  guard let message = Mirror(reflecting: payload).children.first?.value else { return [] }
  let children = Mirror(reflecting: message).children
  if let storage = children.first(where: { $0.label == "_storage" })?.value {
    return Mirror(reflecting: storage).children.compactMap { child in
      child.label.map { (String($0.dropFirst()), child.value) }
    }
  }
  return children.compactMap { child in child.label.map { ($0, child.value) } }
}
