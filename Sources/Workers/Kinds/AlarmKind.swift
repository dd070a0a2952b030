/// The properties of a kind of alarm, from a registry.
public struct AlarmKind: Sendable, Equatable {
  public var code: AlarmCode
  /// The name for people and command lines, such as `like`.
  public var name: String
  /// The key of its message in the catalogs.
  public var messageKey: String
  /// Whether all contributions of a UTC day to one recipient and subject form one notification.
  /// Otherwise each contribution is a notification of its own.
  public var isGrouped: Bool
  public var actor: ActorRule
  /// The values that come with an alarm, in the registry's order.
  public var arguments: [AlarmArgument]
  /// Templates of a link into the app, such as `magpie://posts/{post}`. The first whose fields are
  /// all present is used.
  public var deepLinks: [String]
  /// The name of the small icon next to the alarm.
  public var badgeIcon: String
  /// How clients draw the nickname: `bold`, `accent`, or a style that the operator's client
  /// defines.
  public var highlightStyle: String

  public init(
    code: AlarmCode, name: String, messageKey: String, isGrouped: Bool = false,
    actor: ActorRule = .required, arguments: [AlarmArgument] = [], deepLinks: [String] = [],
    badgeIcon: String = "", highlightStyle: String = "bold"
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
  }

  /// The fields that every kind's deep links may use, besides its arguments.
  public static let linkFields = ["post", "comment", "actor", "recipient", "subject", "source"]

  /// Fills the first template whose fields all have non-empty values.
  /// - Parameter fields: values by name, such as `post`; percent-encoded here.
  /// - Returns: `nil` when no template can be filled.
  public func deepLink(_ fields: [String: String]) -> String? {
    for template in deepLinks {
      if let link = Self.filled(template, fields) { return link }
    }
    return nil
  }

  private static func filled(_ template: String, _ fields: [String: String]) -> String? {
    var result = ""
    var rest = template[...]
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      let name = String(rest[rest.index(after: open)..<close])
      guard let value = fields[name], !value.isEmpty else { return nil }
      result += rest[..<open] + percentEncoded(value)
      rest = rest[rest.index(after: close)...]
    }
    return result + rest
  }

  /// Encodes everything but RFC 3986's unreserved characters.
  private static func percentEncoded(_ value: String) -> String {
    var result: [UInt8] = []
    for byte in value.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: result.append(byte)
      default:
        let digits = Array("0123456789ABCDEF".utf8)
        result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
