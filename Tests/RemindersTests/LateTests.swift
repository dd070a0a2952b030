import Events
import TestSupport
import Testing

@testable import Reminders

@Suite("After downtime")
struct LateTests {
  @Test("a reminder rings late and says when it was due; beyond the bound it is missed")
  func oneShots() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z", lateBoundSeconds: 3600)
    for (id, time) in [("r1", "05:59"), ("r2", "06:01"), ("r3", "06:59:30")] {
      try worker.apply(
        .reminder(id, at: "2026-11-23T\(time)", zone: "UTC"), at: "2026-11-22T00:00:00Z")
    }
    #expect(
      try worker.ring(at: "2026-11-23T07:00:00Z") == [
        "ann r2 2026-11-23T06:01:00 due 2026-11-23T06:01:00Z: title late 2026-11-23 06:01",
        "ann r3 2026-11-23T06:59:30 due 2026-11-23T06:59:30Z: title",
      ])
    let missed = try worker.admin.query(
      "SELECT reminder_id FROM reminder_history('ann', NULL, 10) WHERE state = 'missed'")
    #expect(try missed.map { try $0.text(0) } == ["r1"])
  }

  @Test("an instant says in the person's zone when it was due")
  func instants() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(.zone("Asia/Seoul"), at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", instant: "2026-11-23T07:00:00+09:00"), at: "2026-11-22T00:00:00Z")
    #expect(
      try worker.ring(at: "2026-11-22T22:02:00Z") == [
        "ann r1 2026-11-22T22:00:00 due 2026-11-22T22:00:00Z: title late 2026-11-23 07:00"
      ])
  }

  @Test("of a repeating reminder, only the latest missed occurrence rings")
  func repeating() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", at: "2026-11-22T07:00", zone: "UTC", repeats: "FREQ=DAILY"),
      at: "2026-11-22T00:00:00Z")
    #expect(try worker.ring(at: "2026-11-22T07:00:00Z").count == 1)
    #expect(
      try worker.ring(at: "2026-11-26T06:00:00Z") == [
        "ann r1 2026-11-25T07:00:00 due 2026-11-25T07:00:00Z: title late 2026-11-25 07:00"
      ])
    #expect(try worker.ring(at: "2026-11-26T07:00:00Z").count == 1)
  }

  @Test("events that arrive together ring what each of them had made due")
  func caughtUp() throws {
    let worker = try ClockedWorker(at: "2026-11-24T00:00:00Z")
    func event(_ payload: Payload, _ time: String) throws -> Event {
      Event(id: time, source: "test", time: try EventTime(rfc3339: time), payload: payload)
    }
    try worker.apply([
      try event(.cancellation("r1"), "2026-11-23T12:00:00Z"),
      try event(
        .reminder("r1", "second", at: "2026-11-23T10:00", zone: "UTC"), "2026-11-23T08:00:00Z"),
      try event(
        .reminder("r1", "first", at: "2026-11-23T07:00", zone: "UTC"), "2026-11-23T00:00:00Z"),
    ])
    #expect(
      try worker.ring() == [
        "ann r1 2026-11-23T07:00:00 due 2026-11-23T07:00:00Z: first late 2026-11-23 07:00",
        "ann r1 2026-11-23T10:00:00 due 2026-11-23T10:00:00Z: second late 2026-11-23 10:00",
      ])
  }

  @Test("a cycle's missed moments do not ring")
  func cycles() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .cycle("c", items: ["a", "b"], from: "09:00", to: "21:00", zone: "UTC", times: 3),
      at: "2026-11-22T00:00:00Z")
    #expect(try worker.ring(at: "2026-11-25T23:00:00Z") == [])
  }

  @Test("a clock that is set back rings nothing again")
  func setBack() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .reminder("r1", at: "2026-11-22T07:00", zone: "UTC", repeats: "FREQ=DAILY"),
      at: "2026-11-22T00:00:00Z")
    #expect(try worker.ring(at: "2026-11-23T08:00:00Z").count == 1)
    #expect(try worker.ring(at: "2026-11-22T06:00:00Z") == [])
    #expect(try worker.ring(at: "2026-11-23T07:30:00Z") == [])
    #expect(try worker.ring(at: "2026-11-24T07:00:00Z").count == 1)
  }

  @Test("what has not rung a minute after it was due is counted as overdue")
  func overdue() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.admin.script(
      """
      INSERT INTO consumer_offsets (consumer_group, topic, partition, next_offset, owner_epoch)
      VALUES ('magpie.reminder', 'magpie.reminders', 0, 0, 1), ('magpie.reminder', 'magpie.reminders', 1, 0, 1)
      """)
    try worker.apply(
      .reminder("r1", at: "2026-11-23T07:00", zone: "UTC"), at: "2026-11-22T00:00:00Z")
    try worker.set("2026-11-23T07:00:59Z")
    #expect(try worker.overdue() == 0)
    try worker.set("2026-11-23T07:01:00Z")
    #expect(try worker.overdue() == 1)
    try worker.ring()
    #expect(try worker.overdue() == 0)
  }
}
