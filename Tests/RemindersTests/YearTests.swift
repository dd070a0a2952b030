import Events
import Foundation
import TestSupport
import Testing

@testable import Reminders

/// The worker and the model of `year.py` see the same steps.
private struct Year {
  let worker: ClockedWorker
  var model = YearModel()
  /// What was published, also by processes that were killed before COMMIT.
  var published: [Event] = []
  var clock: Int64 = 0

  init(at start: Int64) throws {
    // More than an event's delay and a step: the model knows nothing of what is missed.
    worker = try ClockedWorker(at: "2000-01-01T00:00:00Z", lateBoundSeconds: 2 * 86_400)
    set(start)
  }

  mutating func set(_ clock: Int64) {
    self.clock = clock
    worker.set(EventTime(microseconds: clock))
  }

  mutating func ring() throws {
    try model.add(clock: clock)
    try worker.ring()
  }

  /// Applies a batch per topic, in either order.
  mutating func apply(_ events: [Event], isProfilesFirst: Bool) throws {
    for topic in isProfilesFirst ? [Topic.profiles, .reminders] : [.reminders, .profiles] {
      let batch = events.filter { $0.topic == topic }
      guard !batch.isEmpty else { continue }
      try model.add(clock: clock, batch)
      try worker.apply(batch)
    }
  }

  /// What consumers show in the end: of each occurrence the newest event, if that is a ring.
  func rings() throws -> [String] {
    var newest: [String: Event] = [:]
    var seen: [String: Event] = [:]
    for event in published + worker.published {
      let same = seen.updateValue(event, forKey: event.id)
      #expect(same == nil || same == event, "an event that is published again is the same event")
      guard let name = Self.name(event) else { continue }
      if let other = newest[name], event.version < other.version { continue }
      newest[name] = event
    }
    return newest.compactMap { name, event in
      guard case .alarmRaised(let data) = event.payload else { return nil }
      return "\(name)\t\(event.time.microseconds)\t\(data.arguments["text"] ?? "")"
    }
  }

  private static func name(_ event: Event) -> String? {
    switch event.payload {
    case .alarmRaised(let data): "\(data.recipient)\t\(data.subject)\t\(data.source)"
    case .alarmWithdrawn(let data): "\(data.recipient)\t\(data.subject)\t\(data.source)"
    default: nil
    }
  }

  /// Compares them with the model's.
  func check(_ deliveries: Int, _ text: String) async throws {
    let rings = Set(try rings())
    let expected = Set(try await model.rings())
    let (missing, surplus) = (expected.subtracting(rings), rings.subtracting(expected))
    #expect(missing.sorted().prefix(10) == [], "\(missing.count) did not ring")
    #expect(surplus.sorted().prefix(10) == [], "\(surplus.count) should not have rung")
    let withdrawn = worker.published.count {
      if case .alarmWithdrawn = $0.payload { true } else { false }
    }
    print(
      "\(text): \(deliveries) events, \(expected.count) occurrences, \(withdrawn) withdrawals")
  }
}

@Suite("A year")
struct YearTests {
  static let people =
    ProcessInfo.processInfo.environment["MAGPIE_TEST_YEAR_PEOPLE"].flatMap { Int($0) }

  @Test("what rings is what a model in Python says", arguments: [1000])
  func model(_ people: Int) async throws {
    // In this year, Samoa skips a day, and Egypt, Russia and others change their rules.
    let start = try EventTime(rfc3339: "2011-07-01T00:00:00Z").microseconds
    var numbers = SeededGenerator()
    let people = Self.people ?? people
    let deliveries = YearEvents(people: people, start: start, seed: numbers.next()).deliveries
    var year = try Year(at: start)
    var rest = deliveries[...]
    var clock = start
    while clock < start + 376 * YearEvents.day {
      // Less than a day, so that a repeating reminder rings each of its days.
      clock += numbers.step(upTo: numbers.oneOf(10) ? 300 : 82_000)
      year.set(clock)
      if numbers.oneOf(4) { try year.ring() }
      let arrived = rest.prefix { $0.arrives <= clock }
      rest = rest.dropFirst(arrived.count)
      try year.apply(
        arrived.map(\.event).shuffled(using: &numbers), isProfilesFirst: numbers.oneOf(2))
      try year.ring()
    }
    #expect(rest.isEmpty)
    try await year.check(deliveries.count, "\(people) people, seed \(numbers.seed)")
  }

  @Test("so it is with killed processes, replays and clocks that are an hour off")
  func faults() async throws {
    let start = try EventTime(rfc3339: "2026-09-15T00:00:00Z").microseconds
    var numbers = SeededGenerator()
    let people = Self.people ?? 200
    let deliveries = YearEvents(
      people: people, start: start, days: 60, seed: numbers.next()
    ).deliveries
    var year = try Year(at: start)
    var arrived = 0
    var (time, skew) = (start, Int64(0))
    while time < start + 70 * YearEvents.day {
      time += numbers.step(upTo: numbers.oneOf(2) ? 3600 : 43_200)
      if numbers.oneOf(3) { skew = numbers.step(upTo: 7200) - YearEvents.hour }
      year.set(time + skew)
      if numbers.oneOf(2) { year.published += try year.worker.ringAndFail() }
      if numbers.oneOf(2) { try year.ring() }
      let newer = deliveries[arrived...].prefix { $0.arrives <= time }
      arrived += newer.count
      // What was applied and not acknowledged comes again, and so does some that was.
      let again = deliveries[..<arrived].suffix(
        newer.count + Int.random(in: 0...20, using: &numbers))
      var batch = again.map(\.event)
      for _ in 0..<3 where arrived > 0 {
        batch.append(deliveries[Int.random(in: 0..<arrived, using: &numbers)].event)
      }
      try year.apply(batch, isProfilesFirst: numbers.oneOf(2))
      if numbers.oneOf(4) {
        try year.apply(newer.map(\.event), isProfilesFirst: numbers.oneOf(2))
      }
      if numbers.oneOf(2) { year.published += try year.worker.ringAndFail() }
      try year.ring()
    }
    #expect(arrived == deliveries.count)
    try await year.check(deliveries.count, "\(people) people, seed \(numbers.seed)")
  }
}

extension SeededGenerator {
  /// Microseconds: a second or more.
  fileprivate mutating func step(upTo seconds: Int64) -> Int64 {
    .random(in: 1...seconds, using: &self) * YearEvents.second
  }

  /// True once in so many calls.
  fileprivate mutating func oneOf(_ count: Int) -> Bool {
    Int.random(in: 0..<count, using: &self) == 0
  }
}
