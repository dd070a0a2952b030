import Events
import Schedules
import TestSupport
import Testing

@testable import Reminders

@Suite("What is refused, and what people may have")
struct RefusalTests {
  @Test(
    "an event that cannot be rung is refused, and names the field",
    arguments: [
      (Payload.reminder("r", at: "2026-11-23T07:00", zone: "Mars/Olympus"), "zone"),
      (.reminder("r", at: "2026-11-23T07:00", zone: "UTC", repeats: "FREQ=YEARLY"), "repeat"),
      (
        .reminderSet(
          .with {
            ($0.user, $0.reminder, $0.title, $0.at) = ("ann", "r", "t", "2026-11-23T07:00")
            $0.kind = "like"
          }), "kind"
      ),
      (.zone("Mars/Olympus"), "zone"),
    ])
  func refused(_ payload: Payload, _ field: String) throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    let error = #expect(throws: EventError.self) {
      try worker.apply(payload, at: "2026-11-22T00:00:00Z")
    }
    #expect(error?.field == field)
    #expect(try worker.admin.query("SELECT FROM reminders").count == 0)
  }

  @Test("the years, rules and windows that a reminder may have are those that producing.md lists")
  func documentedBounds() throws {
    let time = try EventTime(rfc3339: "2026-11-22T00:00:00Z")
    func check(_ payload: Payload) throws {
      let event = Event(id: "e", source: "test", time: time, payload: payload)
      _ = try EventCodec.encode(event)
      try checkForReminders(event, kinds: .builtIn, zones: ZoneDirectory())
    }
    func at(_ local: String, _ rule: String = "") -> Payload {
      .reminder("r", at: local, zone: "UTC", repeats: rule)
    }
    func window(_ from: String, _ to: String, _ times: Int32, _ period: String = "") -> Payload {
      .cycle("c", items: ["a"], from: from, to: to, times: times, period: period)
    }
    let start = "2026-11-23T07:00"
    let accepted: [Payload] = [
      at("2000-01-01T00:00"), at("2199-12-31T23:59:59"),
      .reminder("r", instant: "2000-01-01T00:00:00Z"),
      .reminder("r", instant: "2200-01-01T08:59:59+09:00"),
      at(start, "COUNT=10000;INTERVAL=1000;FREQ=DAILY"),
      at(start, "FREQ=WEEKLY;BYDAY=MO,SU;WKST=SU"),
      at(start, "FREQ=MONTHLY;BYMONTHDAY=1,31,-1,-31"), at(start, "FREQ=DAILY;UNTIL=20261231"),
      at(start, "FREQ=DAILY;UNTIL=20261231T235959"), at(start, "FREQ=DAILY;UNTIL=20261231T235959Z"),
      window("09:00", "10:40", 100), window("23:00", "00:40", 100),
      window("09:00", "09:15", 100, "week"), window("00:00", "24:00", 1),
    ]
    for payload in accepted {
      #expect(throws: Never.self, "\(payload)") { try check(payload) }
    }
    let refused: [Payload] = [
      at("1999-12-31T23:59:59"), at("2200-01-01T00:00"),
      .reminder("r", instant: "1999-12-31T23:59:59Z"),
      .reminder("r", instant: "2199-12-31T23:59:59.5Z"),
      at(start, "FREQ=YEARLY"), at(start, "FREQ=DAILY;INTERVAL=1001"),
      at(start, "FREQ=DAILY;BYDAY=MO"), at(start, "FREQ=WEEKLY;BYDAY=1MO"),
      at(start, "FREQ=WEEKLY;BYMONTHDAY=1"), at(start, "FREQ=MONTHLY;BYMONTHDAY=32"),
      at(start, "FREQ=DAILY;COUNT=10001"), at(start, "FREQ=DAILY;COUNT=1;UNTIL=20261231"),
      window("09:00", "10:39", 100), window("23:00", "00:39", 100),
      window("09:00", "09:14", 100, "week"), window("09:00", "09:00", 1),
      .pushPreferences(
        .with { ($0.user, $0.quietFrom, $0.quietUntil) = ("ann", "22:00", "22:00") }),
    ]
    for payload in refused {
      #expect(throws: EventError.self, "\(payload)") { try check(payload) }
    }
  }

  @Test("a reminder whose zone is lost does not stop the others, and a new zone rings it again")
  func lostZone() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    for id in ["r1", "r2"] {
      try worker.apply(
        .reminder(id, at: "2026-11-23T07:00", zone: "UTC"), at: "2026-11-22T00:00:00Z")
    }
    try worker.admin.script(
      "UPDATE reminders SET zone = 'Mars/Olympus' WHERE reminder_id = 'r1'")
    #expect(
      try worker.ring(at: "2026-11-23T07:00:00Z") == [
        "ann r2 2026-11-23T07:00:00 due 2026-11-23T07:00:00Z: title"
      ])
    try worker.apply(
      .reminder("r1", at: "2026-11-23T08:00", zone: "UTC"), at: "2026-11-23T07:30:00Z")
    #expect(try worker.ring(at: "2026-11-23T08:00:00Z").count == 1)
  }

  @Test("a person may have a thousand reminders to come; those that have rung do not count")
  func thousand() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    func set(_ numbers: Range<Int>, day: Int = 23) throws {
      try worker.apply(
        numbers.map {
          Event(
            id: "\($0)", source: "test", time: try EventTime(rfc3339: "2026-11-22T00:00:00Z"),
            payload: .reminder("r\($0)", at: "2026-11-\(day)T07:00", zone: "UTC"))
        })
    }
    try set(0..<1000)
    let error = #expect(throws: EventError.self) { try set(1000..<1001) }
    #expect(error?.code == .quota, "one person must not stop the worker for everybody")
    try worker.apply(.cancellation("r5"), at: "2026-11-22T01:00:00Z")
    try set(1000..<1001)
    #expect(throws: EventError.self) { try set(1001..<1002) }
    #expect(try worker.ring(at: "2026-11-23T07:00:00Z").count == 1000)
    try set(1001..<2001, day: 24)
  }

  @Test("a rebuild applies whatever the worker did, whatever has rung meanwhile")
  func thousandRebuilt() throws {
    func events(_ numbers: Range<Int>, _ local: String, _ time: String, repeats: String = "")
      throws -> [Event]
    {
      try numbers.map {
        Event(
          id: "\($0)", source: "test", time: try EventTime(rfc3339: time),
          payload: .reminder("r\($0)", at: local, zone: "UTC", repeats: repeats))
      }
    }
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    let rebuilt = try ClockedWorker(at: "2026-11-26T00:00:00Z")
    let batches = try [
      events(0..<700, "2026-11-23T07:00", "2026-11-22T00:00:00Z"),
      events(
        700..<800, "2026-11-22T07:00", "2026-11-22T00:00:00Z", repeats: "FREQ=DAILY;COUNT=2"),
      events(800..<1490, "2026-11-24T07:00", "2026-11-23T08:00:00Z"),
      events(1490..<1500, "2026-11-27T07:00", "2026-11-23T08:00:00Z"),
    ]
    for batch in batches {
      try worker.set(try #require(batch.first).time.rfc3339)
      try worker.ring()
      try worker.apply(batch)
      try rebuilt.apply(batch)
    }
    for each in [worker, rebuilt] {
      _ = try each.ring(at: "2026-11-26T00:00:00Z")
      #expect(
        try each.admin.query("SELECT FROM reminder_page('ann', NULL, 50)").count == 10)
    }
  }

  @Test(
    "whoever came to have more than a thousand may change them, also in a rebuild, but add none")
  func moreThanThousand() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    let rebuilt = try ClockedWorker(at: "2026-11-24T00:00:00Z")
    func event(_ id: String, _ local: String, at time: String, repeats: String = "") throws -> Event
    {
      Event(
        id: "\(id) \(time)", source: "test", time: try EventTime(rfc3339: time),
        payload: .reminder(id, at: local, zone: "UTC", repeats: repeats))
    }
    let set = "2026-11-22T00:00:00Z"
    try worker.apply(
      [event("again", "2026-11-22T07:00", at: set, repeats: "FREQ=DAILY;COUNT=5")]
        + (1...999).map { try event("r\($0)", "2026-12-30T07:00", at: set) })
    // It is due, so it does not count.
    try worker.set("2026-11-22T07:00:01Z")
    try worker.apply([event("r1000", "2026-12-30T07:00", at: "2026-11-22T07:00:01Z")])
    #expect(try worker.ring().count == 1)
    #expect(throws: EventError.self) {
      try worker.apply([event("r1001", "2026-12-30T07:00", at: "2026-11-22T07:00:02Z")])
    }
    #expect(throws: EventError.self) {
      try worker.apply([
        event("r1001", "2026-12-30T07:00", at: "2026-11-22T07:00:02Z"),
        event("r1001", "2026-12-31T07:00", at: "2026-11-22T07:00:03Z"),
      ])
    }
    let changes = try [
      event("r5", "2026-12-31T07:00", at: "2026-11-22T08:00:00Z"),
      event("again", "2026-12-31T07:00", at: "2026-11-22T08:00:00Z", repeats: "FREQ=DAILY;COUNT=2"),
    ]
    for change in changes { try worker.apply([change]) }

    try rebuilt.apply(
      [event("again", "2026-11-22T07:00", at: set, repeats: "FREQ=DAILY;COUNT=5")]
        + (1...999).map { try event("r\($0)", "2026-12-30T07:00", at: set) })
    try rebuilt.apply([event("r1000", "2026-12-30T07:00", at: "2026-11-22T07:00:01Z")])
    for change in changes { try rebuilt.apply([change]) }
    let rows =
      "SELECT string_agg(concat_ws(' ', reminder_id, version_id), ',' ORDER BY reminder_id) FROM reminders"
    #expect(
      try worker.admin.query(rows).only.text(0) == rebuilt.admin.query(rows).only.text(0))
  }

  @Test("what repeats without an end is to come, whether or not it has rung")
  func thousandEndless() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    let time = try EventTime(rfc3339: "2026-11-22T00:00:00Z")
    for number in 0..<1000 {
      let payload: Payload =
        number % 100 == 0
        ? .cycle("r\(number)", items: ["a"], from: "09:00", to: "10:00", zone: "UTC", times: 1)
        : .reminder("r\(number)", at: "2026-11-22T07:00", zone: "UTC", repeats: "FREQ=DAILY")
      try worker.apply([Event(id: "\(number)", source: "test", time: time, payload: payload)])
    }
    try worker.set("2026-11-25T00:00:00Z")
    #expect(throws: EventError.self) {
      try worker.apply(
        .reminder("more", at: "2026-11-26T07:00", zone: "UTC"), at: "2026-11-25T00:00:00Z")
    }
  }

  @Test("pages show what is to come, the soonest first, and what rang, the newest first")
  func pages() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    for number in 1...7 {
      try worker.apply(
        .reminder(
          "r\(number)", at: "2026-11-23T0\(number):00", zone: "UTC",
          repeats: number == 7 ? "FREQ=DAILY" : ""),
        at: "2026-11-22T00:00:00Z")
    }
    func pages(_ function: String) throws -> [String] {
      var cursor: String?
      var ids: [String] = []
      while true {
        let rows = try worker.admin.query(
          "SELECT reminder_id, cursor FROM \(function)('ann', $1, 3)", [.text(cursor)])
        ids += try rows.map { try $0.text(0) }
        guard let last = try rows.map({ try $0.text(1) }).last else { return ids }
        cursor = last
      }
    }
    #expect(try pages("reminder_page") == ["r1", "r2", "r3", "r4", "r5", "r6", "r7"])
    #expect(try pages("reminder_history") == [])
    try worker.set("2026-11-23T07:00:00Z")
    try worker.ring()
    #expect(try pages("reminder_page") == ["r7"])
    #expect(try pages("reminder_history") == ["r7", "r6", "r5", "r4", "r3", "r2", "r1"])
  }

  @Test("reminders are paged to the last of the years that they may be in")
  func lastYears() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    let times = ["2112-09-17T00:00", "2112-09-18T00:00", "2199-12-31T22:00", "2199-12-31T23:00"]
    for (number, time) in times.enumerated() {
      try worker.apply(.reminder("r\(number)", at: time, zone: "UTC"), at: "2026-11-22T00:00:00Z")
    }
    var cursor: String?
    for number in times.indices {
      let row = try worker.admin.query(
        "SELECT reminder_id, cursor FROM reminder_page('ann', $1, 1)", [.text(cursor)]
      ).only
      #expect(try row.text(0) == "r\(number)")
      cursor = try row.text(1)
    }
  }

  @Test("a page of what rang reads as little as it shows, also of somebody for whom much has rung")
  func historyCost() throws {
    let worker = try ClockedWorker(at: "2026-11-22T00:00:00Z")
    try worker.admin.script(
      """
      INSERT INTO reminder_rings (
        user_id, reminder_id, occurrence, state, due_at, zone, decided_at, content, partition, is_published)
      SELECT p.user_id, 'r', t.at, 'rung', t.at AT TIME ZONE 'UTC', 'UTC', now(), '{}', 0, true
      FROM generate_series(1, 10000) g
      CROSS JOIN LATERAL (SELECT timestamp '2024-01-01' + g * interval '1 hour' AS at) t
      CROSS JOIN LATERAL (VALUES ('ann'), ('u' || g)) p (user_id);
      ANALYZE reminder_rings;
      """)
    let read = try worker.admin.blocksTouched(by: "SELECT * FROM reminder_history('ann', NULL, 20)")
    #expect(read < 50, "\(read)")
  }
}
