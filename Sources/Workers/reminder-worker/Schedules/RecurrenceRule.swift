/// How a schedule repeats: a subset of RFC 5545's RRULE (section 3.3.10).
///
/// Read from text; see `init(_:)`.
public struct RecurrenceRule: Hashable, Sendable {
  public enum Frequency: String, CaseIterable, Sendable {
    case daily = "DAILY"
    case weekly = "WEEKLY"
    case monthly = "MONTHLY"
  }

  /// The last moment that may be an occurrence.
  public enum Until: Hashable, Sendable {
    /// A nominal time. A date alone is its last second, so that its day is included.
    case local(LocalTime)
    /// An instant, in seconds since 1970-01-01T00:00:00Z. An occurrence's is that of its nominal
    /// time by the zone's rules.
    case instant(Int64)
  }

  public internal(set) var frequency: Frequency
  /// Every how many days, weeks or months: 1 to 1000.
  public internal(set) var interval = 1
  /// BYDAY, ascending and distinct, if weekly; empty for the start's weekday.
  public internal(set) var weekdays: [Weekday] = []
  /// BYMONTHDAY, distinct, if monthly: 1 to 31, and -31 to -1 from the month's end, ascending; empty
  /// for the start's day. A month without the day is skipped.
  public internal(set) var monthDays: [Int] = []
  /// WKST: when a week begins. Matters if weeks are skipped.
  public internal(set) var weekStart = Weekday.monday
  public internal(set) var until: Until?
  /// COUNT: how many occurrences there are, 1 to 10,000. Nil if `until` is not.
  public internal(set) var count: Int?

  public static let intervals = 1...1000
  public static let counts = 1...10_000
  /// The longest text that is read, in bytes.
  public static let bytesLimit = 512

  init(frequency: Frequency) {
    self.frequency = frequency
  }
}

extension Weekday {
  /// RFC 5545's `weekday`.
  var code: String { Self.codes[rawValue - 1] }

  init?(code: String) {
    guard let index = Self.codes.firstIndex(of: code) else { return nil }
    self = Self.allCases[index]
  }

  private static let codes = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
}

extension RecurrenceRule: CustomStringConvertible {
  /// The rule as a text that reads as an equal rule, without parts that say the default.
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
