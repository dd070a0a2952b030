extension Zone {
  /// The maximum size of a file, in bytes: 1 MiB. Real files have at most a few KiB.
  public static let bytesLimit = 1 << 20

  /// Parses a TZif file (RFC 9636): its block of 64-bit times and its footer.
  ///
  /// - Parameters:
  ///   - name: the zone's name, also used in errors.
  ///   - bytes: the file's contents.
  /// - Throws: `ZoneError.corrupt` for anything else, including version 1 of the format, which has
  ///   only 32-bit times, and files with leap seconds.
  public init(name: String, tzif bytes: [UInt8]) throws(ZoneError) {
    do throws(TZifReader.Failure) {
      guard bytes.count <= Self.bytesLimit else {
        throw TZifReader.Failure(reason: "more than \(Self.bytesLimit) bytes")
      }
      var reader = TZifReader(rest: bytes[...])
      (transitions, offsets, rule) = try reader.rules()
      self.name = name
    } catch {
      throw .corrupt(name, reason: error.reason)
    }
  }
}

/// A parser that consumes a TZif file from its start.
struct TZifReader {
  struct Failure: Error {
    var reason: String
  }

  private struct Header {
    var version: UInt8
    var utIndicators, standardIndicators, leapSeconds, transitions, types, characters: Int

    func bytes(timeSize: Int) -> Int {
      transitions * (timeSize + 1) + types * 6 + characters + leapSeconds * (timeSize + 4)
        + standardIndicators + utIndicators
    }
  }

  var rest: ArraySlice<UInt8>

  /// RFC 9636 section 3.2: an offset is more than -25 hours and less than 26 hours, in seconds.
  private static let offsetRange = -89_999...93_599

  mutating func rules() throws(Failure) -> ([Int64], [Int], YearlyRule?) {
    let first = try header()
    guard first.version >= UInt8(ascii: "2") else {
      throw Failure(reason: "version 1 of the format, without 64-bit times")
    }
    _ = try take(first.bytes(timeSize: 4))
    let header = try header()
    guard header.leapSeconds == 0 else { throw Failure(reason: "it counts leap seconds") }
    guard 1...256 ~= header.types, header.characters >= 1 else {
      throw Failure(reason: "it has no local time type, or too many")
    }
    guard header.bytes(timeSize: 8) <= rest.count else { throw Failure(reason: "it is cut off") }
    let (transitions, offsets) = try block(header)
    return (transitions, offsets, try footer())
  }

  private mutating func header() throws(Failure) -> Header {
    guard try take(4).elementsEqual("TZif".utf8) else {
      throw Failure(reason: "a header does not begin with TZif")
    }
    let version = try take(16)
    return Header(
      version: version[version.startIndex], utIndicators: try integer(4),
      standardIndicators: try integer(4), leapSeconds: try integer(4),
      transitions: try integer(4), types: try integer(4), characters: try integer(4))
  }

  private mutating func block(_ header: Header) throws(Failure) -> ([Int64], [Int]) {
    var transitions: [Int64] = []
    for _ in 0..<header.transitions {
      let time = Int64(try integer(8))
      guard transitions.last.map({ $0 < time }) ?? true else {
        throw Failure(reason: "its transitions are not in order")
      }
      transitions.append(time)
    }
    let indexes = try take(header.transitions).map(Int.init)
    var types: [Int] = []
    for _ in 0..<header.types {
      let offset = Int(Int32(truncatingIfNeeded: try integer(4)))
      _ = try take(2)
      guard Self.offsetRange ~= offset else {
        throw Failure(reason: "an offset from UTC of \(offset) seconds")
      }
      types.append(offset)
    }
    guard indexes.allSatisfy({ $0 < types.count }) else {
      throw Failure(reason: "a transition to a local time type that it does not have")
    }
    _ = try take(header.characters + header.standardIndicators + header.utIndicators)
    // Before the first transition, type 0 applies (section 3.2).
    return (transitions, [types[0]] + indexes.map { types[$0] })
  }

  /// Reads the footer: a POSIX TZ string between line feeds; nil if it is empty.
  private mutating func footer() throws(Failure) -> YearlyRule? {
    guard try take(1).first == 0x0A, let end = rest.firstIndex(of: 0x0A) else {
      throw Failure(reason: "its footer is missing or cut off")
    }
    let text = Array(rest[..<end])
    if text.isEmpty { return nil }
    guard let rule = YearlyRule(text) else {
      throw Failure(reason: "the footer \(quoted(String(decoding: text, as: UTF8.self)))")
    }
    return rule
  }

  /// Reads a big-endian integer. Four-byte integers are read as unsigned.
  private mutating func integer(_ size: Int) throws(Failure) -> Int {
    try Int(truncatingIfNeeded: take(size).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  private mutating func take(_ count: Int) throws(Failure) -> ArraySlice<UInt8> {
    guard count <= rest.count else { throw Failure(reason: "it is cut off") }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
