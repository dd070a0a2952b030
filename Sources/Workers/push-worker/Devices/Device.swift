public import Events

/// One person's installation of an app, which a token belongs to.
public struct Device: Sendable, Hashable {
  /// The person's id.
  public var user: String
  /// Chosen by the app when it is installed; unique for the person.
  public var installation: String
  public var provider: PushProvider
  /// The name under which the credentials are configured: a bundle id, a project id, or any name.
  public var app: String

  public init(user: String, installation: String, provider: PushProvider, app: String) {
    (self.user, self.installation) = (user, installation)
    (self.provider, self.app) = (provider, app)
  }

  /// The fields with length prefixes, so that different devices never have the same bytes.
  var bytes: [UInt8] { lengthPrefixed([user, installation, provider.rawValue, app]) }
}

/// The parts, each preceded by its length in bytes and a colon.
func lengthPrefixed(_ parts: [String]) -> [UInt8] {
  parts.flatMap { Array("\($0.utf8.count):".utf8) + Array($0.utf8) }
}
