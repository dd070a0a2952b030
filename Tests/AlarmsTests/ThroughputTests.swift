import Events
import Foundation
import Lanes
import Postgres
import TestSupport
import Testing

@testable import Alarms

/// Not a test: measurements for docs/performance.md, printed if `MAGPIE_MEASURE` is set.
@Suite("Measure alarms", .enabled(if: ProcessInfo.processInfo.environment["MAGPIE_MEASURE"] != nil))
struct ThroughputTests {
  @Test("20,000 snapshots in batches of 2,000, new and updated, then a renaming of one person")
  func measure() throws {
    let database = try AlarmDatabase()
    let people = (0..<5000).map { profile("u\($0)", nickname: "나오 \($0)", locale: "ko") }
    func print(_ what: String, _ count: Int, _ body: () throws -> Void) rethrows {
      let time = try ContinuousClock().measure(body)
      Swift.print("\(what): \(count) in \(time), \(Int(Double(count) / (time / .seconds(1))))/s")
    }
    func batches(_ events: [Event]) -> [[Event]] {
      stride(from: 0, to: events.count, by: 2000).map {
        Array(events[$0..<min($0 + 2000, events.count)])
      }
    }
    func snapshots(version: Int64) -> [Event] {
      (0..<20_000).map {
        changed(
          $0, version: version, to: "u\($0 % 4000)", .comment,
          by: $0 % 2 == 0 ? "u4999" : "u\($0 % 3777)", comment: "c\($0)", head: "hello \($0)",
          raisedAt: Double($0))
      }
    }
    try print("profiles", people.count) {
      for batch in batches(people) { try database.apply(batch) }
    }
    for version in 1...2 {
      let events = snapshots(version: Int64(version))
      try print("snapshots, version \(version)", events.count) {
        for batch in batches(events) { try database.apply(batch) }
      }
    }
    try database.apply(profile("u4999", nickname: "Renamed", at: 1))
    try print("rendered again", 10_000) { try database.drain() }
  }
}
