import Events
import Postgres

/// The reminders and digests whose next occurrence is not the first after those that were decided on.
///
/// Not checked: what a worker is about to decide on; cycles, whose moments depend on the workers' secret; rules that
/// end at an instant, which depend on the zone; and what waits for the data of its zone, not until a whole second.
func missedOccurrences(
  _ connection: Connection, found report: (Difference) -> Void
) throws {
  func seconds(_ time: String) -> String { "extract(epoch FROM \(time))::bigint" }
  try connection.query(
    """
    DECLARE next_occurrences NO SCROLL CURSOR FOR
    SELECT r.user_id, r.reminder_id,
      \(seconds("(CASE r.definition ->> 'form' WHEN 'digest' THEN '2000-01-03 ' ELSE '' END || (r.definition ->> 'at'))::timestamp")),
      r.definition ->> 'repeats', \(seconds("r.decided_through")), \(seconds("r.next_at"))
    FROM reminders r
    WHERE r.definition ->> 'at' IS NOT NULL AND (r.due_at > now()) IS NOT FALSE
      AND (date_trunc('second', r.due_at) = r.due_at) IS NOT FALSE
      AND (r.definition ->> 'repeats' ~* 'UNTIL=[0-9T]*Z') IS NOT TRUE
    """)
  while case let rows = try connection.query("FETCH 500 FROM next_occurrences"), !rows.isEmpty {
    for row in rows {
      let days = OccurrencesByDay(start: try row.int8(2), rule: try row.textOrNil(3))
      let (expected, found) = (days.next(after: try row.int8(4)), try row.int8OrNil(5))
      guard expected != found else { continue }
      func text(_ seconds: Int64?) -> String? {
        seconds.map { String(EventTime(microseconds: $0 * 1_000_000).rfc3339.dropLast()) }
      }
      report(
        Difference(
          table: "reminders", kind: .different, person: try row.text(0), key: [try row.text(1)],
          columns: [("next_at", text(expected), text(found))]))
    }
  }
  try connection.query("CLOSE next_occurrences")
}

/// The occurrences of a rule that the worker accepts, found day by day. Shares no code with the worker. Times are
/// local, in seconds since 1970-01-01T00:00:00.
struct OccurrencesByDay {
  private let start: Int
  /// Empty: only the start.
  private var rule: [String: String] = [:]

  init(start: Int64, rule: String?) {
    self.start = Int(start)
    for part in (rule ?? "").uppercased().split(separator: ";") {
      let sides = part.split(separator: "=").map(String.init)
      if sides.count == 2 { self.rule[sides[0]] = sides[1] }
    }
  }

  func next(after time: Int64) -> Int64? {
    guard !rule.isEmpty else { return start > time ? Int64(start) : nil }
    let count = rule["COUNT"].flatMap(Int.init)
    let first = count == nil ? max(start / 86_400, Int(time) / 86_400) : start / 86_400
    var number = 0
    for day in first..<max(first, CivilDate(year: 2200, month: 1, day: 1).dayNumber)
    where isSelected(day) {
      number += 1
      if let count, number > count { return nil }
      let local = day * 86_400 + start % 86_400
      if local > time { return isBeforeEnd(local) ? Int64(local) : nil }
    }
    return nil
  }

  private func isSelected(_ day: Int) -> Bool {
    let first = start / 86_400
    let interval = rule["INTERVAL"].flatMap(Int.init) ?? 1
    // 1970-01-01 was a Thursday.
    func weekday(_ day: Int) -> String { ["TH", "FR", "SA", "SU", "MO", "TU", "WE"][day % 7] }
    func list(_ name: String, else only: String) -> [String] {
      rule[name]?.split(separator: ",").map(String.init) ?? [only]
    }
    switch rule["FREQ"] {
    case "DAILY": return (day - first) % interval == 0
    case "WEEKLY":
      func week(_ day: Int) -> Int {
        (0..<7).first { weekday(day - $0) == rule["WKST"] ?? "MO" }.map { day - $0 } ?? day
      }
      return list("BYDAY", else: weekday(first)).contains(weekday(day))
        && (week(day) - week(first)) / 7 % interval == 0
    default:
      let (date, begin) = (CivilDate(dayNumber: day), CivilDate(dayNumber: first))
      let months = (date.year - begin.year) * 12 + date.month - begin.month
      let fromEnd = date.day - CivilDate.days(inMonth: date.month, of: date.year) - 1
      let wanted = list("BYMONTHDAY", else: "\(begin.day)").compactMap { Int($0) }
      return months % interval == 0 && (wanted.contains(date.day) || wanted.contains(fromEnd))
    }
  }

  private func isBeforeEnd(_ local: Int) -> Bool {
    guard let until = rule["UNTIL"] else { return true }
    let time = EventTime(microseconds: Int64(local) * 1_000_000).rfc3339.filter(\.isNumber)
    return time <= until.filter(\.isNumber) + (until.contains("T") ? "" : "235959")
  }
}
