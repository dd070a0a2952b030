extension EventTime {
  /// Parses RFC 3339, such as `2012-09-14T16:30:01.25+09:00`.
  ///
  /// The offset (`Z` or `±hh:mm`) is required; fractions are truncated to microseconds; `t` and `z`
  /// are accepted. Leap seconds (`:60`) are rejected: neither POSIX time nor PostgreSQL can tell
  /// one from the second after it, and the order of events must not depend on a guess.
  ///
  /// - Throws: ``EventError`` with the code ``EventError/Code/badTime``.
  public init(rfc3339 text: String) throws(EventError) {
    guard text.utf8.count <= bytesMax else {
      throw badTime("a time of \(text.utf8.count) bytes is too long")
    }
    do throws(Malformed) {
      self = try Self.parse(Array(text.utf8))
    } catch {
      throw badTime("\(excerpt(text)) is not an RFC 3339 time: \(error.reason)")
    }
  }

  /// Parses bytes without building a string; nil where the throwing initializer throws.
  init?(rfc3339 bytes: [UInt8]) {
    guard bytes.count <= bytesMax, let time = try? Self.parse(bytes) else { return nil }
    self = time
  }

  private static func parse(_ bytes: [UInt8]) throws(Malformed) -> EventTime {
    var reader = DigitReader(bytes: bytes)
    let year = try reader.number(digits: 4)
    try reader.expect("-")
    let month = try reader.number(digits: 2)
    try reader.expect("-")
    let day = try reader.number(digits: 2)
    try reader.expect("T", or: "t")
    let hour = try reader.number(digits: 2)
    try reader.expect(":")
    let minute = try reader.number(digits: 2)
    try reader.expect(":")
    let second = try reader.number(digits: 2)
    let fraction = try reader.fractionMicroseconds()
    let offsetMinutes = try reader.offsetMinutes()
    try reader.expectEnd()

    guard (1...12).contains(month), day >= 1,
      day <= CivilDate.days(inMonth: month, of: year)
    else { throw Malformed("no such date") }
    guard second != 60 else { throw Malformed("leap seconds (:60) cannot be stored, send :59") }
    guard hour < 24, minute < 60, second < 60 else { throw Malformed("no such time of day") }
    let date = CivilDate(year: year, month: month, day: day).dayNumber
    let seconds = date * 86_400 + hour * 3600 + (minute - offsetMinutes) * 60 + second
    return EventTime(microseconds: Int64(seconds) * 1_000_000 + Int64(fraction))
  }
}

/// The longest text that is parsed.
private let bytesMax = 64

private func badTime(_ message: String) -> EventError {
  EventError(.badTime, message + ". Send it like 2012-09-14T07:30:01.250000Z.", field: "time")
}

private struct Malformed: Error {
  var reason: String

  init(_ reason: String) {
    self.reason = reason
  }
}

private struct DigitReader {
  let bytes: [UInt8]
  var position = 0

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func digit() -> Int? {
    guard let byte = next, byte >= 0x30, byte <= 0x39 else { return nil }
    position += 1
    return Int(byte - 0x30)
  }

  mutating func number(digits: Int) throws(Malformed) -> Int {
    var value: Int = 0
    for _ in 0..<digits {
      guard let digit = digit() else {
        throw Malformed("a digit is missing at position \(position + 1)")
      }
      value = value * 10 + digit
    }
    return value
  }

  mutating func expect(
    _ first: Unicode.Scalar, or second: Unicode.Scalar? = nil
  ) throws(Malformed) {
    guard let byte = next, byte == UInt8(ascii: first) || second.map(UInt8.init(ascii:)) == byte
    else { throw Malformed("\"\(first)\" is missing at position \(position + 1)") }
    position += 1
  }

  func expectEnd() throws(Malformed) {
    guard next == nil else { throw Malformed("trailing characters after the offset") }
  }

  mutating func fractionMicroseconds() throws(Malformed) -> Int {
    guard next == UInt8(ascii: ".") else { return 0 }
    position += 1
    var value: Int = 0
    var digits = 0
    while let digit = digit() {
      if digits < 6 { value = value * 10 + digit }
      digits += 1
    }
    guard digits > 0 else { throw Malformed("no digits after the decimal point") }
    for _ in digits..<max(digits, 6) { value *= 10 }
    return value
  }

  mutating func offsetMinutes() throws(Malformed) -> Int {
    let sign: Int
    switch next {
    case UInt8(ascii: "Z"), UInt8(ascii: "z"):
      position += 1
      return 0
    case UInt8(ascii: "+"): sign = 1
    case UInt8(ascii: "-"): sign = -1
    default: throw Malformed("the offset (Z or +hh:mm) is missing")
    }
    position += 1
    let hours = try number(digits: 2)
    try expect(":")
    let minutes = try number(digits: 2)
    guard hours < 24, minutes < 60 else { throw Malformed("no such offset") }
    return sign * (hours * 60 + minutes)
  }
}
