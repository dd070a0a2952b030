public import Crypto
public import Events
import Foundation

/// A sealed token is, byte by byte: 1 (the format), the length of the key's id, the id, and AES-256-GCM's
/// nonce of 12 bytes, ciphertext and tag of 16 bytes.
extension TokenKeys {
  private static let format: UInt8 = 1

  /// Seals the token for one device, with the newest key and a random nonce.
  ///
  /// Random nonces of 96 bits bound the use of one key to 2³² tokens (NIST SP 800-38D, 8.3); rotate it
  /// long before.
  ///
  /// - Throws: swift-crypto's errors, which do not occur for keys of this type.
  public func sealed(_ token: DeviceToken, for device: Device) throws -> [UInt8] {
    let header = Self.header(sealing[0].id)
    let box = try AES.GCM.seal(
      Data(token.revealed.utf8), using: sealing[0].key,
      authenticating: header + device.bytes)
    // The nonce's length is the default one, for which there is a combined form.
    guard let combined = box.combined else { throw TokenKeyError.notAuthentic }
    return header + combined
  }

  /// Opens what ``sealed(_:for:)`` returned for the same device.
  ///
  /// - Throws: ``TokenKeyError/unknownKey(_:)`` or ``TokenKeyError/notAuthentic``.
  public func opened(_ sealed: [UInt8], for device: Device) throws(TokenKeyError) -> DeviceToken {
    guard let id = Self.keyID(sealed) else { throw .notAuthentic }
    guard let key = sealing.first(where: { $0.id == id })?.key else { throw .unknownKey(id) }
    let header = Self.header(id)
    guard let box = try? AES.GCM.SealedBox(combined: Data(sealed.dropFirst(header.count))),
      let bytes = try? AES.GCM.open(box, using: key, authenticating: header + device.bytes),
      let token = DeviceToken(String(decoding: bytes, as: UTF8.self))
    else { throw .notAuthentic }
    return token
  }

  /// The id of the key that new tokens are sealed with.
  public var newestKeyID: String { sealing[0].id }

  /// 32 bytes that are equal for equal addresses of one provider and app, and reveal nothing about
  /// the address without the key. A device that moves to another person is found by it.
  ///
  /// - Parameter address: the canonical form of what the token addresses.
  public func fingerprint(
    ofAddress address: String, provider: PushProvider, app: String
  ) -> [UInt8] {
    let text = lengthPrefixed([provider.rawValue, app, address])
    return Array(HMAC<SHA256>.authenticationCode(for: text, using: fingerprint))
  }

  /// A key for another purpose, derived (RFC 5869) from the one that does not rotate.
  ///
  /// - Parameter purpose: a constant of the code.
  public func derivedKey(for purpose: String) -> SymmetricKey {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: fingerprint, info: Data("magpie \(purpose)".utf8), outputByteCount: 32)
  }

  private static func header(_ id: String) -> [UInt8] {
    [format, UInt8(clamping: id.utf8.count)] + Array(id.utf8)
  }

  private static func keyID(_ sealed: [UInt8]) -> String? {
    guard sealed.count > 2, sealed[0] == format, sealed.count >= 2 + Int(sealed[1]) else {
      return nil
    }
    return String(decoding: sealed[2..<2 + Int(sealed[1])], as: UTF8.self)
  }
}
