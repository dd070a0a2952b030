import Crypto

/// Pseudorandom bits derived from a key and their purpose with HMAC-SHA256.
struct KeyedBits {
  private let key: SymmetricKey

  init(key: [UInt8]) {
    self.key = SymmetricKey(data: key)
  }

  /// Returns 32 bytes. Each field is preceded by its length, so different lists of fields never
  /// give the same message.
  func bytes(for purpose: String, _ fields: [UInt8]...) -> [UInt8] {
    let message = ([Array(purpose.utf8)] + fields).flatMap { Self.bytes($0.count) + $0 }
    return Array(HMAC<SHA256>.authenticationCode(for: message, using: key))
  }

  /// A number from 0 to `bound` - 1. The bias is less than `bound` / 2^64.
  func number(below bound: Int, for purpose: String, _ fields: Int...) -> Int {
    let bytes = bytes(for: purpose, fields.flatMap(Self.bytes))
    let random = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int(random.multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// Eight bytes, big-endian.
  static func bytes(_ number: Int) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }
}
