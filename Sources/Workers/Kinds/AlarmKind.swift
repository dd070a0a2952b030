/// The properties of a kind of alarm, from a registry.
public struct AlarmKind: Sendable, Equatable {
  public var code: AlarmCode
  /// The name for people and command lines, such as `like`.
  public var name: String
  /// The key of its message in the catalogs.
  public var messageKey: String
  /// The key of the message that stands for several alarms of this kind in one push; it gets their number as
  /// `alarms`. Nil: pushes say "3 new alarms", as for alarms of different kinds.
  public var severalKey: String?
  /// Whether all contributions of a UTC day to one recipient and subject form one notification.
  /// Otherwise each contribution is a notification of its own.
  public var isGrouped: Bool
  public var actor: ActorRule
  /// The values that come with an alarm, in the registry's order.
  public var arguments: [AlarmArgument]
  /// Templates of a link, such as `magpie://posts/{post}`. The first that can be filled is used: see
  /// `deepLink(_:)`.
  public var deepLinks: [String]
  /// The name of the small icon next to the alarm.
  public var badgeIcon: String
  /// How clients draw the nickname: `bold`, `accent`, or a style that the operator's client
  /// defines.
  public var highlightStyle: String
  /// How much a push of it may disturb.
  public var interruption: Interruption

  public init(
    code: AlarmCode, name: String, messageKey: String, isGrouped: Bool = false,
    actor: ActorRule = .required, arguments: [AlarmArgument] = [], deepLinks: [String] = [],
    badgeIcon: String = "", highlightStyle: String = "bold",
    severalKey: String? = nil, interruption: Interruption = .active
  ) {
    self.code = code
    self.name = name
    self.messageKey = messageKey
    self.isGrouped = isGrouped
    self.actor = actor
    self.arguments = arguments
    self.deepLinks = deepLinks
    self.badgeIcon = badgeIcon
    self.highlightStyle = highlightStyle
    self.severalKey = severalKey
    self.interruption = interruption
  }
}
