import Events
import TestSupport
import Testing

@testable import Reminders

@Suite("Cycles")
struct CycleTests {
  /// What rings from `start` on, looking once a minute.
  private func rings(_ worker: ClockedWorker, from start: String, minutes: Int) throws -> [Event] {
    let first = try EventTime(rfc3339: start).microseconds
    let before = worker.published.count
    for minute in 0..<minutes {
      worker.set(EventTime(microseconds: first + Int64(minute) * 60_000_000))
      try worker.ring()
    }
    return Array(worker.published[before...])
  }

  private func titles(_ events: [Event]) -> [String] {
    events.compactMap {
      if case .alarmRaised(let data) = $0.payload { data.arguments["text"] } else { nil }
    }
  }

  @Test("every item is shown before one is shown again, at moments within the window")
  func items() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .cycle(
        "c", items: ["a", "b", "c", "d"], from: "09:00", to: "11:00", zone: "Asia/Seoul", times: 3),
      at: "2026-11-21T23:00:00Z")
    var shown: [String] = []
    for day in 22...29 {
      // 09:00 to 11:00 in Seoul.
      let events = try rings(worker, from: "2026-11-\(day)T00:00:00Z", minutes: 122)
      #expect(events.count == 3)
      shown += titles(events)
      for event in events {
        #expect((0...7200).contains(event.time.microseconds / 1_000_000 % 86_400))
      }
    }
    #expect(shown.count == 24)
    for round in stride(from: 0, to: 24, by: 4) {
      #expect(Set(shown[round..<round + 4]).count == 4)
    }
    #expect(try rings(worker, from: "2026-11-30T03:00:00Z", minutes: 60).isEmpty)
  }

  @Test("adding and removing items keeps what the others have shown")
  func changedItems() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    func cycle(_ items: [String]) -> Payload {
      .cycle("c", items: items, from: "00:00", to: "01:00", zone: "UTC", times: 2)
    }
    try worker.apply(cycle(["a", "b", "c"]), at: "2026-11-21T23:00:00Z")
    let first = titles(try rings(worker, from: "2026-11-22T00:00:00Z", minutes: 62))
    #expect(Set(first).count == 2)
    try worker.set("2026-11-22T12:00:00Z")
    let removed = try #require(first.first?.last.map(String.init))
    let kept = ["a", "b", "c"].filter { $0 != removed }
    try worker.apply(cycle(kept + ["d"]), at: "2026-11-22T12:00:00Z")
    let second = titles(try rings(worker, from: "2026-11-23T00:00:00Z", minutes: 62))
    #expect(second.count == 2 && Set(second).isDisjoint(with: first))
  }

  @Test("items are told apart by their bytes")
  func equivalentItems() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.apply(
      .cycle(
        "c", items: ["\u{e9}", "e\u{301}"], from: "00:00", to: "01:00", zone: "UTC", times: 2),
      at: "2026-11-21T23:00:00Z")
    let shown = titles(try rings(worker, from: "2026-11-22T00:00:00Z", minutes: 62))
    #expect(Set(shown.map { Array($0.utf8) }).count == 2)
  }

  @Test("a cycle that is moved to a zone further west goes on with the items of its round")
  func movedWest() throws {
    let worker = try ClockedWorker(at: "2026-11-21T00:00:00Z")
    func set(zone: String, from: String, to: String, at time: String) throws {
      try worker.set(time)
      try worker.apply(
        .cycle("c", items: ["a", "b", "c", "d", "e"], from: from, to: to, zone: zone, times: 60),
        at: time)
    }
    try set(zone: "Pacific/Kiritimati", from: "10:00", to: "12:00", at: "2026-11-21T00:00:00Z")
    var events = try rings(worker, from: "2026-11-21T20:00:00Z", minutes: 121)
    try set(zone: "Pacific/Pago_Pago", from: "11:10", to: "13:10", at: "2026-11-21T22:05:00Z")
    events += try rings(worker, from: "2026-11-21T22:10:00Z", minutes: 21)
    let shown = titles(events.sorted { $0.version < $1.version })
    #expect(shown.count == 70)
    for round in stride(from: 0, to: shown.count, by: 5) {
      #expect(Set(shown[round..<min(round + 5, shown.count)]).count == 5)
    }
  }

  @Test("moments depend on the person, and another secret gives others")
  func moments() throws {
    var seen: Set<[Int64]> = []
    for user in ["ann", "bo"] {
      let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
      try worker.apply(
        .cycle("c", of: user, items: ["a"], from: "00:00", to: "24:00", zone: "UTC", times: 2),
        at: "2026-11-21T00:00:00Z")
      let rows = try worker.admin.query(
        "SELECT due_at FROM reminder_page($1, NULL, 1)", [.text(user)])
      seen.insert(try rows.map { try $0.timestamptz(0) })
    }
    #expect(seen.count == 2)
  }

  @Test(
    "a cycle that cannot be rung is refused with the reason",
    arguments: [("00:00", "00:01", 5), ("09:00", "09:02", 100)])
  func refused(from: String, to: String, times: Int32) throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    #expect(throws: EventError.self) {
      try worker.apply(
        .cycle("c", items: ["a"], from: from, to: to, zone: "UTC", times: times),
        at: "2026-11-22T00:00:00Z")
    }
  }
}
