import Foundation
import Postgres
import Synchronization
import Workload

/// Reads pages at a fixed rate on its own connection and thread until stopped.
final class Reads: Sendable {
  /// A query whose parameter is a user id.
  struct Query: Sendable {
    var name: String
    var sql: String
  }

  private struct Result {
    var milliseconds: [String: [Double]] = [:]
    var rows: [String: Int] = [:]
    var failure: (any Error)?
  }

  private let result = Mutex(Result())
  private let isStopping = Atomic(false)
  private let ended = DispatchSemaphore(value: 0)

  init(url: String, _ queries: [Query], of people: [String], perSecond: Double, seed: UInt64) {
    Thread.detachNewThread { [self] in
      do {
        try read(url, queries, people, .seconds(1 / perSecond), SplitMix64(seed: seed))
      } catch { result.withLock { $0.failure = error } }
      ended.signal()
    }
  }

  private func read(
    _ url: String, _ queries: [Query], _ people: [String], _ interval: Duration,
    _ seeded: SplitMix64
  ) throws {
    var random = seeded
    let connection = try Connection(url, applicationName: "magpie-bench")
    defer { connection.close() }
    // Plan the queries first, because a backend's connections are long-lived.
    for query in queries { try connection.query(query.sql, [.text(people[0])]) }
    var due = ContinuousClock.now
    var turn = 0
    while !isStopping.load(ordering: .relaxed) {
      due += interval
      let query = queries[turn % queries.count]
      turn += 1
      // If the previous read was slow, its delay counts; if this thread woke late, the delay is not
      // the database's.
      var began = due
      if due > .now {
        Thread.sleep(forTimeInterval: (due - .now) / .seconds(1))
        began = .now
      }
      let rows = try connection.query(
        query.sql, [.text(people.randomElement(using: &random) ?? "")])
      let took = (ContinuousClock.now - began) / .milliseconds(1)
      result.withLock {
        $0.milliseconds[query.name, default: []].append(took)
        $0.rows[query.name, default: 0] += rows.count
      }
    }
  }

  /// Percentiles of each query, and its average number of rows.
  func stop() throws -> Measured {
    isStopping.store(true, ordering: .relaxed)
    ended.wait()
    let result = result.withLock { $0 }
    if let failure = result.failure { throw failure }
    var measured: Measured = [:]
    for (name, values) in result.milliseconds {
      let sorted = values.sorted()
      measured["\(name).p50"] = percentile(50, of: sorted)
      measured["\(name).p99"] = percentile(99, of: sorted)
      measured["\(name).max"] = sorted.last
      measured["\(name).rows"] = Double(result.rows[name] ?? 0) / Double(values.count)
    }
    return measured
  }
}
