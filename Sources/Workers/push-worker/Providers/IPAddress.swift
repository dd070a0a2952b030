import Foundation

/// An IPv4 or IPv6 address.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// 4 or 16 bytes, in network order.
  public let bytes: [UInt8]

  /// - Returns: nil unless there are 4 or 16 bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// - Parameter text: as `inet_pton` reads it: four decimal numbers, or RFC 4291, 2.2 without a zone.
  public init?(_ text: String) {
    var (four, sixteen) = (in_addr(), in6_addr())
    if inet_pton(AF_INET, text, &four) == 1 {
      bytes = withUnsafeBytes(of: four) { Array($0) }
    } else if inet_pton(AF_INET6, text, &sixteen) == 1 {
      bytes = withUnsafeBytes(of: sixteen) { Array($0) }
    } else {
      return nil
    }
  }

  /// Four decimal numbers, or eight hexadecimal ones.
  public var description: String {
    if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
    return stride(from: 0, to: 16, by: 2).map {
      String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16)
    }.joined(separator: ":")
  }

  /// Whether the address begins with the first `length` bits of a prefix.
  ///
  /// - Parameter length: in bits, at most as many as the prefix has.
  func isIn(_ prefix: [UInt8], _ length: Int) -> Bool {
    guard bytes.count == prefix.count else { return false }
    let whole = length / 8
    guard bytes[..<whole] == prefix[..<whole] else { return false }
    let rest = length % 8
    return rest == 0 || bytes[whole] >> (8 - rest) == prefix[whole] >> (8 - rest)
  }
}
