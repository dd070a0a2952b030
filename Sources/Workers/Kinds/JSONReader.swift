/// A JSON value with the position of each object member, for error messages.
package indirect enum JSONValue {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([JSONMember])
}

package struct JSONMember {
  package var key: String
  package var value: JSONValue
  package var line: Int
  package var column: Int
}

/// A strict JSON (RFC 8259) parser for small files: rejects duplicate keys, invalid UTF-8, unpaired
/// surrogates, more than 16 levels, and trailing text. The caller bounds the size.
struct JSONReader {
  struct Failure: Error {
    var message: String
    var offset: Int
  }

  private let bytes: [UInt8]
  private var at = 0
  /// The last offset whose place was asked for, and the place.
  private var counted = (offset: 0, line: 1, column: 1)
  static let depthLimit = 16

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  static func read(_ bytes: [UInt8], file: String) throws(CatalogError) -> JSONValue {
    var reader = JSONReader(bytes)
    do throws(Failure) {
      if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.at = 3 }
      let value = try reader.value(depth: 0)
      reader.skipSpace()
      guard reader.at == bytes.count else { throw reader.failure("text after the JSON value") }
      return value
    } catch {
      let place = reader.place(error.offset)
      throw CatalogError(
        file: file, line: place.line, column: place.column, message: error.message)
    }
  }

  /// Counts on from the last place, because a line can have very many members. Offsets are asked for in
  /// ascending order.
  private mutating func place(_ offset: Int) -> (line: Int, column: Int) {
    while counted.offset < min(offset, bytes.count) {
      let byte = bytes[counted.offset]
      counted.offset += 1
      if byte == 0x0A {
        counted.line += 1
        counted.column = 1
      } else if byte & 0xC0 != 0x80 {
        counted.column += 1
      }
    }
    return (counted.line, counted.column)
  }

  private func failure(_ message: String) -> Failure { Failure(message: message, offset: at) }

  private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

  private mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
  }

  private mutating func expect(_ character: Unicode.Scalar) throws(Failure) {
    skipSpace()
    guard peek == UInt8(ascii: character) else { throw failure("expected '\(character)'") }
    at += 1
  }

  private mutating func value(depth: Int) throws(Failure) -> JSONValue {
    guard depth < Self.depthLimit else {
      throw failure("nested more than \(Self.depthLimit) levels deep")
    }
    skipSpace()
    guard let byte = peek else { throw failure("the file ends where a value is expected") }
    switch byte {
    case UInt8(ascii: "{"): return .object(try object(depth: depth))
    case UInt8(ascii: "["): return .array(try array(depth: depth))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"):
      try word("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try word("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try word("null")
      return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
    default: throw failure("expected a JSON value")
    }
  }

  private mutating func word(_ word: StaticString) throws(Failure) {
    let length = word.utf8CodeUnitCount
    let matches = word.withUTF8Buffer { bytes[at...].prefix(length).elementsEqual($0) }
    guard matches else { throw failure("expected a JSON value") }
    at += length
  }

  private mutating func number() throws(Failure) -> Double {
    let start = at
    while let byte = peek, "+-.eE0123456789".utf8.contains(byte) { at += 1 }
    let text = String(decoding: bytes[start..<at], as: UTF8.self)
    let digits = text.drop { $0 == "-" }
    let leadingZero = digits.first == "0" && digits.dropFirst().first?.isNumber == true
    guard at - start <= 32, !leadingZero, digits.first?.isNumber == true, let value = Double(text)
    else {
      at = start
      throw failure("not a JSON number")
    }
    return value
  }

  private mutating func array(depth: Int) throws(Failure) -> [JSONValue] {
    try expect("[")
    var elements: [JSONValue] = []
    skipSpace()
    if peek == UInt8(ascii: "]") {
      at += 1
      return elements
    }
    while true {
      elements.append(try value(depth: depth + 1))
      skipSpace()
      if peek == UInt8(ascii: "]") { break }
      guard peek == UInt8(ascii: ",") else { throw failure("expected ',' or ']'") }
      at += 1
    }
    at += 1
    return elements
  }

  private mutating func object(depth: Int) throws(Failure) -> [JSONMember] {
    try expect("{")
    var members: [JSONMember] = []
    var seen: Set<[UInt8]> = []
    skipSpace()
    if peek == UInt8(ascii: "}") {
      at += 1
      return members
    }
    while true {
      skipSpace()
      let place = place(at)
      guard peek == UInt8(ascii: "\"") else { throw failure("expected a key in quotes") }
      let start = at
      let key = try string()
      guard seen.insert(Array(key.utf8)).inserted else {
        at = start
        throw failure("the key \"\(key)\" occurs twice")
      }
      try expect(":")
      members.append(
        JSONMember(
          key: key, value: try value(depth: depth + 1), line: place.line, column: place.column))
      skipSpace()
      if peek == UInt8(ascii: "}") { break }
      guard peek == UInt8(ascii: ",") else { throw failure("expected ',' or '}'") }
      at += 1
    }
    at += 1
    return members
  }

  private mutating func string() throws(Failure) -> String {
    at += 1
    var text: [UInt8] = []
    let start = at
    while let byte = peek {
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else {
          at = start
          throw failure("string is not valid UTF-8")
        }
        at += 1
        return string
      case UInt8(ascii: "\\"):
        at += 1
        text.append(contentsOf: String(try escape()).utf8)
      case 0..<0x20: throw failure("unescaped control character in a string")
      default:
        text.append(byte)
        at += 1
      }
    }
    throw failure("the file ends inside a string")
  }

  private mutating func escape() throws(Failure) -> Unicode.Scalar {
    guard let byte = peek else { throw failure("the file ends inside a string") }
    at += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      let unit = try hexadecimal()
      if let scalar = Unicode.Scalar(unit) { return scalar }
      guard 0xD800...0xDBFF ~= unit, bytes[at...].starts(with: "\\u".utf8) else {
        throw failure("unpaired surrogate")
      }
      at += 2
      let low = try hexadecimal()
      guard 0xDC00...0xDFFF ~= low,
        let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
      else { throw failure("unpaired surrogate") }
      return scalar
    default:
      at -= 1
      throw failure("unknown escape")
    }
  }

  private mutating func hexadecimal() throws(Failure) -> UInt32 {
    guard at + 4 <= bytes.count else { throw failure("the file ends inside a string") }
    var value: UInt32 = 0
    for byte in bytes[at..<at + 4] {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 + UInt32(byte - 0x30)
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 + UInt32(byte - 0x57)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 + UInt32(byte - 0x37)
      default: throw failure("\\u needs four hexadecimal digits")
      }
    }
    at += 4
    return value
  }
}
