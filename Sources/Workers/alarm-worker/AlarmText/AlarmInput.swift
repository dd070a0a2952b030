@_exported public import Kinds

/// A person in an alarm.
public struct Actor: Sendable, Equatable {
  /// The person's opaque id. Carried into segments and spans, never shown.
  public var id: String
  /// The nickname as the person entered it; untrusted. If it is `nil` or has nothing visible, the
  /// locale's "Someone" is shown.
  public var nickname: String?

  public init(id: String, nickname: String?) {
    self.id = id
    self.nickname = nickname
  }

  /// A person under the name that is shown: the nickname, or the name if nothing of the nickname is
  /// visible. Column `shown_name` of `profiles` holds the same.
  public init(id: String, nickname: String, name: String) {
    var visible: [UInt8] = []
    var nickname = nickname
    nickname.withUTF8 {
      _ = DisplayText.clean($0, limits: .nickname, ellipsis: [], into: &visible)
    }
    self.init(id: id, nickname: visible.isEmpty ? name : nickname)
  }
}

/// Everything that determines an alarm's text, except the reader's locale.
public struct AlarmInput: Sendable, Equatable {
  /// Which kind of alarm.
  public var code: AlarmCode
  /// The person named first: the most recent. `nil` if the alarm names nobody.
  public var actor: Actor?
  /// The second person, named when there are exactly two.
  public var other: Actor?
  /// The number of different people, including `actor`. Below 1 counts as 1.
  public var actorCount: Int
  /// The number of events (messages sent, posts published). Below 1 counts as 1.
  public var count: Int
  /// The text of the comment or message, appended as `: head text`; untrusted. If it is `nil` or
  /// has nothing visible, nothing is appended.
  public var headText: String?
  /// Whether `headText` is the beginning of a longer text, and so ends in the ellipsis.
  public var isHeadTextCut: Bool
  /// The values of the kind's arguments, by name; untrusted.
  public var arguments: [String: String]

  public init(
    code: AlarmCode, actor: Actor?, other: Actor? = nil, actorCount: Int = 1, count: Int = 1,
    headText: String? = nil, isHeadTextCut: Bool = false, arguments: [String: String] = [:]
  ) {
    self.code = code
    self.actor = actor
    self.other = other
    self.actorCount = actorCount
    self.count = count
    self.headText = headText
    self.isHeadTextCut = isHeadTextCut
    self.arguments = arguments
  }
}
