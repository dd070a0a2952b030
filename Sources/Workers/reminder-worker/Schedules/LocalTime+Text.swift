extension LocalTime: CustomStringConvertible {
  /// Reads `2026-11-23T07:00` or `2026-11-23T07:00:30`: ISO 8601's extended format, without a zone.
  ///
  /// - Throws: `ScheduleError` for any other text, for a date that does not exist and for a year
  ///   outside 2000 to 2199.
  public init(_ text: String) throws(ScheduleError) {
    guard let time = Self.read(Array(text.utf8.prefix(20))) else {
      throw ScheduleError(
        part: "local time",
        message: "\(quoted(text)) is not a time such as 2026-11-23T07:00 or 2026-11-23T07:00:30, "
          + "without a zone, of a date that exists, in the years "
          + "\(Self.years.lowerBound) to \(Self.years.upperBound)")
    }
    self = time
  }

  private static func read(_ bytes: [UInt8]) -> LocalTime? {
    guard bytes.count == 16 || bytes.count == 19 else { return nil }
    for (index, separator) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")]
    where index < bytes.count {
      guard [bytes[index]] == Array(separator.utf8) else { return nil }
    }
    guard let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
      let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
      let minute = number(bytes[14..<16]),
      let second = bytes.count == 16 ? 0 : number(bytes[17..<19])
    else { return nil }
    return LocalTime(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second)
  }

  /// `2026-11-23T07:00:30`, always with seconds.
  public var description: String {
    let (year, month, day) = date
    let time = secondsOfDay
    return "\(padded(year, 4))-\(padded(month))-\(padded(day))"
      + "T\(padded(time / 3600)):\(padded(time / 60 % 60)):\(padded(time % 60))"
  }
}

/// The seconds from midnight to `HH:MM`, whose form has been checked.
package func secondsOfDay(_ text: String) -> Int {
  let parts = text.split(separator: ":").compactMap { Int($0) }
  return parts.count == 2 ? parts[0] * 3600 + parts[1] * 60 : 0
}

/// Parses one to nine ASCII digits; nil for anything else.
func number(_ digits: some Collection<UInt8>) -> Int? {
  guard 1...9 ~= digits.count, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
  return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
}

/// Formats a number with leading zeros.
func padded(_ number: Int, _ width: Int = 2) -> String {
  let digits = String(number)
  return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}

/// Quotes untrusted text for a message: its first 40 bytes, with everything but printable ASCII
/// replaced by `?`.
func quoted(_ text: some StringProtocol) -> String {
  let shown = text.utf8.prefix(40).map { 0x20...0x7E ~= $0 && $0 != 0x22 ? $0 : 0x3F }
  let rest = text.utf8.count > 40 ? "…" : ""
  return "\"" + String(decoding: shown, as: UTF8.self) + rest + "\""
}
