import Schedules
import TestSupport
import Testing

@Suite struct RecurrenceRuleTests {
  @Test(
    "a rule's text reads as an equal rule",
    arguments: [
      ("FREQ=DAILY", "FREQ=DAILY"),
      ("freq=daily;interval=1;wkst=mo", "FREQ=DAILY"),
      ("COUNT=10000;INTERVAL=1000;FREQ=DAILY", "FREQ=DAILY;INTERVAL=1000;COUNT=10000"),
      ("BYDAY=SU,mo,We,MO;FREQ=WEEKLY;WKST=SU", "FREQ=WEEKLY;BYDAY=MO,WE,SU;WKST=SU"),
      ("FREQ=MONTHLY;BYMONTHDAY=31,-1,+1,01", "FREQ=MONTHLY;BYMONTHDAY=-1,1,31"),
      ("FREQ=DAILY;UNTIL=20261231", "FREQ=DAILY;UNTIL=20261231T235959"),
      ("FREQ=DAILY;UNTIL=20261231T070000", "FREQ=DAILY;UNTIL=20261231T070000"),
      ("FREQ=DAILY;UNTIL=20261231t070000z", "FREQ=DAILY;UNTIL=20261231T070000Z"),
      ("FREQ=DAILY;UNTIL=99991231T235959Z", "FREQ=DAILY;UNTIL=99991231T235959Z"),
      ("FREQ=DAILY;UNTIL=00010101", "FREQ=DAILY;UNTIL=00010101T235959"),
    ])
  func roundTrip(_ text: String, _ canonical: String) throws {
    let rule = try RecurrenceRule(text)
    #expect(rule.description == canonical)
    #expect(try RecurrenceRule(canonical) == rule)
  }

  @Test(
    "other rules are errors that name the part",
    arguments: [
      ("", "rule"), (";", "rule"), ("FREQ=DAILY;", "rule"), ("FREQ", "rule"), ("FREQ=", "FREQ"),
      ("FREQ==DAILY", "rule"), ("FREQ=DAILY=", "rule"), ("FREQ=DAILY COUNT=1", "rule"),
      ("RRULE:FREQ=DAILY", "rule"), (" FREQ=DAILY", "rule"), ("INTERVAL=2", "FREQ"),
      ("FREQ=HOURLY", "FREQ"), ("FREQ=YEARLY", "FREQ"), ("FREQ=DA\u{131}LY", "FREQ"),
      ("FREQ=DAILY;FREQ=DAILY", "FREQ"), ("FREQ=DAILY;freq=WEEKLY", "FREQ"),
      ("FREQ=DAILY;BYHOUR=7", "rule"), ("FREQ=MONTHLY;BYSETPOS=-1", "rule"),
      ("FREQ=DAILY;X-MINE=1", "rule"), ("FREQ=DAILY;INTERVAL=0", "INTERVAL"),
      ("FREQ=DAILY;INTERVAL=1001", "INTERVAL"), ("FREQ=DAILY;INTERVAL=-1", "INTERVAL"),
      ("FREQ=DAILY;INTERVAL=", "INTERVAL"),
      ("FREQ=DAILY;INTERVAL=99999999999999999999", "INTERVAL"),
      ("FREQ=DAILY;INTERVAL=\u{661}", "INTERVAL"), ("FREQ=DAILY;BYDAY=MO", "BYDAY"),
      ("FREQ=MONTHLY;BYDAY=1MO", "BYDAY"), ("FREQ=WEEKLY;BYDAY=1MO", "BYDAY"),
      ("FREQ=WEEKLY;BYDAY=", "BYDAY"), ("FREQ=WEEKLY;BYDAY=MO,", "BYDAY"),
      ("FREQ=WEEKLY;BYDAY=XX", "BYDAY"), ("FREQ=WEEKLY;BYMONTHDAY=1", "BYMONTHDAY"),
      ("FREQ=MONTHLY;BYMONTHDAY=0", "BYMONTHDAY"), ("FREQ=MONTHLY;BYMONTHDAY=32", "BYMONTHDAY"),
      ("FREQ=MONTHLY;BYMONTHDAY=-32", "BYMONTHDAY"), ("FREQ=MONTHLY;BYMONTHDAY=", "BYMONTHDAY"),
      ("FREQ=MONTHLY;BYMONTHDAY=--1", "BYMONTHDAY"), ("FREQ=MONTHLY;BYMONTHDAY=001", "BYMONTHDAY"),
      ("FREQ=DAILY;WKST=1", "WKST"), ("FREQ=DAILY;UNTIL=20260229", "UNTIL"),
      ("FREQ=DAILY;UNTIL=2026-12-31", "UNTIL"), ("FREQ=DAILY;UNTIL=20261231Z", "UNTIL"),
      ("FREQ=DAILY;UNTIL=20261231T240000", "UNTIL"), ("FREQ=DAILY;UNTIL=20261231T0700", "UNTIL"),
      ("FREQ=DAILY;UNTIL=20261231T235960Z", "UNTIL"),
      ("FREQ=DAILY;UNTIL=20261231T070000+01", "UNTIL"),
      ("FREQ=DAILY;COUNT=0", "COUNT"), ("FREQ=DAILY;COUNT=10001", "COUNT"),
      ("FREQ=DAILY;COUNT=1;UNTIL=20261231", "COUNT"),
      ("FREQ=DAILY;" + String(repeating: "X", count: 502), "rule"),
    ])
  func invalid(_ text: String, _ part: String) {
    let error = #expect(throws: ScheduleError.self) { try RecurrenceRule(text) }
    #expect(error?.part == part)
    #expect((error?.message.utf8.count ?? 0) < 300)
    #expect(error?.message.unicodeScalars.allSatisfy { $0.isASCII || $0 == "…" } == true)
  }

  @Test("random texts of the rules' alphabet are errors or round-trip")
  func fuzz() throws {
    var numbers = SeededGenerator(seed: 5)
    let pieces = [
      "FREQ", "DAILY", "WEEKLY", "MONTHLY", "=", "=", ";", ";", ",", "BYDAY", "MO", "BYMONTHDAY",
      "-", "1", "31", "UNTIL", "20261231", "T", "000000", "Z", "COUNT", "INTERVAL", "WKST", "\0",
      "\u{FF}", "FREQ=DAILY", "FREQ=WEEKLY", "FREQ=MONTHLY", "COUNT=3", "BYMONTHDAY=-1",
    ]
    var read = 0
    for _ in 0..<4000 {
      let count = Int.random(in: 1...7, using: &numbers)
      let text = (0..<count).map { _ in pieces.randomElement(using: &numbers)! }.joined()
      guard let rule = try? RecurrenceRule(text) else { continue }
      read += 1
      #expect(try RecurrenceRule(rule.description) == rule)
    }
    #expect(read > 50)
  }
}
