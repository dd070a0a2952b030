/// Replaces each pair of `\u` surrogate escapes in JSON with the character that it encodes.
///
/// SwiftProtobuf 1.39.0 combines a pair with `|` where `+` is needed (`decodeString` in its
/// `JSONScanner.swift`), which turns characters of planes 2, 4, … 16 into characters of the plane
/// below. It reads unescaped characters correctly, so it must not see a pair.
///
/// All other bytes stay the same, lone surrogates included; the decoder validates them. The result
/// is never longer than the input, and is the same array if there is no pair.
func replacingSurrogatePairs(in json: [UInt8]) -> [UInt8] {
  let replaced = json.withUnsafeBufferPointer { json -> [UInt8]? in
    var result: [UInt8] = []
    var copied = 0
    var index = 0
    while index < json.count {
      if json[index] != backslash {
        index += 1
      } else if let scalar = surrogatePair(at: index, in: json) {
        if copied == 0 { result.reserveCapacity(json.count) }
        result.append(contentsOf: UnsafeBufferPointer(rebasing: json[copied..<index]))
        result.append(UInt8(0xF0 | scalar >> 18))
        result.append(UInt8(0x80 | scalar >> 12 & 0x3F))
        result.append(UInt8(0x80 | scalar >> 6 & 0x3F))
        result.append(UInt8(0x80 | scalar & 0x3F))
        index += 12
        copied = index
      } else {
        // Skip the escaped character, which may be another backslash.
        index += 2
      }
    }
    guard copied > 0 else { return nil }
    result.append(contentsOf: UnsafeBufferPointer(rebasing: json[copied...]))
    return result
  }
  return replaced ?? json
}

private let backslash = UInt8(ascii: "\\")

/// The scalar value, 0x10000 to 0x10FFFF, of the surrogate pair at `index`; nil if there is none.
private func surrogatePair(at index: Int, in json: UnsafeBufferPointer<UInt8>) -> UInt32? {
  guard let high = codeUnit(at: index, in: json), high >= 0xD800, high < 0xDC00,
    let low = codeUnit(at: index + 6, in: json), low >= 0xDC00, low < 0xE000
  else { return nil }
  return 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
}

/// The UTF-16 code unit of the `\u` escape at `index`; nil if there is none.
private func codeUnit(at index: Int, in json: UnsafeBufferPointer<UInt8>) -> UInt32? {
  guard index + 6 <= json.count, json[index] == backslash, json[index + 1] == UInt8(ascii: "u"),
    let first = hexadecimalDigit(json[index + 2]), let second = hexadecimalDigit(json[index + 3]),
    let third = hexadecimalDigit(json[index + 4]), let fourth = hexadecimalDigit(json[index + 5])
  else { return nil }
  return first << 12 | second << 8 | third << 4 | fourth
}

/// The value of a hexadecimal digit in upper or lower case; nil if it is not one.
package func hexadecimalDigit(_ digit: UInt8) -> UInt32? {
  if digit >= 0x30, digit <= 0x39 { return UInt32(digit) - 0x30 }
  let letter = digit | 0x20
  return letter >= 0x61 && letter <= 0x66 ? UInt32(letter) - 0x57 : nil
}

/// The bytes as hexadecimal digits in lower case.
package func hexadecimalText(_ bytes: some Sequence<UInt8>) -> String {
  var digits: [UInt8] = []
  for byte in bytes {
    for half in [byte >> 4, byte & 15] {
      digits.append(half < 10 ? UInt8(ascii: "0") + half : UInt8(ascii: "a") - 10 + half)
    }
  }
  return String(decoding: digits, as: UTF8.self)
}
