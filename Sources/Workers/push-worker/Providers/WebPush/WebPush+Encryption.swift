import Crypto
import Foundation

extension WebPush {
  /// The keys of one message: a key pair for the agreement and a salt, which must never be used for
  /// another plaintext (RFC 8291, 3.1; RFC 8188, 4.1).
  ///
  /// They are derived, not random, so that a message that is sent again after a crash has the same
  /// bytes without the keys being stored. As in RFC 6979, the derivation depends on a secret and on
  /// all that is encrypted: another plaintext, subscription or id has other keys.
  struct MessageKeys {
    var pair: P256.KeyAgreement.PrivateKey
    /// 16 bytes.
    var salt: Data

    init(pair: P256.KeyAgreement.PrivateKey, salt: Data) {
      (self.pair, self.salt) = (pair, salt)
    }

    init(
      secret: SymmetricKey, id: UUID, plaintext: [UInt8], subscription: Subscription
    ) throws(Unsendable) {
      var hash = SHA256()
      hash.update(data: withUnsafeBytes(of: id.uuid) { Data($0) })
      hash.update(data: subscription.publicKey.x963Representation)
      hash.update(data: subscription.authentication)
      hash.update(data: plaintext)
      let context = Data(hash.finalize())
      // One in 2³² candidates is not a valid private key: zero, or not below the order of the
      // curve.
      for attempt in UInt8(0)..<8 {
        let bytes = HKDF<SHA256>.deriveKey(
          inputKeyMaterial: secret, info: Data("magpie web-push".utf8) + context + [attempt],
          outputByteCount: 48
        ).withUnsafeBytes { Data($0) }
        if let pair = try? P256.KeyAgreement.PrivateKey(rawRepresentation: bytes.prefix(32)) {
          self.init(pair: pair, salt: Data(bytes.suffix(16)))
          return
        }
      }
      throw .cryptography
    }
  }

  /// The longest plaintext whose body is at most the 4096 bytes that every push service accepts
  /// (RFC 8030, 7.2; RFC 8291, 4): 4096 less 86 for the header, 1 for the delimiter and 16 for the
  /// tag.
  static let plaintextBytesMax = 3993

  /// The body with the content coding `aes128gcm`: a header and one record.
  ///
  /// - Parameter plaintext: at most ``plaintextBytesMax`` bytes.
  /// - Throws: ``Unsendable/cryptography``.
  static func encrypted(
    _ plaintext: [UInt8], for subscription: Subscription, keys: MessageKeys
  ) throws(Unsendable) -> [UInt8] {
    do {
      let own = keys.pair.publicKey.x963Representation
      // RFC 8291, 3.3 and 3.4.
      let shared = try keys.pair.sharedSecretFromKeyAgreement(with: subscription.publicKey)
      let input = shared.hkdfDerivedSymmetricKey(
        using: SHA256.self, salt: subscription.authentication,
        sharedInfo: Data("WebPush: info\0".utf8) + subscription.publicKey.x963Representation + own,
        outputByteCount: 32)
      // RFC 8188, 2.2 and 2.3; the record's sequence number is zero, which leaves the nonce as it is.
      let key = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: input, salt: keys.salt,
        info: Data("Content-Encoding: aes128gcm\0".utf8), outputByteCount: 16)
      let nonce = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: input, salt: keys.salt,
        info: Data("Content-Encoding: nonce\0".utf8), outputByteCount: 12
      ).withUnsafeBytes { Data($0) }
      // 2 delimits the last record (RFC 8188, 2). There is no further padding: the length of a text
      // is not worth hiding from the push service, which knows the recipient and the time.
      let box = try AES.GCM.seal(
        plaintext + [2], using: key, nonce: AES.GCM.Nonce(data: nonce))
      return header(salt: keys.salt, key: own) + box.ciphertext + box.tag
    } catch {
      throw .cryptography
    }
  }

  /// Salt, record size, and the key's length and bytes (RFC 8188, 2.1).
  private static func header(salt: Data, key: Data) -> [UInt8] {
    [UInt8](salt) + [0, 0, 0x10, 0, UInt8(clamping: key.count)] + key
  }
}
