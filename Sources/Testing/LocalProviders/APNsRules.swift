import Crypto
import Foundation

/// How APNs answers (Apple, *Sending notification requests to APNs* and *Handling notification responses from
/// APNs*).
struct APNsRules: Sendable {
  /// Of the key that signs provider tokens.
  var key: P256.Signing.PublicKey

  func reply(to request: PushRequest) -> PushReply {
    func refusal(_ status: Int, _ reason: String) -> PushReply {
      PushReply(status, headers: request.identity, #"{"reason":"\#(reason)"}"#)
    }
    // "APNs requires HTTP/2."
    guard request.httpVersion.hasPrefix("2") else { return refusal(400, "BadPath") }
    guard let authorization = request.headers["authorization"] else {
      return refusal(403, "MissingProviderToken")
    }
    switch tokenAge(authorization, now: request.received) {
    case .none: return refusal(403, "InvalidProviderToken")
    case .some(let age) where age > 3600: return refusal(403, "ExpiredProviderToken")
    default: break
    }
    // "If you don't provide a value, APNs creates a UUID"; a value must be a UUID.
    if let id = request.headers["apns-id"], UUID(uuidString: id) == nil {
      return refusal(400, "BadMessageId")
    }
    if let id = request.headers["apns-collapse-id"], id.utf8.count > 64 {
      return refusal(400, "BadCollapseId")
    }
    if let time = request.headers["apns-expiration"], Int64(time) == nil {
      return refusal(400, "BadExpirationDate")
    }
    if let priority = request.headers["apns-priority"], !["1", "5", "10"].contains(priority) {
      return refusal(400, "BadPriority")
    }
    guard let topic = request.headers["apns-topic"] else { return refusal(400, "MissingTopic") }
    guard !topic.isEmpty else { return refusal(400, "BadTopic") }
    guard request.address.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
      return refusal(400, "BadDeviceToken")
    }
    guard !request.body.isEmpty else { return refusal(400, "PayloadEmpty") }
    guard request.body.count <= 4096 else { return refusal(413, "PayloadTooLarge") }
    guard let aps = request.json["aps"] as? [String: Any] else {
      return refusal(400, "BadDeviceToken")
    }
    // *Pushing background updates*: "Specify the value 5" and only `content-available`.
    if request.headers["apns-push-type"] == "background" {
      guard request.headers["apns-priority"] == "5", aps["alert"] == nil else {
        return refusal(400, "InvalidPushType")
      }
    }
    return PushReply(200, headers: request.identity)
  }

  /// How many seconds ago a provider token was issued; nil if it is none, or not signed by the key.
  private func tokenAge(_ authorization: String, now: Date) -> Double? {
    let words = authorization.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
    let parts = words[1].split(separator: ".")
    guard parts.count == 3, let claims = base64URL(parts[1]), let signature = base64URL(parts[2]),
      let object = try? JSONSerialization.jsonObject(with: claims) as? [String: Any],
      let issued = object["iat"] as? Double, object["iss"] is String
    else { return nil }
    guard let signed = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
      key.isValidSignature(signed, for: Data("\(parts[0]).\(parts[1])".utf8))
    else { return nil }
    return now.timeIntervalSince1970 - issued
  }
}

extension PushRequest {
  /// The response's `apns-id`.
  fileprivate var identity: [String: String] {
    ["apns-id": headers["apns-id"] ?? UUID().uuidString.lowercased()]
  }
}

func base64URL(_ text: some StringProtocol) -> Data? {
  var base64 = text.replacingOccurrences(of: "-", with: "+")
    .replacingOccurrences(of: "_", with: "/")
  base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
  return Data(base64Encoded: base64)
}
