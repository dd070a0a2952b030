/// How a schedule repeats: a subset of RFC 5545's RRULE (section 3.3.10).
///
/// Parsed from text; see `init(_:)`.
public struct RecurrenceRule: Hashable, Sendable {
  public enum Frequency: String, CaseIterable, Sendable {
    case daily = "DAILY"
    case weekly = "WEEKLY"
    case monthly = "MONTHLY"
  }

  /// The last moment that may be an occurrence.
  public enum Until: Hashable, Sendable {
    /// A nominal local time, inclusive. UNTIL as a date means the last second of that day.
    case local(LocalTime)
    /// An instant, inclusive, in seconds since 1970-01-01T00:00:00Z. It is compared with the
    /// instants that occurrences have in the zone.
    case instant(Int64)
  }

  public internal(set) var frequency: Frequency
  /// INTERVAL, in days, weeks or months: 1 to 1000.
  public internal(set) var interval = 1
  /// BYDAY of a weekly rule, ascending and distinct; empty for the start's weekday.
  public internal(set) var weekdays: [Weekday] = []
  /// BYMONTHDAY of a monthly rule, ascending and distinct: 1 to 31, or -31 to -1 counted from the
  /// month's end; empty for the start's day. A month without such a day is skipped.
  public internal(set) var monthDays: [Int] = []
  /// WKST: the first day of a week. Matters only if `interval` is greater than 1.
  public internal(set) var weekStart = Weekday.monday
  public internal(set) var until: Until?
  /// COUNT: the number of occurrences, 1 to 10,000. At most one of `until` and `count` is set.
  public internal(set) var count: Int?

  public static let intervals = 1...1000
  public static let counts = 1...10_000
  /// The maximum length of a rule's text, in bytes.
  public static let bytesLimit = 512

  init(frequency: Frequency) {
    self.frequency = frequency
  }
}

extension Weekday {
  /// The two-letter code of RFC 5545, such as `MO`.
  var code: String { Self.codes[rawValue - 1] }

  init?(code: String) {
    guard let index = Self.codes.firstIndex(of: code) else { return nil }
    self = Self.allCases[index]
  }

  private static let codes = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
}

extension RecurrenceRule: CustomStringConvertible {
  /// The rule as text that parses to an equal rule. Parts with default values are left out.
  public var description: String {
    var parts = ["FREQ=\(frequency.rawValue)"]
    if interval != 1 { parts.append("INTERVAL=\(interval)") }
    if !weekdays.isEmpty { parts.append("BYDAY=" + weekdays.map(\.code).joined(separator: ",")) }
    if !monthDays.isEmpty {
      parts.append("BYMONTHDAY=" + monthDays.map(String.init).joined(separator: ","))
    }
    if weekStart != .monday { parts.append("WKST=\(weekStart.code)") }
    switch until {
    case .local(let time): parts.append("UNTIL=" + Self.basic(time))
    case .instant(let seconds):
      parts.append("UNTIL=" + Self.basic(LocalTime(seconds: seconds)) + "Z")
    case nil: break
    }
    if let count { parts.append("COUNT=\(count)") }
    return parts.joined(separator: ";")
  }

  /// ISO 8601's basic format, `20261231T235959`.
  private static func basic(_ time: LocalTime) -> String {
    time.description.filter { $0 != "-" && $0 != ":" }
  }
}
