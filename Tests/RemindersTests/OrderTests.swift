import Events
import Postgres
import Schedules
import TestSupport
import Testing

@testable import Reminders

@Suite("Events that arrive late, together, or from other clocks")
struct OrderTests {
  private func event(_ payload: Payload, _ time: String) throws -> Event {
    Event(id: time, source: "test", time: try EventTime(rfc3339: time), payload: payload)
  }

  @Test("a reminder that arrives before its person's older zone rings in that zone")
  func beforeZone() throws {
    let worker = try ClockedWorker(at: "2026-11-22T12:00:00Z")
    // 07:00 is over in UTC, and to come in Los Angeles.
    for (id, repeats) in [("r1", ""), ("r2", "FREQ=DAILY")] {
      try worker.apply(
        .reminder(id, at: "2026-11-22T07:00", repeats: repeats), at: "2026-11-22T11:59:59Z")
    }
    try worker.apply(.zone("America/Los_Angeles"), at: "2026-11-22T11:59:58Z")
    #expect(
      try worker.ring(at: "2026-11-22T15:00:00Z") == [
        "ann r1 2026-11-22T07:00:00 due 2026-11-22T15:00:00Z: title",
        "ann r2 2026-11-22T07:00:00 due 2026-11-22T15:00:00Z: title",
      ])
  }

  @Test("an edit from a clock that is ahead does not swallow what is due in between")
  func clockAhead() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    let daily = Payload.reminder("r1", at: "2026-11-22T07:00", zone: "UTC", repeats: "FREQ=DAILY")
    try worker.apply(daily, at: "2026-11-21T23:00:00Z")
    try worker.set("2026-11-22T06:59:59.999Z")
    try worker.apply(daily, at: "2026-11-22T07:00:00.001Z")
    #expect(try worker.ring(at: "2026-11-22T07:00:00.002Z").count == 1)
  }

  @Test("the same local time in another zone is another time: what rang by mistake rings again")
  func otherZone() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    func set(_ zone: String, at time: String) throws {
      try worker.apply(.reminder("r1", at: "2026-11-23T07:00", zone: zone), at: time)
    }
    try set("Europe/Berlin", at: "2026-11-22T00:00:00Z")
    #expect(try worker.ring(at: "2026-11-23T06:00:00Z").count == 1)
    try set("Europe/London", at: "2026-11-23T05:59:00Z")
    #expect(try worker.ring() == ["ann r1 2026-11-23T07:00:00 withdrawn"])
    #expect(
      try worker.ring(at: "2026-11-23T07:00:00Z") == [
        "ann r1 2026-11-23T07:00:00 due 2026-11-23T07:00:00Z: title"
      ])
    // An earlier one: its event is newer than the withdrawal all the same.
    try set("Europe/Berlin", at: "2026-11-23T05:59:30Z")
    #expect(try worker.ring().count == 2)
    let versions = worker.published.map(\.version)
    #expect(versions == versions.sorted() && Set(versions.map(\.id)).count == versions.count)
  }

  @Test("what was withdrawn, set again and due before it was cancelled has rung")
  func together() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    let reminder = Payload.reminder("r1", at: "2026-11-23T07:00", zone: "UTC")
    try worker.apply(reminder, at: "2026-11-22T00:00:00Z")
    #expect(try worker.ring(at: "2026-11-23T07:02:00Z").count == 1)
    try worker.apply([
      try event(.cancellation("r1"), "2026-11-23T06:58:00Z"),
      try event(reminder, "2026-11-23T06:59:00Z"),
      try event(.cancellation("r1"), "2026-11-23T07:01:00Z"),
    ])
    #expect(
      try worker.ring() == [
        "ann r1 2026-11-23T07:00:00 due 2026-11-23T07:00:00Z: title late"
          + " 2026-11-23 07:00"
      ])
  }

  @Test("the same local time of two versions that arrive together rings once")
  func twice() throws {
    let worker = try ClockedWorker(at: "2026-11-23T09:00:00Z")
    try worker.apply([
      try event(
        .reminder("r1", at: "2026-11-23T07:00", zone: "Europe/Berlin"), "2026-11-23T05:00:00Z"),
      try event(
        .reminder("r1", at: "2026-11-23T07:00", zone: "Europe/London"), "2026-11-23T06:30:00Z"),
      try event(.cancellation("r1"), "2026-11-23T08:00:00Z"),
    ])
    #expect(try worker.ring().count == 1)
  }

  @Test(
    "what rings again as another kind is one alarm, also if nothing was published in between",
    arguments: [["F39", "F900"], ["F39", "F900", "F901"], ["F39", "F900", "F39"]])
  func otherKind(_ kinds: [String]) throws {
    let worker = try ClockedWorker(at: "2026-11-23T07:00:00Z")
    let now = try EventTime(rfc3339: "2026-11-23T07:00:00Z").microseconds
    for kind in kinds {
      let ring = Ring(
        user: "ann", reminder: "r1",
        occurrence: Occurrence(local: try LocalTime("2026-11-23T07:00"), dueAt: now), state: .rung,
        zone: "UTC", content: .init(kind: kind), partition: 0, setAt: now - 1)
      for statement in try [withdrawRings([ring], now: now), addRings([ring], now: now)] {
        _ = try worker.connection.query(statement.sql, statement.parameters)
      }
      if worker.published.isEmpty { try worker.ring() }
    }
    let lost = try worker.ringAndFail()
    try worker.ring()
    #expect(Array(worker.published.dropFirst()) == lost)
    #expect(Set(worker.published.map(\.id)).count == worker.published.count)
    var alarms: Set<String> = []
    for event in worker.published.sorted(by: { $0.version < $1.version }) {
      switch event.payload {
      case .alarmRaised(let data): alarms.insert(data.kind)
      case .alarmWithdrawn(let data): alarms.remove(data.kind)
      default: Issue.record("\(event.type)")
      }
    }
    #expect(alarms == Set(kinds.suffix(1)))
  }

  @Test("what a new zone has passed rings, however long ago that was")
  func pastBound() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z", lateBoundSeconds: 3600)
    try worker.apply(.reminder("r1", at: "2026-11-22T07:00"), at: "2026-11-22T00:00:00Z")
    try worker.apply(.zone("Asia/Seoul"), at: "2026-11-22T00:00:00Z")
    #expect(try worker.ring() == [])
    try worker.apply(.reminder("r2", at: "2026-11-22T09:30"), at: "2026-11-22T00:00:00Z")
    try worker.apply(.zone("Pacific/Kiritimati"), at: "2026-11-22T00:00:01Z")
    try worker.set("2026-11-22T00:00:01Z")
    #expect(try worker.ring().count == 1)
  }
}
