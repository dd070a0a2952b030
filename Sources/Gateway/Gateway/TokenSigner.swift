import Crypto
import Events
import Foundation

/// Signs tokens with the HS256 secret of a key set, for demonstrations and for testing an app.
///
/// In production, the service that people log in to signs their tokens.
public struct TokenSigner: Sendable {
  private let issuer: String
  private let audience: String
  private let keyID: String?
  private let secret: SymmetricKey

  /// Reads the first HS256 secret of a JSON Web Key Set.
  ///
  /// - Parameters:
  ///   - path: the path of the key set file, of at most 1 MiB.
  ///   - issuer: the tokens' `iss`.
  ///   - audience: the tokens' `aud`.
  /// - Throws: ``KeySetError`` if it cannot be read, or has no such secret of at least 32 bytes.
  public init(keySetFile path: String, issuer: String, audience: String) throws(KeySetError) {
    let keys = (try? JSONDecoder().decode(JSONWebKeys.self, from: contents(ofKeySet: path)))?.keys
    let found = keys?.lazy.compactMap(\.key).filter { $0.algorithm == .hs256 }
      .compactMap { key in key.secret.map { (id: key.kid, bytes: $0) } }.first
    guard let secret = found else {
      throw KeySetError("\(path) is not a JSON Web Key Set with a secret for HS256")
    }
    (self.issuer, self.audience) = (issuer, audience)
    (keyID, self.secret) = (secret.id, SymmetricKey(data: secret.bytes))
  }

  /// Writes a key set with a new random secret to a file that only its owner may read.
  ///
  /// - Returns: false if the file already exists; it is left unchanged.
  /// - Throws: `UnwritableFile` if it cannot be written; then no file remains.
  public static func makeKeySet(at path: String) throws -> Bool {
    let secret = SymmetricKey(size: .bits256).withUnsafeBytes { base64URLEncoded($0) }
    let text = #"{"keys":[{"kty":"oct","kid":"local","alg":"HS256","use":"sig","k":"\#(secret)"}]}"#
    return try makeSecretFile(at: path, text + "\n")
  }

  /// Signs a token for the person, valid from now on.
  ///
  /// - Parameters:
  ///   - person: the token's `sub`.
  ///   - lifetime: until it expires, in whole seconds.
  public func token(for person: String, lifetime: Duration) -> String {
    let key = keyID.map { #","kid":\#(jsonText($0))"# } ?? ""
    let now = Int64(Date().timeIntervalSince1970)
    let expires = now + lifetime.components.seconds
    let parts = [
      #"{"alg":"HS256","typ":"JWT"\#(key)}"#,
      #"{"iss":\#(jsonText(issuer)),"aud":\#(jsonText(audience)),"sub":\#(jsonText(person)),"iat":\#(now),"exp":\#(expires)}"#,
    ]
    let signed = parts.map { base64URLEncoded($0.utf8) }.joined(separator: ".")
    let code = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: secret)
    return signed + "." + base64URLEncoded(code)
  }
}
