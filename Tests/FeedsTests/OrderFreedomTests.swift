import Dispatch
import Events
import Model
import Synchronization
import TestSupport
import Testing

@Suite struct OrderFreedomTests {
  @Test("any order, any batches and any duplicates give the model's result")
  func orders() throws {
    var random = SeededGenerator()
    for round in 0..<4 {
      let events = collidingEvents(600, using: &random)
      let model = Model(events)
      for order in 0..<3 {
        let database = try FeedDatabase(pushLimit: [1, 2, 3, 100][round])
        var log = events + events.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
        if order > 0 { log.shuffle(using: &random) }
        for batch in batches(of: log, upTo: 120, using: &random) { try database.apply(batch) }
        let differences = try database.differences(from: model) {
          Int.random(in: 1...20, using: &random)
        }
        #expect(differences.isEmpty, "round \(round), order \(order): \(differences.first ?? "")")
        #expect(try database.violations() == [])
      }
    }
  }

  @Test("three concurrent writers with overlapping events give the model's result")
  func concurrency() throws {
    var random = SeededGenerator()
    for round in 0..<4 {
      let events = collidingEvents(900, using: &random)
      try check(events, pushLimit: [2, 3, 100, 1][round], upTo: 40, using: &random)
    }
  }

  @Test("three writers that keep moving the same few posts and messages between users")
  func contendedPosts() throws {
    var random = SeededGenerator()
    for _ in 0..<2 {
      let events = collidingEvents(2000, people: 40, things: 4, using: &random)
      try check(events, pushLimit: 3, upTo: 3, using: &random)
    }
  }

  private func check(
    _ events: [Event], pushLimit: Int, upTo largest: Int, using random: inout SeededGenerator
  ) throws {
    let database = try FeedDatabase(pushLimit: pushLimit)
    var shares: [[[Event]]] = []
    for _ in 0..<3 {
      let share = events.filter { _ in Bool.random(using: &random) }.shuffled(using: &random)
      shares.append(batches(of: share, upTo: largest, using: &random))
    }
    let failures = Mutex<[String]>([])
    let retries = Mutex<[String: Int]>([:])
    let (url, handler) = (database.url, database.handler)
    let writers = DispatchGroup()
    for share in shares {
      writers.runOnOwnThread {
        do {
          let writer = try FeedDatabase(url: url, handler: handler)
          for batch in share {
            for reason in try writer.applyRetrying(batch) {
              retries.withLock { $0[reason, default: 0] += 1 }
            }
          }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    writers.wait()
    #expect(failures.withLock { $0 } == [])
    print("transactions run again: \(retries.withLock { $0 })")

    let differences = try database.differences(from: Model(shares.joined().joined()))
    #expect(differences.isEmpty, "\(differences.first ?? "")")
    #expect(try database.violations() == [])
  }
}
