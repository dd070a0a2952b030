public import Events
import Foundation

extension FCM {
  private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
  private static let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

  private struct Grant: Decodable {
    var accessToken: String
    var expiresIn: Int64

    enum CodingKeys: String, CodingKey {
      case accessToken = "access_token"
      case expiresIn = "expires_in"
    }
  }

  /// The request for an access token (*Using OAuth 2.0…*, "Making the access token request"; RFC 7523).
  ///
  /// - Throws: ``Unsendable/cryptography``.
  public static func accessRequest(
    _ credentials: Credentials, now: EventTime
  ) throws(Unsendable) -> ProviderRequest {
    var header: [(String, JSON)] = [("alg", .text("RS256")), ("typ", .text("JWT"))]
    if let keyID = credentials.keyID { header.append(("kid", .text(keyID))) }
    let key = credentials.key
    let assertion = try signedToken(
      header: header,
      claims: [
        ("iss", .text(credentials.account)), ("scope", .text(scope)),
        ("aud", .text(credentials.tokenURL)),
        // "A maximum of 1 hour after the issued time."
        ("iat", .number(now.seconds)), ("exp", .number(now.seconds + 3600)),
      ]
    ) { try key.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation }
    // Of both values only the colons of `grant` need percent-encoding.
    let form =
      "grant_type=\(grant.replacingOccurrences(of: ":", with: "%3A"))&assertion=\(assertion)"
    return ProviderRequest(
      url: credentials.tokenURL, headers: ["content-type": "application/x-www-form-urlencoded"],
      body: Array(form.utf8))
  }

  /// The access token in the answer to ``accessRequest(_:now:)``.
  ///
  /// - Returns: nil if there is none. Then the provider counts as broken.
  public static func accessToken(_ response: ProviderResponse, now: EventTime) -> AccessToken? {
    guard response.status == 200,
      let grant = try? JSONDecoder().decode(Grant.self, from: Data(response.body)),
      !grant.accessToken.isEmpty, grant.accessToken.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else { return nil }
    let seconds = min(max(grant.expiresIn, 0), 86_400)
    return AccessToken(
      text: grant.accessToken, issued: now, expires: EventTime(seconds: now.seconds + seconds))
  }
}
