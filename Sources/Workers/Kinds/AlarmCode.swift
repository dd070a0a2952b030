/// The number of an alarm kind, written `F00`, `F01`, … in registries and to clients.
///
/// The kinds that existing event types raise are named here; the registry defines all others, 0 to
/// 999.
public struct AlarmCode: Sendable, Hashable, Comparable, CustomStringConvertible {
  public static let like = AlarmCode(unchecked: 0)
  public static let comment = AlarmCode(unchecked: 1)
  public static let follow = AlarmCode(unchecked: 2)
  public static let message = AlarmCode(unchecked: 3)
  public static let mention = AlarmCode(unchecked: 4)
  public static let post = AlarmCode(unchecked: 5)
  /// A post of an author to whom the recipient is subscribed.
  public static let authorPost = AlarmCode(unchecked: 13)

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
