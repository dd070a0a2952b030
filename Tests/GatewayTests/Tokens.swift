import Crypto
import CryptoExtras
import Foundation
import Synchronization

@testable import Gateway

/// Signs tokens as an app's own service would, without the library that verifies them.
struct Tokens: Sendable {
  static let issuer = "https://login.example"
  static let audience = "magpie"

  enum Signer: String, CaseIterable, Sendable { case hs256, rs256, es256, edDSA }

  private let secret = SymmetricKey(size: .bits256)
  private let rsa: _RSA.Signing.PrivateKey
  private let elliptic = P256.Signing.PrivateKey()
  private let edwards = Curve25519.Signing.PrivateKey()

  /// Generating an RSA key is slow: all suites share two sets.
  static let ours = Result { try Tokens() }
  static let foreign = Result { try Tokens() }

  init() throws { rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048) }

  /// The key set that a gateway reads.
  func keySet() throws -> String {
    let numbers = try rsa.publicKey.getKeyPrimitives()
    let point = elliptic.publicKey.rawRepresentation
    let shared = secret.withUnsafeBytes { base64URLEncoded($0) }
    return """
      {"keys":[
        {"kty":"oct","kid":"hs256","alg":"HS256","k":"\(shared)"},
        {"kty":"RSA","kid":"rs256","use":"sig","n":"\(base64URLEncoded(numbers.modulus))",
         "e":"\(base64URLEncoded(numbers.publicExponent))"},
        {"kty":"EC","kid":"es256","crv":"P-256","x":"\(base64URLEncoded(point.prefix(32)))",
         "y":"\(base64URLEncoded(point.suffix(32)))"},
        {"kty":"OKP","kid":"edDSA","crv":"Ed25519",
         "x":"\(base64URLEncoded(edwards.publicKey.rawRepresentation))"},
        {"kty":"RSA","kid":"encryption","use":"enc","n":"AQAB","e":"AQAB"}
      ]}
      """
  }

  /// The claims of a token that is valid for an hour.
  static func claims(
    _ person: String, audience: String = audience, replacing: [String: any Sendable] = [:]
  ) -> [String: Any] {
    var claims: [String: Any] = ["iss": issuer, "aud": audience, "sub": person]
    claims["exp"] = Date().timeIntervalSince1970.rounded() + 3600
    claims["iat"] = Date().timeIntervalSince1970.rounded(.down)
    for (name, value) in replacing {
      if value is NSNull { claims.removeValue(forKey: name) } else { claims[name] = value }
    }
    return claims
  }

  func token(
    _ person: String, _ signer: Signer = .es256, audience: String = audience
  ) throws -> String {
    try token(claims: Self.claims(person, audience: audience), signer)
  }

  func token(
    claims: [String: Any], _ signer: Signer = .es256, header: [String: Any]? = nil
  ) throws -> String {
    let algorithm = signer == .edDSA ? "EdDSA" : signer.rawValue.uppercased()
    let header = header ?? ["alg": algorithm, "typ": "JWT", "kid": signer.rawValue]
    let signed = try Self.signedPart(header, claims)
    return signed + "." + base64URLEncoded(try signature(of: signed, signer))
  }

  static func signedPart(_ header: [String: Any], _ claims: [String: Any]) throws -> String {
    try [header, claims].map { base64URLEncoded(try JSONSerialization.data(withJSONObject: $0)) }
      .joined(separator: ".")
  }

  private func signature(of text: String, _ signer: Signer) throws -> Data {
    let data = Data(text.utf8)
    switch signer {
    case .hs256: return Data(HMAC<SHA256>.authenticationCode(for: data, using: secret))
    case .rs256:
      return try rsa.signature(
        for: SHA256.hash(data: data), padding: .insecurePKCS1v1_5
      ).rawRepresentation
    case .es256: return try elliptic.signature(for: data).rawRepresentation
    case .edDSA: return try edwards.signature(for: data)
    }
  }

  /// HS256 with a public key as the secret: what a verifier accepts that trusts the token's header.
  func confused(
    _ person: String, audience: String, secret: Data, kid: String? = "rs256"
  ) throws -> String {
    var header: [String: Any] = ["alg": "HS256"]
    header["kid"] = kid
    let signed = try Self.signedPart(header, Self.claims(person, audience: audience))
    let code = HMAC<SHA256>.authenticationCode(
      for: Data(signed.utf8), using: SymmetricKey(data: secret))
    return signed + "." + base64URLEncoded(code)
  }

  /// The forms in which an RSA public key may be taken for a secret.
  var rsaPublicForms: [Data] {
    get throws {
      [
        Data(rsa.publicKey.pemRepresentation.utf8), rsa.publicKey.derRepresentation,
        try rsa.publicKey.getKeyPrimitives().modulus,
      ]
    }
  }

  /// Tokens, each of which is wrong in one way, with that way's name.
  static func wrong(
    _ person: String, audience: String = audience
  ) throws -> [(name: String, authorization: String?)] {
    let valid = claims(person, audience: audience)
    let ours = try ours.get()
    func bearer(_ replacing: [String: any Sendable]) throws -> String {
      "Bearer "
        + (try ours.token(claims: claims(person, audience: audience, replacing: replacing)))
    }
    let token = try ours.token(claims: valid)
    let none = try signedPart(["alg": "none"], valid)
    var wrong: [(String, String?)] = [
      ("no header", nil), ("empty", ""), ("no scheme", token), ("another scheme", "Basic \(token)"),
      ("no token", "Bearer "), ("not a token", "Bearer abc"), ("two tokens", "Bearer a b"),
      ("alg none", "Bearer \(none)."),
      ("alg None", "Bearer \(try signedPart(["alg": "None"], valid))."),
      ("alg none with a signature", "Bearer \(none).AAAA"),
      (
        "no signature",
        "Bearer " + token.prefix { $0 != "." } + "." + token.split(separator: ".")[1] + "."
      ),
      ("a foreign key", "Bearer \(try foreign.get().token(claims: valid))"),
      ("expired", try bearer(["exp": Date().timeIntervalSince1970 - 1])),
      ("another audience", try bearer(["aud": "other"])),
      ("other audiences", try bearer(["aud": ["other", "another"]])),
      ("another issuer", try bearer(["iss": "https://evil.example"])),
      ("not valid yet", try bearer(["nbf": Date().timeIntervalSince1970 + 600])),
      ("iat as text", try bearer(["iat": "4102444800"])),
      ("a former person", try bearer(["sub": "erased:\(String(repeating: "0", count: 64))"])),
      ("exp as text", try bearer(["exp": "4102444800"])),
      ("an empty subject", try bearer(["sub": ""])),
      ("a subject that is no segment", try bearer(["sub": ".."])),
      ("a subject with NUL", try bearer(["sub": "a\u{0}b"])),
      ("a long subject", try bearer(["sub": String(repeating: "a", count: 129)])),
      (
        "critical extension",
        "Bearer "
          + (try ours.token(
            claims: valid, header: ["alg": "ES256", "kid": "es256", "crit": ["b64"]]))
      ),
      (
        "unknown kid",
        "Bearer "
          + (try ours.token(claims: valid, header: ["alg": "ES256", "kid": "other"]))
      ),
      (
        "another key's algorithm",
        "Bearer "
          + (try ours.token(claims: valid, header: ["alg": "RS256", "kid": "es256"]))
      ),
    ]
    for name in ["iss", "aud", "exp", "sub"] {
      wrong.append(("no \(name)", try bearer([name: NSNull()])))
    }
    for signer in Signer.allCases {
      wrong.append(
        ("a foreign \(signer)", "Bearer \(try foreign.get().token(claims: valid, signer))"))
    }
    for (index, secret) in try ours.rsaPublicForms.enumerated() {
      wrong.append(
        (
          "HS256 with an RSA key \(index)",
          "Bearer \(try ours.confused(person, audience: audience, secret: secret))"
        ))
      wrong.append(
        (
          "the same without kid \(index)",
          "Bearer \(try ours.confused(person, audience: audience, secret: secret, kid: nil))"
        ))
    }
    return wrong
  }
}
