import Events
import Foundation
import JWTKit

/// The identity that a valid token proves.
struct Identity: Equatable, Sendable {
  var person: String
  /// When the token expires, in seconds since 1970.
  var expires: Double
  /// The token's `iat`: when it was issued, in seconds since 1970.
  var issued: Double?
}

/// The required issuer and audience of tokens.
struct TokenRules: Hashable, Sendable {
  /// The `iss` that every token must have.
  var issuer: String
  /// The value that every token's `aud` must contain.
  var audience: String
  /// The tolerance for a token's `nbf`, in seconds. `exp` has none.
  static let notBeforeTolerance = 60.0
  /// How long a token is fresh, in seconds from its `iat`. That may be as far ahead as `nbf`.
  static let freshSeconds = 300.0
  /// Thrown for a token whose key is not in the set; a newer set may have it.
  static let unknownKey = Problem(.invalidToken, "None of the keys is the one it names.")

  /// Verifies the JWT (RFC 7519) in the header `Authorization`, which must be signed by one of
  /// `keys`, and returns its `sub`.
  ///
  /// - Parameter now: in seconds since 1970.
  /// - Throws: ``Problem``, which says what is wrong with the token without quoting any of it.
  func identity(
    authorization: String?, keys: KeySet, now: Double = Date().timeIntervalSince1970
  ) throws(Problem) -> Identity {
    guard let authorization else {
      throw Problem(.noToken, "The header Authorization is missing.")
    }
    let words = authorization.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, words[0].lowercased() == "bearer" else {
      throw Problem(.noToken, "The header Authorization must be: Bearer and one token.")
    }
    guard words[1].utf8.count <= GatewayLimits.tokenBytes else {
      throw invalid("It is longer than \(GatewayLimits.tokenBytes) bytes.")
    }
    let key = VerifiedTokens.Key(words[1], self)
    if let identity = keys.verified.identity(key, now: now) { return identity }
    let claims = try verifiedClaims(words[1], keys)
    guard claims.iss == issuer else { throw invalid("It has another issuer.") }
    guard claims.aud.values.contains(audience) else { throw invalid("It is for another audience.") }
    guard claims.exp > now else { throw invalid("It has expired.") }
    if let start = claims.nbf, start > now + Self.notBeforeTolerance {
      throw invalid("It is not valid yet.")
    }
    guard isSubject(claims.sub) else { throw invalid("Its subject is not a person's id.") }
    let identity = Identity(person: claims.sub, expires: claims.exp, issued: claims.iat)
    keys.verified.keep(identity, key)
    return identity
  }

  /// - Throws: ``Problem`` unless the token was issued a short time ago, so that the person has just
  ///   shown who they are.
  static func requireFresh(
    _ identity: Identity, now: Double = Date().timeIntervalSince1970
  ) throws(Problem) {
    guard let issued = identity.issued else {
      throw Problem(.tokenNotFresh, "The token has no iat.")
    }
    guard now - freshSeconds...now + notBeforeTolerance ~= issued else {
      throw Problem(
        .tokenNotFresh,
        "The token's iat is not within the last \(Int(freshSeconds)) s. Get a new token.")
    }
  }

  private func verifiedClaims(_ token: Substring, _ keys: KeySet) throws(Problem) -> Claims {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let headerBytes = base64URLDecoded(parts[0]),
      let claimBytes = base64URLDecoded(parts[1]), let signature = base64URLDecoded(parts[2]),
      let header = try? JSONDecoder().decode(Header.self, from: headerBytes)
    else { throw invalid("It is not a JWT in compact form.") }
    // RFC 7515 requires rejecting a token with `crit` extensions that are not understood; none is.
    guard !header.hasCritical else { throw invalid("It has critical header parameters.") }
    guard let algorithm = KeySet.Algorithm(rawValue: header.alg) else {
      throw invalid("Its algorithm is not accepted.")
    }
    let candidates = keys.keys.filter {
      $0.algorithm == algorithm && (header.kid == nil || $0.id == header.kid)
    }
    guard !candidates.isEmpty else { throw Self.unknownKey }
    let signed = Data(token.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
    guard
      candidates.contains(where: {
        (try? $0.verifier.verify(signature, signs: signed)) ?? false
      })
    else { throw invalid("Its signature is wrong.") }
    do {
      return try JSONDecoder().decode(Claims.self, from: claimBytes)
    } catch {
      throw invalid("It lacks iss, aud, exp or sub, or a claim has the wrong type.")
    }
  }

  private func invalid(_ detail: String) -> Problem { Problem(.invalidToken, detail) }
}

private struct Header: Decodable {
  var alg: String
  var kid: String?
  var hasCritical: Bool

  enum CodingKeys: String, CodingKey { case alg, kid, crit }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    alg = try members.decode(String.self, forKey: .alg)
    kid = try members.decodeIfPresent(String.self, forKey: .kid)
    hasCritical = members.contains(.crit)
  }
}

/// The claims that are required, `nbf` and `iat`.
private struct Claims: Decodable {
  var iss: String
  var aud: Audience
  var exp: Double
  var nbf: Double?
  var iat: Double?
  var sub: String
}

/// A string or an array of strings.
private struct Audience: Decodable {
  var values: [String]

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    values = try (try? [value.decode(String.self)]) ?? value.decode([String].self)
  }
}
