import Schedules
import TestSupport
import Testing

/// Occurrences by the rule's definition, day by day, from `recurrence.py`.
@Suite struct ScheduleAgreementTests {
  struct Case {
    var zone: Zone
    var schedule: Schedule
    var text: String
    /// The end of the days that were looked at.
    var end: LocalTime
    var occurrences: [LocalTime] = []
    var instants: [Int64] = []

    init(_ line: ArraySlice<UInt8>) throws {
      let fields = line.split(separator: 0x09, omittingEmptySubsequences: false)
      zone = try directory.zone(SchedulesTests.text(fields[0]))
      text = SchedulesTests.text(fields[2])
      schedule = try Schedule(
        start: LocalTime(SchedulesTests.text(fields[1])), rule: RecurrenceRule(text))
      var rest = fields[3]
      end = LocalTime(seconds: takeNumber(&rest))
      rest = fields[4]
      while !rest.isEmpty {
        occurrences.append(LocalTime(seconds: takeNumber(&rest)))
        instants.append(takeNumber(&rest))
      }
    }

    var next: [LocalTime] {
      var found: [LocalTime] = []
      var time: LocalTime?
      while let next = schedule.next(after: time, in: zone), next <= end {
        found.append(next)
        time = next
      }
      return found
    }
  }

  static func cases(_ seed: Int) async throws -> [Case] {
    try await referenceLines("recurrence.py", String(seed), "500").map(Case.init)
  }

  @Test("occurrences and instants agree with a day-by-day model", arguments: [1, 2, 3])
  func model(_ seed: Int) async throws {
    var counts = (rules: 0, ended: 0, empty: 0, occurrences: 0, queries: 0)
    var differences: [String] = []
    var numbers = SeededGenerator(seed: UInt64(seed))
    for test in try await Self.cases(seed) {
      let place = "\(test.zone.name) \(test.schedule.start) \(test.text)"
      if test.next != test.occurrences { differences.append(place) }
      let instants = test.occurrences.map { test.zone.instant(of: $0) }
      if instants != test.instants { differences.append("instants: " + place) }
      for _ in 0..<12 where !isAnswered(test, &numbers) { differences.append("query: " + place) }
      counts.rules += 1
      counts.empty += test.occurrences.isEmpty ? 1 : 0
      counts.ended += (test.occurrences.last.map { $0.day < test.end.day - 62 } ?? false) ? 1 : 0
      counts.occurrences += test.occurrences.count
      counts.queries += 12
    }
    #expect(differences.prefix(10) == [])
    // Of each 500: about 270 that end, some that never occur, 45,000 occurrences.
    #expect(counts.rules == 500)
    #expect(counts.ended > 50)
    #expect(counts.empty > 0)
    #expect(counts.occurrences > 20_000)
  }

  /// Whether the answers about a random time, often that of an occurrence, follow from the list.
  func isAnswered(_ test: Case, _ numbers: inout SeededGenerator) -> Bool {
    let first = test.schedule.start.seconds - 400_000
    var time = LocalTime(seconds: Int64.random(in: first...test.end.seconds, using: &numbers))
    if let occurrence = test.occurrences.randomElement(using: &numbers) {
      time = LocalTime(seconds: occurrence.seconds + Int64.random(in: -1...1, using: &numbers))
    }
    let index = test.occurrences.firstIndex { $0 > time } ?? test.occurrences.count
    let next = test.schedule.next(after: time, in: test.zone)
    let isNext =
      index < test.occurrences.count
      ? next == test.occurrences[index] : next.map { $0 > test.end } ?? true
    let last = index > 0 ? test.occurrences[index - 1] : nil
    return isNext && test.schedule.last(notAfter: time, in: test.zone) == last
      && test.schedule.contains(time, in: test.zone) == (last == time)
  }
}
