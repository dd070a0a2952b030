import Foundation
import LocalProviders

/// A request to a provider, as far as the device's app understands it.
struct SentPush {
  let request: PushRequest
  /// The notification that is shown, or the first that is taken away; zero for a badge.
  let notification: String
  let version: Int64
  /// Whether it shows something.
  let isAlert: Bool
  /// What a later one replaces.
  let collapse: String?
  /// Of APNs and webhooks.
  let requestID: String?

  /// Nil if the app would not understand it.
  init?(_ request: PushRequest) {
    self.request = request
    let json = request.json
    let members: [String: Any]
    switch request.provider {
    case .apns:
      members = json["magpie"] as? [String: Any] ?? [:]
      isAlert = (json["aps"] as? [String: Any])?["alert"] != nil
      (collapse, requestID) = (request.headers["apns-collapse-id"], request.headers["apns-id"])
    case .fcm:
      let message = json["message"] as? [String: Any] ?? [:]
      let data = message["data"] as? [String: String] ?? [:]
      members = Dictionary(
        uniqueKeysWithValues: data.map { ($0.key.replacing("magpie_", with: ""), $0.value) })
      isAlert = message["notification"] != nil
      let android = message["android"] as? [String: Any] ?? [:]
      collapse = (android["notification"] as? [String: Any])?["tag"] as? String
      requestID = nil
    case .webhook, .webPush:
      members = json["data"] as? [String: Any] ?? [:]
      isAlert = members["body"] != nil
      (collapse, requestID) = (members["id"] as? String, request.headers["webhook-id"])
    }
    let ids = members["id"] ?? members["remove"]
    let first = (ids as? [String])?.first ?? (ids as? String)?.components(separatedBy: ",").first
    guard let notification = first,
      let version = members["version"].flatMap({ Int64("\($0)") })
    else { return nil }
    (self.notification, self.version) = (notification, version)
  }

  /// Microseconds since 1970.
  var received: Int64 { Int64(request.received.timeIntervalSince1970 * 1_000_000) }
}
