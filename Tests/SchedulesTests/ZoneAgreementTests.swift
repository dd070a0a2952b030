import Schedules
import TestSupport
import Testing

@Suite struct ZoneAgreementTests {
  @Test("every installed zone agrees with Python's zoneinfo around its changes")
  func zoneinfo() async throws {
    var counts = (zones: 0, gaps: 0, folds: 0, probes: 0)
    var zone = try directory.zone("UTC")
    var differences: [String] = []
    var clamped = Int64.min
    for line in try await referenceLines("zones.py") {
      var rest = line.dropFirst(2)
      switch line.first {
      case UInt8(ascii: "Z"):
        let name = rest.prefix { $0 != 0x20 }
        zone = try directory.zone(text(name))
        rest = rest.dropFirst(name.count + 1)
        clamped = .min
        counts.zones += 1
        counts.gaps += Int(takeNumber(&rest))
        counts.folds += Int(takeNumber(&rest))
      case UInt8(ascii: "U"):
        let (instant, expected) = (takeNumber(&rest), takeNumber(&rest))
        let local = zone.local(at: instant)
        if local.seconds != expected { differences.append("\(zone.name) \(text(line)): \(local)") }
        counts.probes += 1
      default:
        let (local, expected) = (takeNumber(&rest), takeNumber(&rest))
        let instant = zone.instant(of: LocalTime(seconds: local))
        if instant != expected { differences.append("\(zone.name) \(text(line)): \(instant)") }
        // The times ascend, and so do their instants if those in gaps are clamped.
        let next = zone.instant(of: LocalTime(seconds: local), clampsGaps: true)
        let isInGap = zone.local(at: instant).seconds != local
        if next < clamped || (isInGap ? next > instant : next != instant) {
          differences.append("\(zone.name) \(text(line)): clamped to \(next)")
        }
        clamped = next
        counts.probes += 1
      }
    }
    #expect(differences.prefix(10) == [])
    // About 600, 4,700, 4,700 and 125,000 with tzdata 2025b; fewer without the old names.
    #expect(counts.zones > 300)
    #expect(counts.gaps > 1000)
    #expect(counts.folds > 1000)
    #expect(counts.probes > 30_000)
  }

  @Test("a local time that exists twice is the first; one that does not exist rings after the gap")
  func berlin() throws {
    let berlin = try directory.zone("Europe/Berlin")
    // 2026-10-25T02:30 is 00:30Z and 01:30Z.
    let twice = try LocalTime("2026-10-25T02:30")
    #expect(try LocalTime(seconds: berlin.instant(of: twice)) == LocalTime("2026-10-25T00:30"))
    // 2026-03-29T02:30 is between 02:00 and 03:00.
    let never = try LocalTime("2026-03-29T02:30")
    #expect(try berlin.local(at: berlin.instant(of: never)) == LocalTime("2026-03-29T03:30"))
  }

  @Test("in a day that a zone skipped, a time is due a day later")
  func samoa() throws {
    let apia = try directory.zone("Pacific/Apia")
    let skipped = apia.instant(of: try LocalTime("2011-12-30T07:00"))
    #expect(skipped == apia.instant(of: try LocalTime("2011-12-31T07:00")))
    #expect(try apia.local(at: skipped) == LocalTime("2011-12-31T07:00"))
  }

  @Test("the ends of 64 bits are answered", arguments: ["America/New_York", "Etc/GMT-14", "UTC"])
  func extremes(_ name: String) throws {
    let zone = try directory.zone(name)
    for seconds in [Int64.min, .min + 1, -1, 0, .max - 1, .max] {
      _ = zone.local(at: seconds).description
      _ = zone.instant(of: LocalTime(seconds: seconds))
    }
  }
}
