import Foundation

/// What a device shows, as far as its provider can tell.
public struct Screen: Sendable, Equatable {
  /// The texts that are shown, by the id that a later one replaces.
  public private(set) var notifications: [String: String] = [:]
  /// The number on the app's icon; nil if it was never set.
  public private(set) var badge: Int?
  /// How often the device made itself heard.
  public private(set) var rings = 0

  /// The text that came last, if it is still shown.
  public var newest: String? { newestID.flatMap { notifications[$0] } }

  private var newestID: String?

  public init() {}

  /// Shows what a provider has accepted.
  mutating func show(_ request: PushRequest) {
    let json = request.json
    switch request.provider {
    case .apns: showAPNs(json, id: request.headers["apns-collapse-id"] ?? "")
    case .fcm: showFCM(json["message"] as? [String: Any] ?? [:])
    case .webhook: showWebhook(json["data"] as? [String: Any] ?? [:])
    // Encrypted.
    case .webPush: rings += 1
    }
  }

  private mutating func show(_ text: String, as id: String) {
    notifications[id] = text
    newestID = id
    rings += 1
  }

  /// - Parameter ids: a list, or a text with commas.
  private mutating func remove(_ ids: Any?) {
    let texts = ids as? [String] ?? (ids as? String)?.components(separatedBy: ",") ?? []
    for id in texts { notifications[id] = nil }
  }

  private mutating func showAPNs(_ json: [String: Any], id: String) {
    let aps = json["aps"] as? [String: Any] ?? [:]
    if let number = aps["badge"] as? Int { badge = number }
    if let alert = aps["alert"] as? [String: Any] {
      show(alert["body"] as? String ?? "", as: id)
    }
    remove((json["magpie"] as? [String: Any])?["remove"])
  }

  private mutating func showFCM(_ message: [String: Any]) {
    let data = message["data"] as? [String: String] ?? [:]
    let android = message["android"] as? [String: Any] ?? [:]
    let own = android["notification"] as? [String: Any] ?? [:]
    if let number = own["notification_count"] as? Int { badge = number }
    if let number = data["magpie_badge"].flatMap({ Int($0) }) { badge = number }
    if let notification = message["notification"] as? [String: Any] {
      show(notification["body"] as? String ?? "", as: own["tag"] as? String ?? "")
    }
    remove(data["magpie_remove"])
  }

  private mutating func showWebhook(_ data: [String: Any]) {
    if let number = data["badge"] as? Int { badge = number }
    if let id = data["id"] as? String, let body = data["body"] as? String {
      show(body, as: id)
    }
    remove(data["remove"])
  }
}
