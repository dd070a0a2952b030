import Events
import Foundation
import Kafka

/// What `erasure verify` looks for: a person's id as a whole, and former names anywhere in a text.
///
/// An id is whole in a text if no ASCII letter or digit, `_` or `-` is next to it: 42 is in "ask 42!", and
/// neither in "1428" nor in "p-42".
struct SoughtTexts {
  struct Text {
    /// For the output: `id`, or the name.
    var label: String
    var isID: Bool
    var text: String
    var bytes: [UInt8]
  }

  /// The id is the first.
  let texts: [Text]

  init(id: String, names: [String]) {
    texts =
      [Text(label: "id", isID: true, text: id, bytes: Array(id.utf8))]
      + names.map { Text(label: $0, isID: false, text: $0, bytes: Array($0.utf8)) }
  }

  /// What a text, JSON or a value of unknown format has to contain so that one of the texts can be in it.
  var patterns: [String] {
    var result: [String] = []
    for text in texts {
      let escaped = text.text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
      for pattern in [text.text, escaped, escaped.replacing("/", with: "\\/")]
      where !result.contains(where: { $0.utf8.elementsEqual(pattern.utf8) }) {
        result.append(pattern)
      }
    }
    return result
  }

  // MARK: Finding, by the index of the text

  /// In a value that is one id as a whole.
  func indices(inID value: String) -> Set<Int> {
    let bytes = Array(value.utf8)
    return indices { $0.isID ? bytes == $0.bytes : isFirst($0.bytes, in: bytes) }
  }

  /// In a text.
  func indices(inText text: some Collection<UInt8>) -> Set<Int> {
    let bytes = Array(text)
    return indices { contains(bytes, $0) }
  }

  /// In JSON: in the strings in it, not in numbers.
  func indices(inJSON text: [UInt8]) -> Set<Int> {
    guard
      let value = try? JSONSerialization.jsonObject(
        with: Data(text), options: .fragmentsAllowed)
    else { return indices(inText: unescaped(text)) }
    return indices(inParsed: value)
  }

  /// In bytes of unknown format: JSON, Protobuf or text, perhaps damaged.
  func indices(inBytes bytes: [UInt8]) -> Set<Int> {
    guard
      bytes.contains(UInt8(ascii: "\\")) || texts.contains(where: { isFirst($0.bytes, in: bytes) })
    else { return [] }
    if let first = bytes.first(where: { $0 > 0x20 }), [0x7B, 0x5B, 0x22].contains(first) {
      return indices(inJSON: bytes)
    }
    return indices { contains(bytes, $0, isFramed: true) }
  }

  /// In a record, by its part: `key`, `value` or `headers`.
  func parts(of record: WireRecord) -> [String: Set<Int>] {
    var result: [String: Set<Int>] = [:]
    if let key = record.key { result["key"] = indices(inBytes: key) }
    if let value = record.value {
      let isPossible = texts.contains { isFirst($0.bytes, in: value) }
      if isPossible, let json = RecordAnatomy(record).json {
        // Where a field of Protobuf ends, the next one may begin with what looks like a letter or a digit. So in bytes
        // that are decoded an id counts only after its length, as in a field that is not known.
        result["value"] = indices { contains(value, $0, isFramed: true, countsWords: false) }
          .union(indices(inJSON: Array(json.utf8)))
      } else {
        result["value"] = indices(inBytes: value)
      }
    }
    for header in record.headers {
      result["headers", default: []].formUnion(indices(inText: header.name.utf8))
      if let value = header.value {
        result["headers", default: []].formUnion(indices(inBytes: value))
      }
    }
    return result.filter { !$0.value.isEmpty }
  }

  // MARK: Matching

  private func indices(where matches: (Text) -> Bool) -> Set<Int> {
    Set(texts.indices.filter { matches(texts[$0]) })
  }

  private func indices(inParsed value: Any) -> Set<Int> {
    switch value {
    case let text as String: indices(inText: text.utf8)
    case let list as [Any]:
      list.reduce(into: []) { $0.formUnion(indices(inParsed: $1)) }
    case let object as [String: Any]:
      object.reduce(into: []) {
        $0.formUnion(indices(inText: $1.key.utf8))
        $0.formUnion(indices(inParsed: $1.value))
      }
    default: []
    }
  }

  /// - Parameters:
  ///   - isFramed: whether an id also counts as whole after its length, as in Protobuf.
  ///   - countsWords: whether it counts as whole as a word.
  private func contains(
    _ bytes: [UInt8], _ text: Text, isFramed: Bool = false, countsWords: Bool = true
  ) -> Bool {
    let count = text.bytes.count
    var start = 0
    while let found = first(text.bytes, in: bytes, from: start) {
      guard text.isID else { return true }
      let end = found + count
      let isWhole =
        countsWords && (found == 0 || !isWord(bytes[found - 1]))
        && (end == bytes.count || !isWord(bytes[end]))
      if isWhole || isFramed && bytes[..<found].reversed().starts(with: framing(count)) {
        return true
      }
      start = found + 1
    }
    return false
  }

  /// A length as a varint, its last byte first.
  private func framing(_ count: Int) -> [UInt8] {
    count < 0x80
      ? [UInt8(count)] : [UInt8(truncatingIfNeeded: count >> 7), UInt8(count & 0x7F | 0x80)]
  }

  private func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private func isFirst(_ text: [UInt8], in bytes: [UInt8]) -> Bool {
    first(text, in: bytes, from: 0) != nil
  }

  private func first(_ text: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
    guard let head = text.first, bytes.count >= text.count else { return nil }
    return bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return nil }
      var start = start
      while start <= bytes.count - text.count,
        let found = memchr(base + start, Int32(head), bytes.count - text.count + 1 - start)
      {
        if memcmp(found, text, text.count) == 0 {
          return base.distance(to: UnsafeRawPointer(found))
        }
        start = base.distance(to: UnsafeRawPointer(found)) + 1
      }
      return nil
    }
  }
}

/// A text with the escapes of JSON replaced by what they stand for, wherever they are.
private func unescaped(_ bytes: [UInt8]) -> [UInt8] {
  var result: [UInt8] = []
  var units: [UInt16] = []
  var index = 0
  func flush() {
    result += String(decoding: units, as: UTF16.self).utf8
    units = []
  }
  while index < bytes.count {
    if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count {
      if bytes[index + 1] == UInt8(ascii: "u"), index + 6 <= bytes.count,
        let unit = UInt16(String(decoding: bytes[index + 2..<index + 6], as: UTF8.self), radix: 16)
      {
        units.append(unit)
        index += 6
        continue
      }
      flush()
      // A letter here stands for white space.
      result.append(bytes[index + 1] < 0x61 ? bytes[index + 1] : 0x20)
      index += 2
    } else {
      flush()
      result.append(bytes[index])
      index += 1
    }
  }
  flush()
  return result
}
