import Schedules
import TestSupport
import Testing

@testable import Verification

@Suite struct OccurrencesByDayTests {
  @Test("the next occurrence by day is the worker's, for generated rules")
  func agreement() throws {
    var numbers = SeededGenerator()
    func some(_ list: [String]) -> String {
      let count = Int.random(in: 1...3, using: &numbers)
      return list.shuffled(using: &numbers).prefix(count).joined(separator: ",")
    }
    let utc = try ZoneDirectory().zone("UTC")
    let days = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
    for _ in 0..<250 {
      let start = LocalTime(
        day: .random(in: 18_000..<24_000, using: &numbers),
        secondsOfDay: .random(in: 0..<86_400, using: &numbers))
      var rule = ""
      switch Int.random(in: 0..<4, using: &numbers) {
      case 0: break
      case 1: rule = "FREQ=DAILY"
      case 2: rule = "freq=Weekly;WKST=\(some(days).prefix(2));BYDAY=\(some(days))"
      default:
        rule = "FREQ=MONTHLY;BYMONTHDAY=\(some((-31...31).filter { $0 != 0 }.map(String.init)))"
      }
      if !rule.isEmpty {
        rule +=
          ["", ";INTERVAL=\(Int.random(in: 1...30, using: &numbers))"].randomElement(
            using: &numbers) ?? ""
        let end = LocalTime(seconds: start.seconds + .random(in: 0..<300_000_000, using: &numbers))
        let date = end.description.filter { $0 != "-" && $0 != ":" }
        rule +=
          [
            "", ";COUNT=\(Int.random(in: 1...20, using: &numbers))", ";UNTIL=\(date)",
            ";UNTIL=\(date.prefix(8))",
          ]
          .randomElement(using: &numbers) ?? ""
      }
      let schedule = try Schedule(start: start, rule: rule.isEmpty ? nil : RecurrenceRule(rule))
      let byDay = OccurrencesByDay(start: start.seconds, rule: rule.isEmpty ? nil : rule)
      var time = LocalTime(seconds: start.seconds - .random(in: 0..<100_000, using: &numbers))
      for _ in 0..<6 {
        let next = schedule.next(after: time, in: utc)
        #expect(byDay.next(after: time.seconds) == next?.seconds, "\(start) \(rule) after \(time)")
        time = LocalTime(
          seconds: max(time.seconds, next?.seconds ?? 0)
            + .random(in: 0..<9_000_000, using: &numbers))
      }
    }
  }
}
