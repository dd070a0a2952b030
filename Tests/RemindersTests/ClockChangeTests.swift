import Events
import Foundation
import Kinds
import Schedules
import TestSupport
import Testing

@testable import Reminders

@Suite("Cycles while clocks are set forward or back")
struct ClockChangeTests {
  private static let directory = ZoneDirectory()

  /// In seconds; offsets are east of UTC.
  private struct Shift: Hashable {
    var instant: Int64
    var before: Int64
    var after: Int64

    /// The first instant at which clocks show a local time; that of the change if they skip it.
    func due(_ local: LocalTime) -> Int64 {
      if local.seconds - before < instant { return local.seconds - before }
      return max(local.seconds - after, instant)
    }
  }

  /// All changes of 2026, and of the year in which Samoa skipped a day, each with a zone.
  private func shifts() throws -> [Shift: String] {
    var found: [Shift: String] = [:]
    for year in ["2011", "2026"] {
      let start = try EventTime(rfc3339: "\(year)-03-01T00:00:00Z").microseconds / 1_000_000
      for name in TimeZone.knownTimeZoneIdentifiers {
        guard let zone = try? Self.directory.zone(name) else { continue }
        func offset(_ instant: Int64) -> Int64 { zone.local(at: instant).seconds - instant }
        for day in stride(from: Int64(0), to: 365, by: 5) {
          var (low, high) = (start + day * 86_400, start + (day + 5) * 86_400)
          let (before, after) = (offset(low), offset(high))
          guard before != after else { continue }
          while high - low > 1 {
            let middle = (low + high) / 2
            if offset(middle) == before { low = middle } else { high = middle }
          }
          found[Shift(instant: high, before: before, after: after)] = name
        }
      }
    }
    return found
  }

  @Test("every moment of a cycle rings exactly once, in order, and none before its time")
  func once() throws {
    var numbers = SeededGenerator()
    let shifts = try shifts()
    #expect(shifts.keys.contains { $0.after - $0.before == 86_400 })
    #expect(shifts.keys.contains { $0.after < $0.before })
    for (shift, zone) in shifts.sorted(by: {
      ($0.value, $0.key.instant) < ($1.value, $1.key.instant)
    }) {
      let skipped = LocalTime(seconds: shift.instant + shift.before).secondsOfDay / 60
      let from = (skipped + 1440 - Int.random(in: 0...180, using: &numbers)) % 1440
      let length = Int.random(in: 10...600, using: &numbers)
      let (times, isWeekly) = (
        Int.random(in: 1...min(length, 8), using: &numbers),
        Int.random(in: 0..<4, using: &numbers) == 0
      )
      let user = "p\(numbers.next())"
      let place =
        "\(zone), \(user), \(times) times in \(length) minutes from \(from), weekly: \(isWeekly)"
      let (start, end) = (shift.instant - 86_400, shift.instant + 2 * 86_400)

      let rings = try rings(
        .cycle(
          "c", of: user, items: ["a"], from: clock(from), to: clock((from + length) % 1440),
          zone: zone, times: Int32(times), period: isWeekly ? "week" : ""),
        from: start, to: end, &numbers)
      let cycle = try Cycle(
        from: from * 60, to: (from + length) % 1440 * 60, times: times,
        period: isWeekly ? .week : .day)
      let key = Cycle.key(secret: Self.secret, user: user, cycle: "c")
      let day = LocalTime(seconds: start).day
      let moments = Set((day - 8...day + 11).flatMap { cycle.moments(in: $0, key: key) }).sorted()
        .filter { start < shift.due($0) && shift.due($0) <= end }
      #expect(rings.map(\.local) == moments, "\(place)")
      #expect(rings.map(\.dueAt) == moments.map { shift.due($0) * 1_000_000 }, "\(place)")
    }
  }

  private static let secret = Array("a secret of thirty-two bytes, ok".utf8)

  private func clock(_ minutes: Int) -> String {
    let time = LocalTime(seconds: Int64(minutes) * 60).description
    return String(time.dropFirst(11).prefix(5))
  }

  /// What rings between two times if the worker is always less than five minutes late.
  private func rings(
    _ payload: Payload, from start: Int64, to end: Int64, _ numbers: inout SeededGenerator
  ) throws -> [Occurrence] {
    var surroundings = Surroundings(
      zones: Self.directory, secret: Self.secret, bounds: LateBounds(), now: start * 1_000_000)
    let event = Event(
      id: "e", source: "test", time: EventTime(microseconds: surroundings.now), payload: payload)
    let change = try #require(try Change(event, kinds: .builtIn))
    var reminder = Reminder(user: change.user, id: change.reminder, partition: 0, zone: "")
    try reminder.apply(change, personZone: "", surroundings)
    var rings: [Occurrence] = []
    while let next = reminder.next, next.dueAt <= end * 1_000_000 {
      #expect(reminder.takeDue(at: next.dueAt - 1, surroundings) == nil)
      surroundings.now = next.dueAt + .random(in: 0..<300_000_000, using: &numbers)
      while let ring = reminder.takeDue(at: surroundings.now, surroundings) {
        rings.append(ring.occurrence)
      }
    }
    return rings.filter { $0.dueAt <= end * 1_000_000 }
  }

  @Test("moments that the clocks skip ring when they have, each once", arguments: [false, true])
  func together(isEdited: Bool) throws {
    let worker = try ClockedWorker(at: "2026-03-28T12:00:00Z")
    let cycle = Payload.cycle(
      "c", items: ["a", "b", "c", "d", "e"], from: "02:00", to: "03:00", zone: "Europe/Berlin",
      times: 5)
    try worker.apply(cycle, at: "2026-03-28T12:00:00Z")
    #expect(try worker.ring(at: "2026-03-29T00:59:59Z") == [])
    try worker.set("2026-03-29T01:00:30Z")
    if isEdited { try worker.apply(cycle, at: "2026-03-29T01:00:20Z") }
    let lines = try worker.ring()
    #expect(Set(lines).count == 5)
    for item in ["a", "b", "c", "d", "e"] {
      #expect(lines.count { $0.hasSuffix(" due 2026-03-29T01:00:00Z: the \(item)") } == 1)
    }
    #expect(lines.allSatisfy { $0.hasPrefix("ann c 2026-03-29T02:") })
    #expect(try worker.ring(at: "2026-03-29T02:30:00Z") == [])
  }
}
