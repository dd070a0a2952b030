import Crypto
public import Devices
public import Events
import Foundation

/// Apple Push Notification service.
///
/// Sources, of Apple's documentation "User Notifications":
/// - *Establishing a token-based connection to APNs* (authentication);
/// - *Sending notification requests to APNs* (requests);
/// - *Generating a remote notification* (payloads);
/// - *Pushing background updates to your App* (removals);
/// - *Handling notification responses from APNs* (answers).
public enum APNs {
  /// A team's signing key for an app (*Establishing…*, "Obtain an encryption key").
  public struct Credentials: Sendable, Redacted {
    let keyID: String
    let teamID: String
    /// The app's bundle id, the `apns-topic`.
    let topic: String
    /// Such as `https://api.push.apple.com`.
    let origin: String
    let key: P256.Signing.PrivateKey

    /// - Parameters:
    ///   - keyID: of ten characters, from the developer account.
    ///   - teamID: of ten characters.
    ///   - topic: the app's bundle id.
    ///   - origin: without a path; another server than Apple's is for tests.
    ///   - pem: the contents of the `.p8` file.
    /// - Returns: nil if the key is not one for P-256 in PEM form.
    public init?(
      keyID: String, teamID: String, topic: String,
      origin: String = "https://api.push.apple.com", pem: String
    ) {
      guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else { return nil }
      (self.keyID, self.teamID, self.topic) = (keyID, teamID, topic)
      (self.origin, self.key) = (origin, key)
    }
  }

  /// The token that authenticates requests, and when it was issued.
  ///
  /// "Refresh your token no more than once every 20 minutes and no less than once every 60 minutes"
  /// (*Establishing…*, "Refresh your token regularly").
  public struct ProviderToken: Sendable, Redacted {
    /// The age at which it is renewed regularly. In the middle of the allowed range, so that
    /// neither a wrong clock nor a delayed request crosses a bound.
    static let age = Duration.seconds(40 * 60)
    /// The least age at which it is renewed if ``isRenewalNeeded(reason:)``.
    static let youngest = Duration.seconds(20 * 60)

    let text: String
    let issued: EventTime

    /// Signs a token. Use one for all connections of the process.
    ///
    /// - Throws: ``Unsendable/cryptography``.
    public init(_ credentials: Credentials, now: EventTime) throws(Unsendable) {
      let key = credentials.key
      text = try signedToken(
        header: [("alg", .text("ES256")), ("kid", .text(credentials.keyID))],
        claims: [("iss", .text(credentials.teamID)), ("iat", .number(now.seconds))]
      ) { try key.signature(for: $0).rawRepresentation }
      issued = now
    }

    /// Whether a new one should be signed now.
    ///
    /// - Parameter isRefused: whether APNs has refused this one: see ``isRenewalNeeded(reason:)``.
    public func isDue(now: EventTime, isRefused: Bool = false) -> Bool {
      // After the clock was set back, a token from the future must not be kept.
      now < issued
        || issued.duration(until: now) >= (isRefused ? Self.youngest : Self.age)
    }

    /// Whether a request that was begun at a time can have used it.
    public func isIssued(by time: EventTime) -> Bool { issued <= time }
  }

  /// Whether a new provider token may help against ``ProviderAnswer/providerBroken(reason:after:)``.
  public static func isRenewalNeeded(reason: String) -> Bool { reason == "ExpiredProviderToken" }
}
