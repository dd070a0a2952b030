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
}

/// The number of an alarm kind, written `F00`, `F01`, … in registries and to clients.
///
/// The six built-in kinds are named here; an operator's registry may define others, 0 to 999.
public struct AlarmCode: Sendable, Hashable, Comparable, CustomStringConvertible {
  public static let like = AlarmCode(unchecked: 0)
  public static let comment = AlarmCode(unchecked: 1)
  public static let follow = AlarmCode(unchecked: 2)
  public static let message = AlarmCode(unchecked: 3)
  public static let mention = AlarmCode(unchecked: 4)
  public static let post = AlarmCode(unchecked: 5)

  /// 0 to 999.
  public let number: Int

  /// - Returns: `nil` when the number is outside 0 to 999.
  public init?(_ number: Int) {
    guard 0...999 ~= number else { return nil }
    self.number = number
  }

  /// Reads `F00` to `F999`.
  public init?(_ text: some StringProtocol) {
    let digits = text.dropFirst()
    guard text.first == "F", 2...3 ~= digits.utf8.count, let number = Int(digits), number >= 0
    else { return nil }
    self.number = number
    guard description == text else { return nil }
  }

  private init(unchecked number: Int) { self.number = number }

  public var description: String { number < 10 ? "F0\(number)" : "F\(number)" }

  public static func < (left: AlarmCode, right: AlarmCode) -> Bool { left.number < right.number }
}

/// Everything that determines an alarm's text, except the reader's locale.
public struct AlarmInput: Sendable, Equatable {
  /// Which kind of alarm.
  public var code: AlarmCode
  /// The person named first: the most recent.
  public var actor: Actor
  /// The second person, named when there are exactly two.
  public var other: Actor?
  /// The number of different people, including `actor`. Below 1 counts as 1.
  public var actorCount: Int
  /// The number of events (messages sent, posts published). Below 1 counts as 1.
  public var count: Int
  /// The text of the comment or message, appended as `: head text`; untrusted. If it is `nil` or
  /// has nothing visible, nothing is appended.
  public var headText: String?

  public init(
    code: AlarmCode, actor: Actor, other: Actor? = nil, actorCount: Int = 1, count: Int = 1,
    headText: String? = nil
  ) {
    self.code = code
    self.actor = actor
    self.other = other
    self.actorCount = actorCount
    self.count = count
    self.headText = headText
  }
}
