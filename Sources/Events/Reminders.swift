/// How often the count of a cycle's rings starts over: the values of `ReminderCycleSet.period`. Empty
/// means a day.
public enum CyclePeriod: String, CaseIterable, Sendable {
  case day, week
}

/// A day of the week, in the order of ISO 8601: the values of `DigestSet.days`.
public enum DigestDay: String, CaseIterable, Sendable {
  case monday = "mo"
  case tuesday = "tu"
  case wednesday = "we"
  case thursday = "th"
  case friday = "fr"
  case saturday = "sa"
  case sunday = "su"
}

extension ReminderItem {
  /// An item of a cycle.
  ///
  /// - Parameters:
  ///   - item: its id, unique within the cycle.
  ///   - title: not empty.
  ///   - symbol: a picture in a few characters, such as an emoji, or the name of one.
  ///   - link: what opens when it is tapped.
  public init(
    _ item: String, title: String, memo: String = "", symbol: String = "", link: String = ""
  ) {
    self.init()
    (self.item, self.title, self.memo) = (item, title, memo)
    (self.symbol, self.link) = (symbol, link)
  }
}
