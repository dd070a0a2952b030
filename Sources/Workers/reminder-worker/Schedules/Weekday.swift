/// A day of the week. Raw values are ISO 8601's: Monday is 1, Sunday is 7.
public enum Weekday: Int, CaseIterable, Comparable, Sendable {
  case monday = 1
  case tuesday, wednesday, thursday, friday, saturday, sunday

  public static func < (first: Weekday, second: Weekday) -> Bool {
    first.rawValue < second.rawValue
  }

  /// The weekday of a day number: days since 1970-01-01, a Thursday.
  init(day: Int) {
    self = Self.allCases[(day + 3).modulo(7)]
  }

  /// Days from `weekday` forward to this one, 0 to 6.
  func days(since weekday: Weekday) -> Int {
    (rawValue - weekday.rawValue).modulo(7)
  }
}

extension Int {
  /// The quotient, rounded down. The divisor must be positive.
  func quotient(_ divisor: Int) -> Int {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }

  /// The remainder of `quotient`, 0 to divisor - 1.
  func modulo(_ divisor: Int) -> Int {
    let remainder = self % divisor
    return remainder < 0 ? remainder + divisor : remainder
  }
}
