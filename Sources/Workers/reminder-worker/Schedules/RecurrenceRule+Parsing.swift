extension RecurrenceRule {
  /// Parses the value of an RRULE, such as `FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;COUNT=10`.
  ///
  /// Parts may be in any case and order (RFC 5545 section 3.3.10), each at most once; the text has
  /// at most 512 bytes:
  ///
  /// - FREQ, required: DAILY, WEEKLY or MONTHLY
  /// - INTERVAL: 1 to 1000
  /// - BYDAY with WEEKLY: weekdays MO to SU
  /// - BYMONTHDAY with MONTHLY: 1 to 31, or -31 to -1 counted from the month's end
  /// - WKST: a weekday; MO if absent
  /// - UNTIL: a date, a local time or a UTC time; or COUNT: 1 to 10,000
  ///
  /// - Throws: `ScheduleError` for any other text, naming the offending part.
  public init(_ text: String) throws(ScheduleError) {
    guard text.utf8.count <= Self.bytesLimit else {
      throw ScheduleError(part: "rule", message: "it has more than \(Self.bytesLimit) bytes")
    }
    var values: [String: String] = [:]
    for part in text.split(separator: ";", omittingEmptySubsequences: false) {
      let (name, value) = try Self.split(part)
      guard values.updateValue(value, forKey: name) == nil else {
        throw ScheduleError(part: name, message: "it must occur only once")
      }
    }
    guard let frequency = values["FREQ"] else {
      throw ScheduleError(part: "FREQ", message: "it is missing; \(Self.frequencies)")
    }
    guard let frequency = Frequency(rawValue: frequency) else {
      throw ScheduleError(
        part: "FREQ", message: "\(quoted(frequency)) is not supported; \(Self.frequencies)")
    }
    self.init(frequency: frequency)
    try read(values)
  }

  private static let frequencies = "it must be DAILY, WEEKLY or MONTHLY"
  private static let parts = [
    "FREQ", "INTERVAL", "BYDAY", "BYMONTHDAY", "WKST", "UNTIL", "COUNT",
  ]

  private static func split(_ part: Substring) throws(ScheduleError) -> (String, String) {
    let sides = part.split(separator: "=", omittingEmptySubsequences: false).map(upperCased)
    guard sides.count == 2 else {
      throw ScheduleError(
        part: "rule",
        message: "\(quoted(part)) is not a part such as FREQ=DAILY; parts are separated by ;")
    }
    guard parts.contains(sides[0]) else {
      throw ScheduleError(
        part: "rule",
        message: "\(quoted(sides[0])) is not supported; the parts are "
          + parts.joined(separator: ", "))
    }
    return (sides[0], sides[1])
  }

  /// Maps ASCII letters only: some other characters have an ASCII letter as their upper case.
  private static func upperCased(_ text: Substring) -> String {
    String(decoding: text.utf8.map { 0x61...0x7A ~= $0 ? $0 - 32 : $0 }, as: UTF8.self)
  }

  private mutating func read(_ values: [String: String]) throws(ScheduleError) {
    if let text = values["INTERVAL"] {
      interval = try Self.number(text, Self.intervals, "INTERVAL")
    }
    if let text = values["BYDAY"] {
      guard frequency == .weekly else {
        throw ScheduleError(part: "BYDAY", message: "it is supported with FREQ=WEEKLY only")
      }
      weekdays = try Self.list(text) { name throws(ScheduleError) in
        try Self.weekday(name, "BYDAY")
      }
    }
    if let text = values["BYMONTHDAY"] {
      guard frequency == .monthly else {
        throw ScheduleError(part: "BYMONTHDAY", message: "it is supported with FREQ=MONTHLY only")
      }
      monthDays = try Self.list(text, Self.monthDay)
    }
    if let text = values["WKST"] { weekStart = try Self.weekday(text, "WKST") }
    if let text = values["UNTIL"] { until = try Until(text) }
    if let text = values["COUNT"] {
      guard until == nil else {
        throw ScheduleError(part: "COUNT", message: "it excludes UNTIL; leave one of them out")
      }
      count = try Self.number(text, Self.counts, "COUNT")
    }
  }

  /// The distinct values of a list, ascending.
  private static func list<Value: Comparable & Hashable>(
    _ text: String, _ value: (String) throws(ScheduleError) -> Value
  ) throws(ScheduleError) -> [Value] {
    var values: Set<Value> = []
    for item in text.split(separator: ",", omittingEmptySubsequences: false) {
      values.insert(try value(String(item)))
    }
    return values.sorted()
  }

  private static func number(
    _ text: String, _ range: ClosedRange<Int>, _ part: String
  ) throws(ScheduleError) -> Int {
    guard let number = Schedules.number(text.utf8), range ~= number else {
      throw ScheduleError(
        part: part,
        message: "\(quoted(text)) is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  private static func weekday(_ text: String, _ part: String) throws(ScheduleError) -> Weekday {
    guard let weekday = Weekday(code: text) else {
      throw ScheduleError(
        part: part,
        message: "\(quoted(text)) is not supported; the weekdays are MO, TU, WE, TH, FR, SA, SU, "
          + "without a number before them")
    }
    return weekday
  }

  private static func monthDay(_ text: String) throws(ScheduleError) -> Int {
    let isNegative = text.utf8.first == UInt8(ascii: "-")
    let digits =
      isNegative || text.utf8.first == UInt8(ascii: "+") ? text.utf8.dropFirst() : text.utf8[...]
    guard digits.count <= 2, let day = Schedules.number(digits), 1...31 ~= day else {
      throw ScheduleError(
        part: "BYMONTHDAY", message: "\(quoted(text)) is not a day, 1 to 31 or -31 to -1")
    }
    return isNegative ? -day : day
  }
}

extension RecurrenceRule.Until {
  /// Parses `20261231`, `20261231T235959` or `20261231T235959Z`, in upper case.
  init(_ text: String) throws(ScheduleError) {
    guard let until = Self.read(Array(text.utf8)) else {
      throw ScheduleError(
        part: "UNTIL",
        message:
          "\(quoted(text)) is not a date that exists, such as 20261231, alone or with a time "
          + "of day, such as 20261231T235959, or such as 20261231T235959Z in UTC")
    }
    self = until
  }

  private static func read(_ bytes: [UInt8]) -> Self? {
    guard [8, 15, 16].contains(bytes.count),
      let year = number(bytes[0..<4]), let month = number(bytes[4..<6]),
      let day = number(bytes[6..<8])
    else { return nil }
    var (hour, minute, second) = (23, 59, 59)
    if bytes.count > 8 {
      guard bytes[8] == UInt8(ascii: "T"), let hours = number(bytes[9..<11]),
        let minutes = number(bytes[11..<13]), let seconds = number(bytes[13..<15]),
        bytes.count == 15 || bytes[15] == UInt8(ascii: "Z")
      else { return nil }
      (hour, minute, second) = (hours, minutes, seconds)
    }
    let time = LocalTime(
      anyYear: year, month: month, day: day, hour: hour, minute: minute, second: second)
    return time.map { bytes.count == 16 ? .instant($0.seconds) : .local($0) }
  }
}
