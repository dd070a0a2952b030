import Events
import Foundation
import Handling
import Lanes
import Model
import Notifications
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite("Independence of order")
struct OrderFreedomTests {
  @Test(
    "any order, any batches and duplicates give the model's rows",
    arguments: seeds(8))
  func anyOrder(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var generated = GeneratedEvents(SeededGenerator(seed: seed))
    let events = generated.events(Int.random(in: 20...400, using: &random))
    let model = Model(events, kinds: testKinds)
    var first: [String: [BytewiseString]]?
    for _ in 0..<2 {
      let world = try World()
      var log = events + events.filter { _ in Bool.random(using: &random) }
      log.shuffle(using: &random)
      var applied = Model(kinds: testKinds)
      while !log.isEmpty {
        let count = min(log.count, Int.random(in: 1...60, using: &random))
        try world.apply(Array(log.prefix(count)))
        for event in log.prefix(count) { applied.apply(event) }
        log.removeFirst(count)
        // Checks also while contributions are under review. Subscribers' alarms need the backlog.
        #expect(try immediate(world.shown()) == immediate(applied.shown), "seed \(seed)")
        if Int.random(in: 0..<3, using: &random) == 0 {
          try world.settle()
          #expect(try world.shown() == applied.shown, "seed \(seed)")
        }
      }
      #expect(try world.violations() == [], "seed \(seed), with what is under review")
      try world.settle()
      let shown = try world.shown()
      #expect(shown == model.shown, "seed \(seed)")
      #expect(try world.postCounts() == model.postCounts, "seed \(seed)")
      let everything = try world.everything()
      if let first {
        for (table, rows) in first { #expect(everything[table] == rows, "\(table), seed \(seed)") }
      }
      first = first ?? everything
      #expect(try world.violations() == [], "seed \(seed)")
      try expectLastSnapshotsEqualRows(world, world.published)
    }
  }

  /// Two lanes share every recipient, post and comment. Some transactions fail after publishing,
  /// and their records come again in other batches.
  @Test(
    "two concurrent connections lose no contribution, and the last snapshot equals the row",
    arguments: seeds(4))
  func twoAtOnce(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var generated = GeneratedEvents(SeededGenerator(seed: seed))
    let events = generated.events(600)
    let world = try World()
    let published = Mutex<[Event]>([])
    let failures = Mutex<[String]>([])
    var logs: [[Event]] = [[], []]
    for event in events + events.prefix(100) {
      logs[Int.random(in: 0...1, using: &random)].append(event)
    }
    let threads = logs.enumerated().map { index, log in
      let url = world.url
      let shuffled = log.shuffled(using: &random)
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        do {
          try applyWithFailures(shuffled, url, seed: seed &+ UInt64(index)) { events in
            published.withLock { $0 += events }
          }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
        done.signal()
      }
      return done
    }
    for thread in threads { thread.wait() }
    let before = try immediate(world.shown())
    try world.settle()
    #expect(try immediate(world.shown()) == before, "seed \(seed)")
    #expect(failures.withLock { $0 } == [], "seed \(seed)")
    let model = Model(events, kinds: testKinds)
    let shown = try world.shown()
    #expect(shown == model.shown, "seed \(seed)")
    #expect(try world.postCounts() == model.postCounts, "seed \(seed)")
    #expect(try world.violations() == [], "seed \(seed)")
    let all = published.withLock { $0 } + world.published
    try expectLastSnapshotsEqualRows(world, all)
    expectCounterOrder(all)
  }
}

extension Model {
  /// In the format of `World.shown`.
  var shown: [BytewiseString] {
    notifications.map { it in
      let fields: [String] = [
        it.id, it.recipient, "\(it.type)", it.subject, it.bucket ?? "", it.actor ?? "",
        it.secondActor ?? "", "\(it.actorCount)", "\(it.contributionCount)", it.post ?? "",
        it.comment ?? "", it.headText, "\(it.raisedAt.microseconds)",
        "\(it.oldestAt.microseconds)", it.isUnread ? "t" : "f",
        it.source ?? "", it.imageURL ?? "", it.arguments.map(jsonObject) ?? "",
        it.isUnseen ? "t" : "f",
      ]
      return BytewiseString(fields.joined(separator: "|"))
    }.sorted()
  }

  /// In the format of `World.postCounts`.
  var postCounts: [BytewiseString] {
    postStats.map { BytewiseString("\($0)|\($1.likes)|\($1.comments)") }.sorted()
  }
}

/// Without alarms of authors' posts, which the backlog raises.
private func immediate(_ shown: [BytewiseString]) -> [BytewiseString] {
  shown.filter { line in
    let fields = line.string.split(separator: "|", omittingEmptySubsequences: false)
    return fields[2] != "13"
  }
}

private func expectLastSnapshotsEqualRows(_ world: World, _ published: [Event]) throws {
  let rows = try world.rows()
  let last = lastSnapshots(published)
  for (id, row) in rows { #expect(last[id]??.line == row) }
  for (id, snapshot) in last where snapshot != nil { #expect(rows[id] != nil, "\(id) has no row") }
}

private func expectCounterOrder(_ published: [Event]) {
  var last: [String: Int64] = [:]
  for event in published {
    guard case .notificationChanged(let data) = event.payload else { continue }
    #expect(last[data.notification] ?? 0 < data.counter)
    last[data.notification] = data.counter
  }
}

/// New seeds for each run, or `MAGPIE_TEST_SEED`.
func seeds(_ count: Int) -> [UInt64] {
  if let given = ProcessInfo.processInfo.environment["MAGPIE_TEST_SEED"].flatMap({ UInt64($0) }) {
    return [given]
  }
  return (0..<count).map { _ in UInt64.random(in: 0..<1_000_000) }
}
