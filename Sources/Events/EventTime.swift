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
    let inDay = microseconds.modulo(Self.dayMicroseconds)
    var text: [UInt8] = []
    text.reserveCapacity(32)
    append(date: microseconds.quotient(Self.dayMicroseconds), to: &text)
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
    append(date: microseconds.quotient(Self.dayMicroseconds), to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  private static let dayMicroseconds: Int64 = 86_400_000_000
}

private func append(date days: Int64, to text: inout [UInt8]) {
  let date = CivilDate(dayNumber: Int(days))
  if date.year < 0 { text.append(UInt8(ascii: "-")) }
  append(Int64(abs(date.year)), digits: 4, to: &text)
  text.append(UInt8(ascii: "-"))
  append(Int64(date.month), digits: 2, to: &text)
  text.append(UInt8(ascii: "-"))
  append(Int64(date.day), digits: 2, to: &text)
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
