public import Events

/// The devices to which a person's alarms are pushed.
extension Producer {
  /// Alarms are pushed to an installation of an app. It replaces the user's installation with the same id, and
  /// a token leaves the person who had it before.
  ///
  /// Publish it whenever the app starts: providers change tokens at any time.
  ///
  /// - Parameters:
  ///   - installation: chosen by the app when it is installed; unique for the user.
  ///   - token: what the provider addresses the device by, 1 to 4096 bytes: see `DeviceRegistered`. A secret.
  ///   - app: the app as the provider names it: a bundle id, a project's id, or a name of one's own.
  ///   - locale: for the app's own use.
  @discardableResult
  public func registerDevice(
    _ installation: String, of user: String, provider: PushProvider, token: String, app: String,
    locale: String = "", id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = DeviceRegistered()
    (data.user, data.installation, data.provider) = (user, installation, provider.rawValue)
    (data.token, data.app, data.locale) = (token, app, locale)
    return try await publish(.deviceRegistered(data), id: id, at: time)
  }

  /// Nothing is pushed to the installation any more, such as after the person has logged out.
  @discardableResult
  public func removeDevice(
    _ installation: String, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    let data = DeviceRemoved.with { ($0.user, $0.installation) = (user, installation) }
    return try await publish(.deviceRemoved(data), id: id, at: time)
  }

  /// What the person wants to be pushed. It replaces what was set before.
  ///
  /// - Parameters:
  ///   - silentKinds: codes or names of kinds that are not pushed, at most 100.
  ///   - quietHours: two times of day, `HH:MM`, between which no alert is pushed, never equal;
  ///     nil for none.
  ///   - zone: of the quiet hours, such as `Asia/Seoul`; empty for that of the person's profile.
  @discardableResult
  public func setPushPreferences(
    of user: String, silentKinds: [String] = [], quietHours: (from: String, until: String)? = nil,
    zone: String = "", id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = PushPreferences()
    (data.user, data.silentKinds, data.zone) = (user, silentKinds, zone)
    if let quietHours { (data.quietFrom, data.quietUntil) = quietHours }
    return try await publish(.pushPreferences(data), id: id, at: time)
  }
}
