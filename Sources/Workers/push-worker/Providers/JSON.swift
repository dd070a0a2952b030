/// A JSON text (RFC 8259) whose members keep their order, so that a message is always encoded as
/// the same bytes.
enum JSON: Sendable {
  case text(String)
  case number(Int64)
  case list([JSON])
  case object([(String, JSON)])

  /// UTF-8, without spaces; only what must be escaped is escaped.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(1024)
    append(to: &bytes)
    return bytes
  }

  /// ``bytes`` as a string.
  var string: String { String(decoding: bytes, as: UTF8.self) }

  private func append(to bytes: inout [UInt8]) {
    switch self {
    case .text(let text): Self.append(text, to: &bytes)
    case .number(let number): bytes.append(contentsOf: String(number).utf8)
    case .list(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.append(member.0, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.1.append(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
      case 0..<0x20:
        bytes += Array("\\u00".utf8) + [hexDigit(byte >> 4), hexDigit(byte & 0x0F)]
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
