import CryptoExtras
public import Devices
public import Events
import Foundation

/// Firebase Cloud Messaging, HTTP v1.
///
/// Sources, of Google's documentation:
/// - *Using OAuth 2.0 for Server to Server Applications*, "HTTP/REST" (authorization);
/// - *REST Resource: projects.messages* (requests);
/// - *ErrorCode* (answers);
/// - *Best practices when sending FCM messages at scale* (retries).
public enum FCM {
  /// A service account, from the JSON file that Google issues.
  public struct Credentials: Sendable, Redacted {
    private struct File: Decodable {
      var projectID: String
      var clientEmail: String
      var privateKeyID: String?
      var privateKey: String
      var tokenURI: String

      enum CodingKeys: String, CodingKey {
        case projectID = "project_id"
        case clientEmail = "client_email"
        case privateKeyID = "private_key_id"
        case privateKey = "private_key"
        case tokenURI = "token_uri"
      }
    }

    let project: String
    let account: String
    let keyID: String?
    /// Where access tokens are requested; also the audience of the signed assertion.
    let tokenURL: String
    /// Such as `https://fcm.googleapis.com`.
    let origin: String
    let key: _RSA.Signing.PrivateKey

    /// - Parameters:
    ///   - json: the file's contents.
    ///   - origin: without a path; another server than Google's is for tests.
    /// - Returns: nil if it is not the file of a service account, or its key is not an RSA key of at
    ///   least 2048 bits, or the project's name could change a path.
    public init?(json: [UInt8], origin: String = "https://fcm.googleapis.com") {
      guard let file = try? JSONDecoder().decode(File.self, from: Data(json)),
        let key = try? _RSA.Signing.PrivateKey(pemRepresentation: file.privateKey),
        label(file.projectID) == file.projectID
      else { return nil }
      (project, account, keyID) = (file.projectID, file.clientEmail, file.privateKeyID)
      (tokenURL, self.origin, self.key) = (file.tokenURI, origin, key)
    }
  }

  /// The token that authorizes requests, valid for up to an hour.
  public struct AccessToken: Sendable, Redacted {
    let text: String
    let issued: EventTime
    let expires: EventTime

    /// Whether a new one should be requested: in its last five minutes, in which it is still valid,
    /// and after the clock was set back.
    public func isDue(now: EventTime) -> Bool {
      now < issued || now.duration(until: expires) <= .seconds(300)
    }

    /// Whether it has expired.
    public func isOver(now: EventTime) -> Bool { now >= expires }
  }
}
