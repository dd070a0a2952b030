import Crypto
import Foundation

/// Bytes that violate the format; callers that know the file convert it to an `ArchiveError`.
struct Malformed: Error {
  var message: String
  init(_ message: String) { self.message = message }
}

func sha256(_ bytes: some DataProtocol) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

func hex(_ bytes: some Sequence<UInt8>) -> String {
  let digits = Array("0123456789abcdef".utf8)
  var text: [UInt8] = []
  for byte in bytes {
    text.append(digits[Int(byte >> 4)])
    text.append(digits[Int(byte & 15)])
  }
  return String(decoding: text, as: UTF8.self)
}

/// Writes variable-length integers as Protobuf does: seven bits per byte, lowest first.
struct ByteWriter {
  var bytes: [UInt8] = []

  mutating func unsigned(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func count(_ value: Int) { unsigned(UInt64(value)) }

  /// Zigzag encoding keeps small negative numbers short.
  mutating func signed(_ value: Int64) {
    unsigned(UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }

  mutating func text(_ value: String) {
    count(value.utf8.count)
    bytes.append(contentsOf: value.utf8)
  }

  /// 0 for nil; otherwise the length plus one and the bytes, so that empty differs from nil.
  mutating func optional(_ value: [UInt8]?) {
    guard let value else { return unsigned(0) }
    count(value.count + 1)
    bytes.append(contentsOf: value)
  }
}

/// Reads what `ByteWriter` wrote, or throws `Malformed`. Never allocates more than the input's
/// size.
struct ByteReader {
  private let bytes: ArraySlice<UInt8>
  private(set) var position: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  var isAtEnd: Bool { position == bytes.endIndex }
  var remaining: Int { bytes.endIndex - position }

  mutating func unsigned() throws -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while position < bytes.endIndex {
      let byte = bytes[position]
      position += 1
      guard shift < 63 || byte <= 1 else { throw Malformed("an integer of more than 64 bits") }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw Malformed("truncated integer")
  }

  mutating func signed() throws -> Int64 {
    let value = try unsigned()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  /// A count of items that take at least `size` bytes each.
  mutating func count(of size: Int = 1) throws -> Int {
    let value = try unsigned()
    guard value <= UInt64(remaining / size) else {
      throw Malformed("count \(value) exceeds the remaining bytes")
    }
    return Int(value)
  }

  mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
    guard count <= remaining else { throw Malformed("truncated field") }
    defer { position += count }
    return bytes[position..<position + count]
  }

  mutating func text() throws -> String {
    let count = try count()
    guard let text = String(validating: try take(count), as: UTF8.self) else {
      throw Malformed("text that is not UTF-8")
    }
    return text
  }

  mutating func optional() throws -> [UInt8]? {
    let length = try unsigned()
    if length == 0 { return nil }
    guard length - 1 <= UInt64(remaining) else {
      throw Malformed("truncated field of \(length - 1) bytes")
    }
    return Array(try take(Int(length - 1)))
  }
}
