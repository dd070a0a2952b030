import Events
import Foundation
import Handling
import Lanes
import Postgres
import TestSupport
import Testing

@testable import Alarms

/// Snapshots, retractions and profiles of a few people whose names and locales change.
struct Story {
  static let nicknames = [
    "나오", "", "<b>", "{nickname}", "%@", "\u{202E}evil", "👨‍👩‍👧‍👦 family", "🇰🇷", "Someone",
    "likes your post", "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}", "محمد", "나오(Lv.25)",
    String(repeating: "long", count: 30), "line\u{2028}break", "\u{3164}", "A", "B",
  ]
  static let locales = ["ko", "ko-KR", "en", "th", "", "xx", "ar", "zh-TW"]

  var profiles: [Event] = []
  var snapshots: [Event] = []
  var all: [Event] { profiles + snapshots }

  init(using random: inout SeededGenerator) {
    let people = (0..<10).map { "person\($0)" } + ["caf\u{E9}", "cafe\u{301}"]
    // Few times, so that event ids often decide.
    for number in 0..<60 {
      if number % 3 == 0 {
        let isRenamed = Bool.random(using: &random)
        profiles.append(
          Event(
            id: "event\(number)", source: "test",
            time: at(Double(Int.random(in: 0..<12, using: &random))),
            payload: .edit(
              people.randomElement(using: &random)!,
              nickname: isRenamed ? Self.nicknames.randomElement(using: &random)! : nil,
              locale: isRenamed ? nil : Self.locales.randomElement(using: &random)!)))
        continue
      }
      profiles.append(
        profile(
          people.randomElement(using: &random)!,
          nickname: Self.nicknames.randomElement(using: &random)!,
          locale: Self.locales.randomElement(using: &random)!,
          at: Double(Int.random(in: 0..<12, using: &random)), id: "event\(number)"))
    }
    var counter: Int64 = 0
    for _ in 0..<160 {
      counter += 1
      let number = Int.random(in: 1...40, using: &random)
      let recipient = people[number % people.count]
      let generation = Int64.random(in: 1...2, using: &random)
      if Int.random(in: 0..<6, using: &random) == 0 {
        snapshots.append(
          retracted(number, version: counter, generation: generation, to: recipient))
        continue
      }
      if Int.random(in: 0..<4, using: &random) == 0 {
        let (kind, arguments) = [
          (19, ["amount": "3"]), (36, ["followers": "100"]), (42, ["title": "<b>\u{202E}x"]),
        ].randomElement(using: &random)!
        snapshots.append(
          changedRaised(
            number, version: counter, generation: generation, to: recipient, kind: kind,
            by: kind == 19 && Bool.random(using: &random)
              ? people.randomElement(using: &random)! : "",
            arguments: arguments, raisedAt: Double(Int.random(in: 0..<30, using: &random))))
        continue
      }
      let count = Int64.random(in: 1...4, using: &random)
      snapshots.append(
        changed(
          number, version: counter, generation: generation, to: recipient,
          AlarmType.allCases.randomElement(using: &random)!,
          by: people.randomElement(using: &random)!,
          and: count > 1 ? people.randomElement(using: &random)! : "", of: count,
          head: ["", "hello", "\u{202E}x"].randomElement(using: &random)!,
          raisedAt: Double(Int.random(in: 0..<30, using: &random))))
    }
  }

  /// The events, a third of them twice, shuffled, in batches of one topic each.
  func batches(using random: inout SeededGenerator) -> [[Event]] {
    let twice = all + all.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
    var batches: [[Event]] = []
    for event in twice.shuffled(using: &random) {
      if let last = batches.indices.last, batches[last][0].topic == event.topic,
        Int.random(in: 0..<8, using: &random) > 0
      {
        batches[last].append(event)
      } else {
        batches.append([event])
      }
    }
    return batches
  }
}

@Suite("Alarms are independent of order")
struct OrderTests {
  @Test(
    "any order, repetition and batches, with the backlog at any time, equal a fresh rendering")
  func orders() throws {
    var random = SeededGenerator()
    for _ in 0..<2 {
      let story = Story(using: &random)
      var first: [String]?
      for _ in 0..<4 {
        let database = try AlarmDatabase(
          backlogLimit: Int32.random(in: 1...20, using: &random))
        for batch in story.batches(using: &random) {
          try database.apply(batch)
          if Int.random(in: 0..<3, using: &random) == 0 {
            try database.handler.runBacklogDirectly(on: database.worker)
          }
        }
        try database.drain()
        #expect(try database.texts() == database.expectedTexts(story.all))
        let rows = try database.alarms()
        #expect(rows == first ?? rows)
        first = rows
        #expect(try database.pendingCount() == 0)
      }
    }
  }

  @Test("three concurrent processes with their own batches and backlogs give the same alarms")
  func concurrently() throws {
    var random = SeededGenerator()
    for _ in 0..<2 {
      let story = Story(using: &random)
      let database = try AlarmDatabase(backlogLimit: 7)
      let url = database.url
      let lanes = (0..<3).map { _ in
        let seed = random.next()
        return Lane { try Self.applyAll(story, seed: seed, url: url) }
      }
      for lane in lanes { try lane.join() }
      try database.drain()
      #expect(try database.texts() == database.expectedTexts(story.all))
      #expect(try database.pendingCount() == 0)
    }
  }

  /// Acts like a lane: applies every batch, again after a deadlock or a serialization failure.
  private static func applyAll(_ story: Story, seed: UInt64, url: String) throws {
    var random = SeededGenerator(seed: seed)
    let worker = try AlarmDatabase.worker(url)
    let handler = AlarmDatabase.handler(backlogLimit: 7)
    func retrying(_ body: () throws -> Void) throws {
      while true {
        do { return try body() } catch let error as PostgresError {
          guard let state = error.sqlstate, ["40P01", "40001"].contains(state) else { throw error }
          Issue.record("the locks are taken in one order, so nobody deadlocks: \(error)")
        }
      }
    }
    for batch in story.batches(using: &random) {
      try retrying { try handler.applyDirectly(batch, topic: batch[0].topic, on: worker) }
      try retrying { try handler.runBacklogDirectly(on: worker) }
    }
  }
}
