import Crypto
import Events
import Foundation

/// The keys that protect tokens at rest, from a file.
///
/// Each line is one key, its 32 bytes in Base64:
///
///     fingerprint pJ3k…=
///     seal 2026-11 9fZ0…=
///     seal 2026-05 u4Xc…=
///
/// New tokens are sealed with the key of the first `seal` line; tokens are opened with the key that
/// sealed them. To rotate, add a line above the others, and remove a key when no row is sealed with
/// it any more. The key `fingerprint` must not change, because equal tokens must keep equal
/// fingerprints.
public struct TokenKeys: Sendable, Redacted {
  /// The greatest number of keys for sealing.
  static let sealingMax = 16
  /// The greatest length of a key's id, in bytes.
  static let idBytesMax = 64
  private static let keyBytes = 32
  private static let fileBytesMax = 64 << 10

  struct SealingKey: Sendable {
    var id: String
    var key: SymmetricKey
  }

  let fingerprint: SymmetricKey
  /// Never empty. New tokens are sealed with the first one.
  let sealing: [SealingKey]

  /// Reads the keys of a file of at most 64 KiB.
  ///
  /// - Throws: ``TokenKeyError`` if it cannot be read or is longer, or as ``init(text:)``.
  public init(file path: String) throws(TokenKeyError) {
    guard case .bytes(let bytes) = BoundedFile(path: path, limit: Self.fileBytesMax) else {
      throw .unreadableFile
    }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .malformedLine(1) }
    try self.init(text: text)
  }

  /// - Throws: ``TokenKeyError`` if a line is neither empty, a comment (`#`) nor a key, if there is not
  ///   exactly one fingerprint key, or if the sealing keys are none, more than 16, or not unique.
  public init(text: String) throws(TokenKeyError) {
    var fingerprints: [SymmetricKey] = []
    var sealing: [SealingKey] = []
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let words = line.split { $0 == " " || $0 == "\t" }.map(String.init)
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      guard let last = words.last, let bytes = Data(base64Encoded: last),
        bytes.count == Self.keyBytes
      else { throw .malformedLine(index + 1) }
      let key = SymmetricKey(data: bytes)
      switch (first, words.count) {
      case ("fingerprint", 2): fingerprints.append(key)
      case ("seal", 3) where words[1].utf8.count <= Self.idBytesMax:
        sealing.append(SealingKey(id: words[1], key: key))
      default: throw .malformedLine(index + 1)
      }
    }
    guard let fingerprint = fingerprints.first, fingerprints.count == 1 else {
      throw .fingerprintKeys(fingerprints.count)
    }
    guard 1...Self.sealingMax ~= sealing.count, Set(sealing.map(\.id)).count == sealing.count
    else { throw .sealingKeys(sealing.count) }
    (self.fingerprint, self.sealing) = (fingerprint, sealing)
  }
}

/// Why keys cannot be used, or a token cannot be opened. Quotes neither keys nor tokens.
public enum TokenKeyError: Error, Equatable, CustomStringConvertible {
  case unreadableFile
  /// The number of the line, from 1.
  case malformedLine(Int)
  /// How many there are.
  case fingerprintKeys(Int)
  /// How many there are.
  case sealingKeys(Int)
  /// The id of the key that sealed the token.
  case unknownKey(String)
  /// The sealed bytes were changed, or belong to another device.
  case notAuthentic

  public var description: String {
    switch self {
    case .unreadableFile:
      "the file of token keys cannot be read; is it a regular file of at most 64 KiB?"
    case .malformedLine(let number):
      "line \(number) of the token keys is not a key of 32 bytes in Base64"
    case .fingerprintKeys(let count): "there are \(count) fingerprint keys; there must be one"
    case .sealingKeys(let count):
      "there are \(count) sealing keys; 1 to 16 with unique ids are needed"
    case .unknownKey(let id): "a token is sealed with the key \(id), which is not in the file"
    case .notAuthentic: "a sealed token was changed, or belongs to another device"
    }
  }
}
