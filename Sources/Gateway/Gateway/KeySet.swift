import Foundation
import JWTKit
import Logging

/// The keys that may sign tokens: a JSON Web Key Set (RFC 7517).
///
/// Each key has exactly one algorithm, that of its type, regardless of a token's header.
struct KeySet: Sendable {
  /// The accepted algorithms. Keys for other algorithms are ignored.
  enum Algorithm: String, CaseIterable, Sendable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
  }

  struct Key: Sendable {
    var id: String?
    var algorithm: Algorithm
    var verifier: any JWTAlgorithm
  }

  private(set) var keys: [Key]
  /// The number of ignored keys: for encryption, of another type or algorithm, or unusable.
  private(set) var ignored = 0
  /// The ids of ignored keys that are malformed or weak, although they are of an accepted type.
  private(set) var unusable: [String] = []
  /// The cache of verified tokens. A key set is never changed, only replaced, and its cache with
  /// it.
  let verified = VerifiedTokens()

  /// Ignores keys that cannot be used, as RFC 7517, section 5, says: one of them must not keep the
  /// others from being replaced.
  ///
  /// - Throws: ``KeySetError`` if it is not a key set, or if none of its keys can be used.
  init(json: Data) async throws(KeySetError) {
    let entries: [JSONWebKey?]
    do {
      entries = try JSONDecoder().decode(JSONWebKeys.self, from: json).keys.map(\.key)
    } catch {
      throw KeySetError("it is not a JSON Web Key Set")
    }
    guard entries.count <= GatewayLimits.keys else {
      throw KeySetError("it has more than \(GatewayLimits.keys) keys")
    }
    keys = []
    for entry in entries {
      guard let entry, let algorithm = entry.algorithm else {
        ignored += 1
        continue
      }
      do {
        keys.append(
          Key(id: entry.kid, algorithm: algorithm, verifier: try await entry.verifier(algorithm)))
      } catch {
        ignored += 1
        unusable.append(String((entry.kid ?? "without kid").prefix(64)))
      }
    }
    guard !keys.isEmpty else {
      throw KeySetError(
        "it has no usable key for \(Algorithm.allCases.map(\.rawValue).joined(separator: ", "))")
    }
  }
}

extension KeySet {
  /// For the log.
  var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = ["keys": "\(keys.count)", "ignored": "\(ignored)"]
    if !unusable.isEmpty { metadata["unusable"] = "\(unusable.joined(separator: ", "))" }
    return metadata
  }
}

/// Why a key set is rejected. Quotes none of its contents.
public struct KeySetError: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

struct JSONWebKeys: Decodable {
  /// A key; nil if it is not one.
  struct Entry: Decodable {
    var key: JSONWebKey?

    init(from decoder: any Decoder) throws { key = try? JSONWebKey(from: decoder) }
  }

  var keys: [Entry]
}

/// The members of a JSON Web Key that are needed. Private parts of a key are not read.
struct JSONWebKey: Decodable {
  var kty: String
  var kid: String?
  var use: String?
  var alg: String?
  var crv: String?
  var k: String?
  var n: String?
  var e: String?
  var x: String?
  var y: String?

  /// The algorithm of this key type; nil if the key is not for signatures or names another
  /// algorithm.
  var algorithm: KeySet.Algorithm? {
    let own: KeySet.Algorithm? =
      switch (kty, crv) {
      case ("oct", _): .hs256
      case ("RSA", _): .rs256
      case ("EC", "P-256"): .es256
      case ("OKP", "Ed25519"): .edDSA
      default: nil
      }
    guard use == nil || use == "sig", alg == nil || alg == own?.rawValue else { return nil }
    return own
  }

  /// The secret for HS256; nil if there is none or it is shorter than the hash, the minimum that
  /// RFC 7518 requires.
  var secret: Data? {
    guard let secret = k.flatMap({ base64URLDecoded($0) }), secret.count >= 32 else { return nil }
    return secret
  }

  func verifier(_ algorithm: KeySet.Algorithm) async throws -> any JWTAlgorithm {
    let one: JWKIdentifier = "key"
    let collection = JWTKeyCollection()
    switch algorithm {
    case .hs256:
      guard let secret else { throw KeySetError("too short") }
      await collection.add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256, kid: one)
    case .rs256:
      try await collection.add(
        jwk: .rsa(.rs256, identifier: one, modulus: n, exponent: e))
    case .es256:
      try await collection.add(
        jwk: .ecdsa(.es256, identifier: one, x: x, y: y, curve: .p256))
    case .edDSA:
      guard let point = x.flatMap({ base64URLDecoded($0) }), !hasSmallOrder(point) else {
        throw KeySetError("malformed, or a point of small order")
      }
      try await collection.add(
        jwk: .octetKeyPair(.eddsa, identifier: one, x: x, y: nil, curve: .ed25519))
    }
    return try await collection.getKey(for: one)
  }
}

/// Whether the order of a point of edwards25519, as RFC 8032 encodes it, divides 8. Anybody can
/// sign anything for such a key.
private func hasSmallOrder(_ point: Data) -> Bool {
  var y = Array(point)
  // Above y is the sign of x.
  if let last = y.popLast() { y.append(last & 0x7F) }
  return smallOrders.contains(base64URLEncoded(y))
}

/// The y of the eight points, from `ge25519_has_small_order` of libsodium: 0, 1, those of order 8,
/// -1, and 0 and 1 in the encodings that exceed the field's prime.
private let smallOrders = [
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  "JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU",
  "xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o",
  "7P_______________________________________38",
  "7f_______________________________________38",
  "7v_______________________________________38",
]

/// - Returns: nil if a character is not in the URL-safe alphabet, or the length is impossible.
func base64URLDecoded(_ text: some StringProtocol) -> Data? {
  var base64 = ""
  for byte in text.utf8 {
    switch byte {
    case UInt8(ascii: "-"): base64 += "+"
    case UInt8(ascii: "_"): base64 += "/"
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      base64.unicodeScalars.append(Unicode.Scalar(byte))
    default: return nil
    }
  }
  return Data(
    base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4))
}

/// Without padding.
func base64URLEncoded(_ bytes: some Sequence<UInt8>) -> String {
  let text = Data(bytes).base64EncodedString().utf8.compactMap { byte -> UInt8? in
    switch byte {
    case UInt8(ascii: "+"): UInt8(ascii: "-")
    case UInt8(ascii: "/"): UInt8(ascii: "_")
    case UInt8(ascii: "="): nil
    default: byte
    }
  }
  return String(decoding: text, as: UTF8.self)
}
