import Crypto
public import Devices
import Foundation

/// Servers that follow the Standard Webhooks specification, version 1.0.0; its sections are cited by name.
public enum Webhook {
  /// A webhook's URL and signing secrets. Its JSON is the device's token:
  /// `{"url":"https://…","secrets":["whsec_…"]}`.
  public struct Destination: Sendable, Redacted {
    private struct Text: Decodable {
      var url: String
      var secrets: [String]
    }

    /// User-supplied: connect to its ``PublicAddress`` only. https, so that nobody on the way can
    /// read the contents ("Enforcing HTTPS").
    public let endpoint: HTTPSEndpoint
    /// One or, while a secret is being replaced, two.
    let secrets: [SymmetricKey]

    /// - Returns: nil if it is not such a destination, or if a secret does not have 24 to 64 bytes.
    public init?(_ token: DeviceToken) {
      guard
        let text = try? JSONDecoder().decode(Text.self, from: Data(token.revealed.utf8)),
        let endpoint = HTTPSEndpoint(text.url), 1...2 ~= text.secrets.count
      else { return nil }
      let secrets = text.secrets.compactMap(Webhook.secret)
      guard secrets.count == text.secrets.count else { return nil }
      (self.endpoint, self.secrets) = (endpoint, secrets)
    }
  }

  /// "Random. At least 24 bytes (192 bits, 512 maximum)", "base64 encoded, prefixed with whsec_"
  /// ("Signature scheme").
  static func secret(_ text: String) -> SymmetricKey? {
    guard text.hasPrefix("whsec_"), let bytes = Data(base64Encoded: String(text.dropFirst(6))),
      24...64 ~= bytes.count
    else { return nil }
    return SymmetricKey(data: bytes)
  }

  /// `v1` and the HMAC-SHA256 of id, time and body, "delimited by full-stops", for each secret
  /// ("Signature scheme", "Webhook headers").
  ///
  /// - Parameters:
  ///   - id: without a full stop, so that no other id and time have the same signed bytes.
  ///   - seconds: since 1970.
  static func signatures(
    _ secrets: [SymmetricKey], id: String, seconds: Int64, body: [UInt8]
  ) -> String {
    let signed = Array("\(id).\(seconds).".utf8) + body
    return secrets.map { secret in
      "v1,"
        + Data(HMAC<SHA256>.authenticationCode(for: signed, using: secret)).base64EncodedString()
    }.joined(separator: " ")
  }
}
