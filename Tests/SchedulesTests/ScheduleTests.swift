import Schedules
import Testing

@Suite struct ScheduleTests {
  static func schedule(_ start: String, _ rule: String?) throws -> Schedule {
    try Schedule(start: LocalTime(start), rule: rule.map { text in try RecurrenceRule(text) })
  }

  static func first(_ count: Int, _ schedule: Schedule, in name: String = "UTC") throws -> [String]
  {
    let zone = try directory.zone(name)
    var found: [LocalTime] = []
    while found.count < count, let next = schedule.next(after: found.last, in: zone) {
      found.append(next)
    }
    return found.map(\.description)
  }

  @Test("without a rule, a schedule is its start")
  func once() throws {
    let utc = try directory.zone("UTC")
    let schedule = try Self.schedule("2026-11-23T07:00", nil)
    #expect(try Self.first(3, schedule) == ["2026-11-23T07:00:00"])
    #expect(schedule.contains(schedule.start, in: utc))
    #expect(schedule.last(notAfter: .latest, in: utc) == schedule.start)
    #expect(schedule.last(notAfter: try LocalTime("2026-11-23T06:59:59"), in: utc) == nil)
    #expect(schedule.next(after: .earliest, in: utc) == schedule.start)
    #expect(schedule.next(after: schedule.start, in: utc) == nil)
  }

  @Test(
    "the examples of RFC 5545 section 3.8.5.3",
    arguments: [
      ("1997-09-02T09:00", "FREQ=DAILY;INTERVAL=10;COUNT=5", [902, 912, 922, 1002, 1012]),
      (
        "1997-08-05T09:00", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
        [805, 810, 819, 824]
      ),
      (
        "1997-08-05T09:00", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
        [805, 817, 819, 831]
      ),
      ("1997-09-30T09:00", "FREQ=MONTHLY;BYMONTHDAY=1,-1;COUNT=5", [930, 1001, 1031, 1101, 1130]),
    ])
  func examples(_ start: String, _ rule: String, _ expected: [Int]) throws {
    // 2025 has the calendar of 1997.
    let schedule = try Self.schedule(start.replacing("1997", with: "2025"), rule)
    let dates = try Self.first(9, schedule).map { text in
      Int(text.dropFirst(5).prefix(5).filter { $0 != "-" })
    }
    #expect(dates == expected)
  }

  @Test("a start that does not match is no occurrence and is not counted")
  func mismatch() throws {
    // A Monday.
    let schedule = try Self.schedule("2026-11-23T07:00", "FREQ=WEEKLY;BYDAY=TU,SU;COUNT=3")
    #expect(
      try Self.first(5, schedule) == [
        "2026-11-24T07:00:00", "2026-11-29T07:00:00", "2026-12-01T07:00:00",
      ])
  }

  @Test("months without the day are skipped, also for decades")
  func skipped() throws {
    let monthly = try Self.schedule("2027-01-31T07:00", "FREQ=MONTHLY")
    #expect(
      try Self.first(3, monthly) == [
        "2027-01-31T07:00:00", "2027-03-31T07:00:00", "2027-05-31T07:00:00",
      ])
    let leap = try Self.schedule("2096-02-29T07:00", "FREQ=MONTHLY;INTERVAL=12")
    #expect(try Self.first(2, leap) == ["2096-02-29T07:00:00", "2104-02-29T07:00:00"])
    let never = try Self.schedule("2026-02-01T07:00", "FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=30,-30")
    #expect(try Self.first(1, never) == [])
    #expect(never.last(notAfter: .latest, in: try directory.zone("UTC")) == nil)
  }

  @Test(
    "a count of months ends on its day, also with many days a month, or never",
    arguments: [
      ("2000-01-01T07:00", 5, "2000-02-01T07:00"), ("2000-01-03T07:00", 5, "2000-02-03T07:00"),
      ("2000-01-01T07:00", 9_599, "2199-12-03T07:00"),
      ("2000-01-01T07:00", 9_600, "2199-12-04T07:00"),
      ("2000-01-01T07:00", 10_000, "2199-12-04T07:00"),
    ])
  func counted(_ start: String, _ count: Int, _ expected: String) throws {
    let schedule = try Self.schedule(start, "FREQ=MONTHLY;BYMONTHDAY=1,2,3,4;COUNT=\(count)")
    let (utc, last) = (try directory.zone("UTC"), try LocalTime(expected))
    #expect(schedule.last(notAfter: .latest, in: utc) == last)
    #expect(schedule.next(after: LocalTime(seconds: last.seconds - 1), in: utc) == last)
    #expect(schedule.next(after: last, in: utc) == nil)
  }

  @Test("an end in UTC is compared with the instant, in the zone")
  func until() throws {
    // 07:00 in Tokyo is 22:00Z of the day before.
    let schedule = try Self.schedule(
      "2026-11-23T07:00", "FREQ=DAILY;UNTIL=20261123T220000Z")
    #expect(try Self.first(9, schedule, in: "Asia/Tokyo").count == 2)
    #expect(try Self.first(9, schedule, in: "UTC").count == 1)
    // The clocks go back from 02:00 to 01:00, and 01:30 is due the first time, at 05:30Z.
    let twice = try Self.schedule("2026-11-01T01:30", "FREQ=DAILY;UNTIL=20261101T053000Z")
    #expect(try Self.first(9, twice, in: "America/New_York").count == 1)
  }

  @Test("no occurrence is after the year 2199, and no start outside two centuries")
  func century() throws {
    let utc = try directory.zone("UTC")
    let daily = try Self.schedule("2026-11-23T07:00", "FREQ=DAILY")
    let newest = try LocalTime("2199-12-31T07:00")
    #expect(daily.last(notAfter: LocalTime(seconds: .max), in: utc) == newest)
    #expect(daily.next(after: newest, in: utc) == nil)
    #expect(daily.next(after: LocalTime(seconds: .max), in: utc) == nil)
    #expect(daily.next(after: LocalTime(seconds: .min), in: utc) == daily.start)
    #expect(daily.last(notAfter: LocalTime(seconds: .min), in: utc) == nil)
    for rule in ["FREQ=WEEKLY;INTERVAL=1000", "FREQ=MONTHLY;INTERVAL=1000;BYMONTHDAY=-1"] {
      let schedule = try Self.schedule("2199-12-01T07:00", rule)
      #expect(schedule.next(after: LocalTime(seconds: .max), in: utc) == nil)
      #expect(try Self.first(9, schedule).count == 1)
    }
    for seconds in [Int64.min, LocalTime.earliest.seconds - 1, LocalTime.latest.seconds + 1, .max] {
      #expect(throws: ScheduleError.self) { try Schedule(start: LocalTime(seconds: seconds)) }
    }
  }
}
