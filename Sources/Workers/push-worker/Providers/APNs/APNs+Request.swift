public import Devices
public import Events

extension APNs {
  /// "4 KB (4096 bytes)" (*Generating…*, "Overview").
  static let payloadBytesMax = 4096

  /// The request that sends a message to a device.
  ///
  /// - Parameters:
  ///   - token: hexadecimal. Its length varies, so it is not checked beyond 8 to 512 digits.
  ///   - authorization: current: see ``ProviderToken/isDue(now:isRefused:)``.
  /// - Throws: ``Unsendable``.
  public static func request(
    _ message: PushMessage, to device: Device, token: DeviceToken, credentials: Credentials,
    authorization: ProviderToken, now: EventTime
  ) throws(Unsendable) -> ProviderRequest {
    try message.checkNotExpired(now)
    // The token becomes part of the URL's path, so it may contain nothing but digits.
    guard isToken(token) else { throw .malformedToken }
    guard let fitted = message.fitted(to: payloadBytesMax, { payload($0).bytes }) else {
      throw .tooLarge
    }
    // In lower case, as Apple requires.
    let id = message.requestID(for: device).uuidString.lowercased()
    return ProviderRequest(
      url: "\(credentials.origin)/3/device/\(token.revealed)",
      // Names and values: *Sending…*, "Create a POST request to APNs".
      headers: [
        "authorization": "bearer \(authorization.text)",
        "content-type": "application/json",
        "apns-topic": credentials.topic,
        "apns-push-type": isBackground(message) ? "background" : "alert",
        "apns-id": id,
        // At most 64 bytes. Notifications with the same id are shown as one.
        "apns-collapse-id": message.isOfSeveral ? id : message.collapseID,
        "apns-expiration": String(message.expires.seconds),
        "apns-priority": priority(message),
      ], body: fitted.bytes)
  }

  /// A removal that changes no badge shows nothing.
  private static func isBackground(_ message: PushMessage) -> Bool {
    message.purpose == .removal && message.badge == nil
  }

  /// 10: immediately. 5: with regard to the device's power; required for background notifications
  /// (*Sending…*, `apns-priority`).
  private static func priority(_ message: PushMessage) -> String {
    message.purpose == .alert && message.interruption != .passive ? "10" : "5"
  }

  /// The payload (*Generating…*, "Payload key reference"), with the app's own members beside `aps`.
  static func payload(_ message: PushMessage) -> JSON {
    var aps: [(String, JSON)] = []
    switch message.purpose {
    case .alert:
      var alert: [(String, JSON)] = []
      if !message.title.isEmpty { alert.append(("title", .text(message.title))) }
      alert.append(("body", .text(message.body)))
      aps.append(("alert", .object(alert)))
      if let sound = message.sound { aps.append(("sound", .text(sound))) }
      if let thread = message.thread { aps.append(("thread-id", .text(thread))) }
      aps.append(("interruption-level", .text(message.interruption.rawValue)))
      // The app's extension highlights the spans, and fetches the picture.
      if !message.spans.isEmpty || message.image != nil {
        aps.append(("mutable-content", .number(1)))
      }
    case .removal: aps.append(("content-available", .number(1)))
    case .badge: break
    }
    if let badge = message.badge { aps.append(("badge", .number(Int64(badge)))) }
    return .object([("aps", .object(aps)), ("magpie", .object(message.appMembers))])
  }

  /// Whether it is hexadecimal, of 8 to 512 digits. Its length varies, so no more is checked.
  static func isToken(_ token: DeviceToken) -> Bool {
    8...512 ~= token.revealed.utf8.count
      && token.revealed.utf8.allSatisfy { hexadecimalDigit($0) != nil }
  }
}
