import Foundation
import Lanes
import Logging
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// One person's many requests delay nobody else's.
@Suite struct FairnessTests {
  @Test(
    "of those for whom something waits, each gets one in turn, in order of arrival, while few of theirs run"
  )
  func queue() throws {
    var random = SeededGenerator()
    for _ in 0..<200 {
      let runningMax = Int.random(in: 1...3, using: &random)
      var queue = FairQueue<Int>(runningMax: runningMax)
      // In the order of their next turns.
      var model: [(person: String, elements: [Int])] = []
      var running: [String: Int] = [:]
      for number in 0..<100 {
        let person = ["ann", "bob", "cat", ""].randomElement(using: &random) ?? ""
        func limit(_ person: String) -> Int { person.isEmpty ? .max : runningMax }
        switch Int.random(in: 0..<6, using: &random) {
        case 5:
          let most = model.filter { !$0.person.isEmpty }.map(\.elements.count).max() ?? 0
          let removed = queue.removeNewestOfMost()
          #expect((removed == nil) == (most < 2))
          guard let removed else { break }
          let index = try #require(model.firstIndex { $0.elements.last == removed })
          #expect(model[index].elements.count == most && !model[index].person.isEmpty)
          model[index].elements.removeLast()
        case 0..<2:
          queue.append(number, of: person)
          if let index = model.firstIndex(where: { $0.person == person }) {
            model[index].elements.append(number)
          } else {
            model.append((person, [number]))
          }
        case 2..<4:
          let started = queue.start()
          var expected: (person: String, element: Int)?
          if let index = model.firstIndex(where: { running[$0.person] ?? 0 < limit($0.person) }) {
            var next = model.remove(at: index)
            expected = (next.person, next.elements.removeFirst())
            if !next.elements.isEmpty { model.append(next) }
            running[next.person, default: 0] += 1
          }
          #expect(started?.element == expected?.element && started?.person == expected?.person)
        default:
          guard let count = running[person], count > 0 else { continue }
          let waiting = model.first { $0.person == person }?.elements.count ?? 0
          #expect(queue.end(of: person) == (waiting > limit(person) - count))
          running[person] = count - 1
        }
        #expect(queue.count == model.reduce(0) { $0 + $1.elements.count })
        #expect(
          queue.count(of: person) == model.first { $0.person == person }?.elements.count ?? 0)
      }
      #expect(queue.removeAll().sorted() == model.flatMap(\.elements).sorted())
      #expect(queue.count == 0)
    }
  }

  @Test("at most so many run at a time, and one of each person, whoever else waits")
  func turns() async {
    let (turns, tasks) = (Turns(3), Tasks())
    await withTaskGroup(of: Void.self) { group in
      for person in Array(repeating: "ann", count: 50) + ["bob", "cat", "dan", "eve"] {
        group.addTask {
          await turns.run(of: person) {
            await tasks.begin(person)
            await Task.yield()
            await tasks.end(person)
          }
        }
      }
    }
    #expect(await tasks.count == 54)
  }

  @Test("nobody gets more than half of the connections, and all that is queued is read")
  func connections() async throws {
    let pool = ConnectionPool(databaseURL: try TestDatabase.fresh(), connections: 4)
    let statuses = (0..<4).map { _ in LaneStatus() }
    for status in statuses {
      Thread.detachNewThread { pool.serve(status, Logger(label: "test")) }
    }
    defer { for status in statuses { status.stop() } }
    let reads = Reads()
    for round in 1...20 {
      let people = Array(repeating: "ann", count: 30) + Array(repeating: "bob", count: 4)
      for person in people {
        Task {
          try await pool.read(of: person) { connection in
            reads.begin(person)
            _ = try connection.query("SELECT pg_sleep(0.001)")
            reads.end(person)
          }
        }
      }
      try await eventually("all is read") { reads.count == round * people.count }
    }
    #expect(reads.most.values.allSatisfy { $0 <= 2 } && reads.most.count == 2)
  }

  private final class Reads: Sendable {
    private let state = Mutex((running: [String: Int](), most: [String: Int](), count: 0))
    var count: Int { state.withLock { $0.count } }
    var most: [String: Int] { state.withLock { $0.most } }

    func begin(_ person: String) {
      state.withLock {
        $0.running[person, default: 0] += 1
        $0.most[person] = max($0.most[person] ?? 0, $0.running[person] ?? 0)
      }
    }

    func end(_ person: String) {
      state.withLock {
        $0.running[person, default: 0] -= 1
        $0.count += 1
      }
    }
  }

  private actor Tasks {
    private var running: Set<String> = []
    private(set) var count = 0

    func begin(_ person: String) {
      #expect(running.count < 3 && running.insert(person).inserted)
      count += 1
    }

    func end(_ person: String) { running.remove(person) }
  }
}
