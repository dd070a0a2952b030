// The checks of devices and of what people want to be pushed. What a provider accepts as a token, and
// whether a kind or a time zone exists, only the worker knows.

extension DeviceRegistered {
  /// No error quotes the token: errors are stored and logged.
  func check() throws(EventError) {
    try checkIDs(("user", user), ("installation", installation))
    try checkPresent(provider, "provider")
    guard PushProvider(rawValue: provider) != nil else {
      throw EventError(
        .badValue, "provider must be apns, fcm, web-push or webhook.", field: "provider")
    }
    try checkPresent(token, "token")
    try checkText(token, "token", Limits.tokenBytes)
    try checkPresent(app, "app")
    try checkLength(app, "app", Limits.appBytes)
    guard !containsControlCharacter(app) else {
      throw EventError(.badID, "app contains a control character.", field: "app")
    }
    try checkText(locale, "locale", Limits.localeBytes)
  }
}

extension PushPreferences {
  func check() throws(EventError) {
    try checkID(user, "user")
    guard silentKinds.count <= Limits.silentKinds else {
      throw EventError(
        .badValue,
        "silentKinds has \(silentKinds.count) members; at most \(Limits.silentKinds) are allowed.",
        field: "silentKinds")
    }
    for kind in silentKinds { try checkKind(kind, "silentKinds") }
    try checkZone(zone)
    guard !quietFrom.isEmpty || !quietUntil.isEmpty else { return }
    for (field, time) in [("quietFrom", quietFrom), ("quietUntil", quietUntil)] {
      try checkPresent(time, field)
      try checkTimeOfDay(time, field)
    }
    guard quietFrom != quietUntil else {
      throw EventError(
        .badValue, "quietUntil is \(quietUntil), like quietFrom; quiet hours have an end.",
        field: "quietUntil")
    }
  }
}

/// The services that take notifications to devices: the values of `DeviceRegistered.provider`.
public enum PushProvider: String, Sendable, Hashable, CaseIterable {
  /// Apple Push Notification service.
  case apns
  /// Firebase Cloud Messaging, HTTP v1.
  case fcm
  /// The push service of a browser (RFC 8030).
  case webPush = "web-push"
  /// Any server that follows the Standard Webhooks specification.
  case webhook
}

extension Event {
  /// The event without secrets, for people to see.
  public var redacted: Event {
    guard case .deviceRegistered(var data) = payload else { return self }
    data.token = "redacted"
    var event = self
    event.payload = .deviceRegistered(data)
    return event
  }
}
