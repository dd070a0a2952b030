/// A point in time in whole microseconds, the resolution of PostgreSQL's `timestamptz`.
public struct EventTime: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Microseconds since 1970-01-01T00:00:00Z, without leap seconds.
  public var microseconds: Int64

  public init(microseconds: Int64) {
    self.microseconds = microseconds
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.microseconds < right.microseconds
  }

  public var description: String { rfc3339 }

  /// The time in UTC, such as `2012-09-14T07:30:01Z`, with a fraction of six digits unless it is
  /// zero.
  public var rfc3339: String {
    let (days, inDay) = floorDivision(microseconds, Self.dayMicroseconds)
    var text: [UInt8] = []
    text.reserveCapacity(32)
    append(date: days, to: &text)
    let (seconds, fraction) = inDay.quotientAndRemainder(dividingBy: 1_000_000)
    for (mark, number) in [("T", seconds / 3600), (":", seconds / 60 % 60), (":", seconds % 60)]
      as [(Unicode.Scalar, Int64)]
    {
      text.append(UInt8(ascii: mark))
      append(number, digits: 2, to: &text)
    }
    if fraction != 0 {
      text.append(UInt8(ascii: "."))
      append(fraction, digits: 6, to: &text)
    }
    text.append(UInt8(ascii: "Z"))
    return String(decoding: text, as: UTF8.self)
  }

  /// The UTC day, such as `2012-09-14`.
  public var day: String {
    var text: [UInt8] = []
    text.reserveCapacity(16)
    append(date: floorDivision(microseconds, Self.dayMicroseconds).0, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  private static let dayMicroseconds: Int64 = 86_400_000_000
}

private func append(date days: Int64, to text: inout [UInt8]) {
  let (year, month, day) = civilDate(daysSince1970: days)
  if year < 0 { text.append(UInt8(ascii: "-")) }
  append(abs(year), digits: 4, to: &text)
  text.append(UInt8(ascii: "-"))
  append(month, digits: 2, to: &text)
  text.append(UInt8(ascii: "-"))
  append(day, digits: 2, to: &text)
}

/// Appends the number, zero-padded to at least `digits` digits.
private func append(_ number: Int64, digits: Int, to text: inout [UInt8]) {
  let start = text.count
  var rest = number
  while rest > 0 || text.count < start + digits {
    text.append(UInt8(ascii: "0") + UInt8(rest % 10))
    rest /= 10
  }
  text[start...].reverse()
}

private func floorDivision(_ number: Int64, _ divisor: Int64) -> (Int64, Int64) {
  let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
  return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}

// The two conversions follow Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms": eras
// of 400 years whose years begin in March, so that the leap day comes last.

func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
  let (era, yearOfEra) = floorDivision(month <= 2 ? year - 1 : year, 400)
  let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
  let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

private func civilDate(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
  let (era, dayOfEra) = floorDivision(days + 719_468, 146_097)
  let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let monthFromMarch = (5 * dayOfYear + 2) / 153
  let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
  let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
}
