public import Events

/// An installation of an app of one person: what a token belongs to.
public struct Device: Sendable, Hashable {
  /// The person's id.
  public var user: String
  /// Chosen by the app when it is installed; unique for the person.
  public var installation: String
  public var provider: PushProvider
  /// The app as the provider names it: a bundle id, a project, or a name of one's own.
  public var app: String

  public init(user: String, installation: String, provider: PushProvider, app: String) {
    (self.user, self.installation) = (user, installation)
    (self.provider, self.app) = (provider, app)
  }

  /// The parts, each after its length, so that different devices never have the same bytes.
  var bytes: [UInt8] { lengthPrefixed([user, installation, provider.rawValue, app]) }
}

/// Each part after its length in bytes and a colon.
func lengthPrefixed(_ parts: [String]) -> [UInt8] {
  parts.flatMap { Array("\($0.utf8.count):".utf8) + Array($0.utf8) }
}
