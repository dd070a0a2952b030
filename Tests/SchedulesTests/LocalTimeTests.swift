import Schedules
import Testing

@Suite struct LocalTimeTests {
  @Test(
    "texts round-trip",
    arguments: [
      "2000-01-01T00:00:00", "2026-11-23T07:00:30", "2028-02-29T23:59:59", "2100-02-28T12:00:00",
      "2199-12-31T23:59:59",
    ])
  func roundTrip(_ text: String) throws {
    #expect(try LocalTime(text).description == text)
  }

  @Test("seconds may be left out")
  func short() throws {
    #expect(try LocalTime("2026-11-23T07:00").description == "2026-11-23T07:00:00")
  }

  @Test(
    "other texts are errors",
    arguments: [
      "", "2026-11-23", "2026-11-23T07", "2026-11-23T07:00Z", "2026-11-23T07:00:30Z",
      "2026-11-23 07:00", "2026-11-23t07:00", "2026-11-23T24:00", "2026-11-23T07:60",
      "2026-11-23T07:00:60", "2026-13-01T07:00", "2026-00-01T07:00", "2026-02-29T07:00",
      "2100-02-29T07:00", "2026-04-31T07:00", "2026-04-00T07:00", "1999-12-31T23:59",
      "2200-01-01T00:00", "2026-11-23T07:00:30.5", "2026-11-23T07:00+01", " 2026-11-23T07:00",
      "2026-11-23T07:00 ", "2026-11-23T07:00:", "+026-11-23T07:00", "2026-11-23T-7:00",
      "\u{662}026-11-23T07:00", "2026-11-23T07:00\0\0\0", String(repeating: "2", count: 1000),
    ])
  func invalid(_ text: String) {
    let error = #expect(throws: ScheduleError.self) { try LocalTime(text) }
    #expect((error?.description.utf8.count ?? 0) < 400)
  }

  @Test("every day of two centuries follows the one before")
  func calendar() throws {
    var expected = (year: 2000, month: 1, day: 1)
    var weekday = Weekday.saturday
    let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    for day in LocalTime.earliest.day...LocalTime.latest.day {
      let time = LocalTime(day: day, secondsOfDay: 86_399)
      guard time.date == expected, time.weekday == weekday, time.secondsOfDay == 86_399,
        time.day == day,
        LocalTime(year: expected.year, month: expected.month, day: expected.day)?.day == day
      else {
        Issue.record("\(time) instead of \(expected), \(weekday)")
        return
      }
      let isLeap = expected.year % 4 == 0 && expected.year != 2100
      expected.day += 1
      if expected.day > lengths[expected.month - 1] + (isLeap && expected.month == 2 ? 1 : 0) {
        expected = (expected.year, expected.month + 1, 1)
      }
      if expected.month > 12 { expected = (expected.year + 1, 1, 1) }
      weekday = Weekday(rawValue: weekday.rawValue % 7 + 1)!
    }
    #expect(expected == (2200, 1, 1))
  }

  @Test("the ends of 64 bits do not trap")
  func extremes() {
    for seconds in [Int64.min, -1, 0, .max] {
      let time = LocalTime(seconds: seconds)
      #expect(Int64(time.day) &* 86_400 &+ Int64(time.secondsOfDay) == seconds)
      #expect(!time.description.isEmpty)
      _ = time.weekday
    }
    #expect(LocalTime(day: .max, secondsOfDay: .max) > LocalTime.latest)
    #expect(LocalTime(day: .min, secondsOfDay: .min) < LocalTime.earliest)
    #expect(LocalTime(seconds: -1).description == "1969-12-31T23:59:59")
  }
}
