import Foundation
import Schedules
import TestSupport
import Testing

@Suite struct ZoneFileTests {
  static func zone(_ file: TZifFile) throws -> Zone {
    try Zone(name: "Test/File", tzif: file.bytes)
  }

  /// The hours of the offset at an instant.
  static func hours(_ footer: String, _ time: String) throws -> Double {
    let instant = try LocalTime(time).seconds
    let zone = try zone(TZifFile(footer: footer))
    return Double(zone.local(at: instant).seconds - instant) / 3600
  }

  @Test(
    "footers",
    arguments: [
      ("<+03>-3", "2026-07-01T00:00", 3.0),
      ("<-0330>+3:30", "2026-07-01T00:00", -3.5),
      ("AAA-24:59:59", "2026-07-01T00:00", 89_999.0 / 3600),
      ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T06:59:59", -5),
      ("EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00", -4),
      ("EST5EDT,M3.2.0,M11.1.0", "2026-11-01T05:59:59", -4),
      ("EST5EDT,M3.2.0,M11.1.0", "2026-11-01T06:00:00", -5),
      // Daylight saving time that is behind, as in Dublin.
      ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00", 0),
      ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-07-01T00:00", 1),
      // Before the day's midnight, and after its end.
      ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59:59", -2),
      ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00", -1),
      ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-27T23:59:59", 2),
      ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-28T00:00:00", 3),
      // Days of the year: 60 is March 1 with J, and in a leap year February 29 is day 59 without.
      ("AAA0BBB,J60/0,J300", "2028-02-29T23:59:59", 0),
      ("AAA0BBB,J60/0,J300", "2028-03-01T00:00:00", 1),
      ("AAA0BBB,59/0,300", "2028-02-28T23:59:59", 0),
      ("AAA0BBB,59/0,300", "2028-02-29T00:00:00", 1),
      // Beyond the ends of the year.
      ("AAA0BBB,J365/167,J182", "2027-01-06T22:59:59", 0),
      ("AAA0BBB,J365/167,J182", "2027-01-06T23:00:00", 1),
      ("AAA0BBB,0/-167,J182", "2025-12-25T00:59:59", 0),
      ("AAA0BBB,0/-167,J182", "2025-12-25T01:00:00", 1),
      // All-year daylight saving time (RFC 9636 section 3.3.2).
      ("EST5EDT,0/0,J365/25", "2026-01-01T04:59:59", -4),
      ("EST5EDT,0/0,J365/25", "2026-01-01T05:00:00", -4),
      ("EST5EDT,0/0,J365/25", "2026-07-01T00:00:00", -4),
    ] as [(String, String, Double)])
  func footers(_ footer: String, _ time: String, _ expected: Double) throws {
    #expect(try Self.hours(footer, time) == expected)
  }

  @Test(
    "invalid footers",
    arguments: [
      "A", "EST", "EST25", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.2.0,M11.1.0",
      "EST5EDT,M0.2.0,M11.1.0", "EST5EDT,M3.6.0,M11.1.0", "EST5EDT,M3.0.0,M11.1.0",
      "EST5EDT,M3.2.7,M11.1.0", "EST5EDT,M3.2.0/168,M11.1.0", "EST5EDT,J0,M11.1.0",
      "EST5EDT,J366,M11.1.0", "EST5EDT,366,M11.1.0", "EST5EDT,M3.2.0,M11.1.0,", "<+03-3", "+03-3",
      "<>3", "EST5:60", "EST5:00:60", "EST5EDT,M3.2.0/,M11.1.0", "EST99999999999999999999", "EST5 ",
      "EST--5", "EST+-5", "EST5EDT,M3.2.0/0000002,M11.1.0", "\u{E9}\u{E9}\u{E9}5", ":UTC",
    ])
  func invalidFooters(_ footer: String) {
    #expect(throws: ZoneError.self) { try Self.zone(TZifFile(footer: footer)) }
  }

  @Test("a footer counts from the last transition on, type 0 before the first")
  func order() throws {
    let file = TZifFile(
      transitions: [0, 1000], indexes: [1, 2], offsets: [60, 3600, 7200], footer: "AAA-2")
    let zone = try Self.zone(file)
    let offsets = [-1, 0, 999, 1000, 1 << 40].map { zone.local(at: $0).seconds - $0 }
    #expect(offsets == [60, 3600, 3600, 7200, 7200])
  }

  @Test("invalid files are errors")
  func invalid() throws {
    let invalid = [
      TZifFile(version: 0), TZifFile(transitions: [5, 5], indexes: [0, 0]),
      TZifFile(transitions: [5, 4], indexes: [0, 0]), TZifFile(transitions: [5], indexes: [1]),
      TZifFile(offsets: [93_600]), TZifFile(offsets: [-90_000]), TZifFile(offsets: [.min]),
      TZifFile(offsets: []), TZifFile(offsets: Array(repeating: 0, count: 257)),
      TZifFile(leapSeconds: 1),
    ]
    for file in invalid { #expect(throws: ZoneError.self) { try Self.zone(file) } }
    _ = try Self.zone(TZifFile())
    let huge = TZifFile().bytes + [UInt8](repeating: 0, count: Zone.bytesLimit)
    #expect(throws: ZoneError.self) { try Zone(name: "Test/Huge", tzif: huge) }
    // Counts near the limits of 32 bits.
    var bytes = TZifFile().bytes
    bytes.replaceSubrange(20..<44, with: Array(repeating: 0xFF, count: 24))
    #expect(throws: ZoneError.self) { try Zone(name: "Test/Counts", tzif: bytes) }
  }

  @Test("a real file, cut off anywhere, is an error", arguments: ["Europe/Berlin", "Asia/Tokyo"])
  func truncated(_ name: String) throws {
    let bytes = try Self.contents(name)
    _ = try Zone(name: name, tzif: bytes)
    for count in 0..<bytes.count {
      #expect(throws: ZoneError.self) { try Zone(name: name, tzif: Array(bytes[..<count])) }
    }
  }

  @Test("a real file with changed bytes is an error or answers", arguments: 0..<4)
  func flipped(_ seed: Int) throws {
    var numbers = SeededGenerator(seed: UInt64(seed))
    let name = ["America/New_York", "Africa/Casablanca", "Asia/Gaza", "Asia/Tokyo"][seed]
    let original = try Self.contents(name)
    var answered = 0
    for _ in 0..<250 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...4, using: &numbers) {
        let isInFooter = Bool.random(using: &numbers)
        let index = Int.random(
          in: (isInFooter ? bytes.count - 24 : 0)..<bytes.count, using: &numbers)
        bytes[index] = UInt8.random(in: 0...255, using: &numbers)
      }
      guard let zone = try? Zone(name: name, tzif: bytes) else { continue }
      answered += 1
      for _ in 0..<4 {
        let shift = Int64.random(in: 0...40, using: &numbers)
        let seconds = Int64.random(in: .min ... .max, using: &numbers) >> shift
        _ = zone.local(at: seconds).description
        _ = zone.instant(of: LocalTime(seconds: seconds))
      }
    }
    #expect(answered > 0)
    #expect(answered < 250)
  }

  static func contents(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: "\(ZoneDirectory.systemPath)/\(name)")))
  }
}
