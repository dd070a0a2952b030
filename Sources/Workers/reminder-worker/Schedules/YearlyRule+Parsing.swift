extension YearlyRule {
  /// Parses a POSIX TZ string with the extensions of RFC 9636 section 3.3, such as
  /// `EST5EDT,M3.2.0,M11.1.0` or `<+03>-3`. Nil for any other text.
  init?(_ text: [UInt8]) {
    var reader = RuleReader(rest: text[...])
    guard let rule = reader.rule(), reader.rest.isEmpty else { return nil }
    self = rule
  }
}

private struct RuleReader {
  var rest: ArraySlice<UInt8>

  mutating func rule() -> YearlyRule? {
    guard skipName(), let west = offset() else { return nil }
    guard !rest.isEmpty else { return YearlyRule(standard: -west) }
    guard skipName() else { return nil }
    var daylight = -west + 3600
    if rest.first != UInt8(ascii: ",") {
      guard let west = offset() else { return nil }
      daylight = -west
    }
    guard skip(","), let start = change(), skip(","), let end = change() else { return nil }
    return YearlyRule(
      standard: -west,
      daylight: YearlyRule.Daylight(offset: daylight, start: start, end: end))
  }

  /// Skips an abbreviation of three or more letters; in angle brackets, digits and signs are
  /// allowed, too.
  private mutating func skipName() -> Bool {
    let isQuoted = skip("<")
    let name = rest.prefix { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"): isQuoted
      default: false
      }
    }
    rest = rest.dropFirst(name.count)
    return name.count >= 3 && (!isQuoted || skip(">"))
  }

  /// Seconds west of UTC.
  private mutating func offset() -> Int? { time(hours: 0...24) }

  /// `hh[:mm[:ss]]` with an optional sign, in seconds.
  private mutating func time(hours: ClosedRange<Int>) -> Int? {
    let isNegative = skip("-")
    if !isNegative { _ = skip("+") }
    guard let hour = number(hours) else { return nil }
    var seconds = hour * 3600
    if skip(":") {
      guard let minute = number(0...59) else { return nil }
      seconds += minute * 60
      if skip(":") {
        guard let second = number(0...59) else { return nil }
        seconds += second
      }
    }
    return isNegative ? -seconds : seconds
  }

  private mutating func change() -> YearlyRule.Change? {
    guard let day = day() else { return nil }
    guard skip("/") else { return YearlyRule.Change(day: day, time: 2 * 3600) }
    guard let time = time(hours: 0...167) else { return nil }
    return YearlyRule.Change(day: day, time: time)
  }

  private mutating func day() -> YearlyRule.Change.Day? {
    if skip("J") { return number(1...365).map { .dayWithoutLeap($0) } }
    guard skip("M") else { return number(0...365).map { .day($0) } }
    guard let month = number(1...12), skip("."), let week = number(1...5), skip("."),
      let day = number(0...6)
    else { return nil }
    return .weekday(month: month, week: week, day: day)
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int? {
    let digits = rest.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    guard 1...3 ~= digits.count else { return nil }
    let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    guard range ~= number else { return nil }
    rest = rest.dropFirst(digits.count)
    return number
  }

  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard let first = rest.first, first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }
}
