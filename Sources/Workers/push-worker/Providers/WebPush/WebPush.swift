public import Crypto
public import Devices
public import Events
import Foundation

/// The push services of browsers.
///
/// Sources: RFC 8030 (requests and answers), RFC 8291 and RFC 8188 (encryption), RFC 8292 (VAPID).
public enum WebPush {
  /// The VAPID key, by which push services identify the application server (RFC 8292, 2).
  public struct Credentials: Sendable, Redacted {
    /// The contact: a `mailto:` or `https:` URI (RFC 8292, 2.1).
    let subject: String
    let key: P256.Signing.PrivateKey
    /// The keys of each message are derived from it: see ``WebPush/MessageKeys``.
    let messageSecret: SymmetricKey

    /// - Parameters:
    ///   - subject: a `mailto:` or `https:` URI.
    ///   - privateKey: 32 bytes in the URL-safe Base64 in which VAPID keys are usually written.
    ///   - messageSecret: 32 bytes that are used for nothing else.
    /// - Returns: nil if the subject or the key is malformed.
    public init?(subject: String, privateKey: String, messageSecret: SymmetricKey) {
      guard subject.hasPrefix("mailto:") || subject.hasPrefix("https:"),
        let bytes = base64URLDecoded(privateKey),
        let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
      else { return nil }
      (self.subject, self.key, self.messageSecret) = (subject, key, messageSecret)
    }

    /// The public key that the app gives to `PushManager.subscribe`, in URL-safe Base64.
    public var publicKey: String { base64URL(key.publicKey.x963Representation) }
  }

  /// A browser's `PushSubscription`. Its JSON is the device's token.
  public struct Subscription: Sendable, Redacted {
    private struct Text: Decodable {
      struct Keys: Decodable {
        var p256dh: String
        var auth: String
      }

      var endpoint: String
      var keys: Keys
    }

    /// User-supplied: connect to its ``PublicAddress`` only.
    public let endpoint: HTTPSEndpoint
    /// The browser's key (RFC 8291, 3.1).
    let publicKey: P256.KeyAgreement.PublicKey
    /// 16 bytes (RFC 8291, 3.2).
    let authentication: Data

    /// - Returns: nil if it is not a subscription, or its endpoint not an `https` URL.
    public init?(_ token: DeviceToken) {
      guard
        let text = try? JSONDecoder().decode(Text.self, from: Data(token.revealed.utf8)),
        let endpoint = HTTPSEndpoint(text.endpoint),
        let point = base64URLDecoded(text.keys.p256dh),
        let key = try? P256.KeyAgreement.PublicKey(x963Representation: point),
        let authentication = base64URLDecoded(text.keys.auth), authentication.count == 16
      else { return nil }
      (self.endpoint, publicKey, self.authentication) = (endpoint, key, authentication)
    }
  }

  /// The VAPID authorization for one push service. It is valid for one origin, because "the
  /// audience is the origin of the push resource" (RFC 8292, 2).
  public struct Authorization: Sendable, Redacted {
    /// Below the 24 hours that RFC 8292, 2 allows, for wrong clocks.
    private static let seconds: Int64 = 12 * 3600

    /// The scheme `vapid` with the token and the key (RFC 8292, 3).
    let text: String
    let origin: String
    let issued: EventTime
    let expires: EventTime

    /// - Parameter origin: as ``HTTPSEndpoint/origin``.
    /// - Throws: ``Unsendable/cryptography``.
    public init(
      _ credentials: Credentials, origin: String, now: EventTime
    ) throws(Unsendable) {
      let end = now.seconds + Self.seconds
      let key = credentials.key
      let token = try signedToken(
        header: [("typ", .text("JWT")), ("alg", .text("ES256"))],
        claims: [
          ("aud", .text(origin)), ("exp", .number(end)), ("sub", .text(credentials.subject)),
        ]
      ) { try key.signature(for: $0).rawRepresentation }
      text = "vapid t=\(token), k=\(credentials.publicKey)"
      (self.origin, issued, expires) = (origin, now, EventTime(seconds: end))
    }

    /// Whether a new one should be signed: in its last hour, and after the clock was set back. Until
    /// then it should be reused, which saves the push service work (RFC 8292, 2).
    public func isDue(now: EventTime) -> Bool {
      now < issued || now.duration(until: expires) <= .seconds(3600)
    }
  }
}
