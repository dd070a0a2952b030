import Dispatch
import Events
import Model
import Synchronization
import TestSupport
import Testing

@Suite struct OrderFreedomTests {
  @Test("any order, any batches and any duplicates end in what the model computes")
  func orders() throws {
    var random = SeededGenerator()
    for round in 0..<4 {
      let events = collidingEvents(600, using: &random)
      let model = FeedModel(events)
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

  @Test("three writers at once, with overlapping events, end in what the model computes")
  func concurrency() throws {
    var random = SeededGenerator()
    for round in 0..<6 {
      let events = collidingEvents(900, using: &random)
      let database = try FeedDatabase(pushLimit: [2, 3, 100][round % 3])
      let shares = (0..<3).map { _ in
        batches(
          of: events.filter { _ in Int.random(in: 0..<2, using: &random) == 0 }
            .shuffled(using: &random), upTo: 40, using: &random)
      }
      let failures = Mutex<[String]>([])
      let retries = Mutex(0)
      let (url, handler) = (database.url, database.handler)
      let writers = DispatchGroup()
      for share in shares {
        DispatchQueue.global().async(group: writers) {
          do {
            let writer = try FeedDatabase(url: url, handler: handler)
            for batch in share {
              let attempts = try writer.applyRetrying(batch)
              retries.withLock { $0 += attempts }
            }
          } catch {
            failures.withLock { $0.append("\(error)") }
          }
        }
      }
      writers.wait()
      #expect(failures.withLock { $0 } == [])
      print("round \(round): \(retries.withLock { $0 }) transactions were run again")

      let model = FeedModel(shares.joined().joined())
      let differences = try database.differences(from: model)
      #expect(differences.isEmpty, "round \(round): \(differences.first ?? "")")
      #expect(try database.violations() == [])
    }
  }
}
