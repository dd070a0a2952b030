public import Devices
public import Events

extension FCM {
  /// "4096 bytes for most messages", with keys and values (*ErrorCode*, `INVALID_ARGUMENT`). Google
  /// does not say what exactly counts, so the whole message is counted, without its token.
  static let messageBytesMax = 4096
  /// Four weeks (*ErrorCode*, "Invalid TTL").
  static let secondsMax: Int64 = 2_419_200

  /// The request that sends a message to a device (*projects.messages*, "send").
  ///
  /// - Parameters:
  ///   - authorization: current: see ``AccessToken/isDue(now:)``.
  ///   - now: the time of this attempt, from which the time to live counts. Everything else in the
  ///     body is the same in a repetition.
  /// - Throws: ``Unsendable``.
  public static func request(
    _ message: PushMessage, token: DeviceToken, credentials: Credentials,
    authorization: AccessToken, now: EventTime
  ) throws(Unsendable) -> ProviderRequest {
    try message.checkNotExpired(now)
    let seconds = message.secondsToLive(now, atMost: secondsMax)
    // Encoded with the longest time to live: a repetition, whose time has fewer digits, must not
    // keep more of a text.
    let encoded = { (message: PushMessage) in
      JSON.object(members(message, seconds: secondsMax)).bytes
    }
    guard let fitted = message.fitted(to: messageBytesMax, encoded) else { throw .tooLarge }
    let target: [(String, JSON)] = [("token", .text(token.revealed))]
    let body = JSON.object([
      ("message", .object(target + members(fitted.message, seconds: seconds)))
    ])
    return ProviderRequest(
      url: "\(credentials.origin)/v1/projects/\(credentials.project)/messages:send",
      headers: [
        "authorization": "Bearer \(authorization.text)", "content-type": "application/json",
      ], body: body.bytes)
  }

  /// The members of a `Message`.
  static func members(_ message: PushMessage, seconds: Int64) -> [(String, JSON)] {
    var members: [(String, JSON)] = []
    if message.purpose == .alert {
      var notification: [(String, JSON)] = []
      if !message.title.isEmpty { notification.append(("title", .text(message.title))) }
      notification.append(("body", .text(message.body)))
      if let image = message.image { notification.append(("image", .text(image))) }
      members.append(("notification", .object(notification)))
    }
    members.append(("data", .object(data(message))))
    members.append(("android", .object(android(message, seconds: seconds))))
    return members
  }

  /// The members for the app's own code. Values are strings, and keys begin with `magpie_` so that
  /// none is reserved by FCM (*projects.messages*, `data`).
  private static func data(_ message: PushMessage) -> [(String, JSON)] {
    var data: [(String, JSON)] = message.appMembers.compactMap { name, value in
      // The picture is in `notification`, where FCM expects it.
      if name == "image" { return nil }
      if name == "remove" {
        return ("magpie_remove", .text(message.removedIDs.joined(separator: ",")))
      }
      let text =
        switch value {
        case .text(let text): text
        default: value.string
        }
      return ("magpie_\(name)", .text(text))
    }
    // FCM applies the badge of alerts only. In other messages the app does.
    if message.purpose != .alert, let badge = message.badge {
      data.append(("magpie_badge", .text(String(badge))))
    }
    return data
  }

  /// `AndroidConfig` and `AndroidNotification`.
  private static func android(_ message: PushMessage, seconds: Int64) -> [(String, JSON)] {
    let wakes = message.purpose == .alert && message.interruption != .passive
    var android: [(String, JSON)] = [
      ("priority", .text(wakes ? "HIGH" : "NORMAL")), ("ttl", .text("\(seconds)s")),
    ]
    // Of several undelivered messages with a key, Google keeps the last (`AndroidConfig.collapse_key`). Of a removal
    // none may be lost.
    if message.purpose == .badge { android.append(("collapse_key", .text(message.collapseID))) }
    guard message.purpose == .alert else { return android }
    // A notification replaces the one in the drawer that has the same tag (`AndroidNotification.tag`).
    var notification: [(String, JSON)] = [("tag", .text(message.collapseID))]
    if let sound = message.sound { notification.append(("sound", .text(sound))) }
    if let badge = message.badge {
      notification.append(("notification_count", .number(Int64(badge))))
    }
    android.append(("notification", .object(notification)))
    return android
  }
}
