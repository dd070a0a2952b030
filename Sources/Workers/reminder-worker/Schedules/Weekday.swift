import Events

/// A day of the week. Raw values follow ISO 8601: Monday is 1, Sunday is 7.
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
