import Foundation
import Postgres
import Synchronization
import Workload

/// Reads pages on its own connection and thread until stopped.
final class Reads: Sendable {
  /// A query for one person.
  struct Query: Sendable {
    var name: String
    var sql: String
    /// The parameters for a user id.
    var parameters: @Sendable (String) -> [Parameter] = { [.text($0)] }
  }

  private struct Result {
    var milliseconds: [String: [Double]] = [:]
    var rows: [String: Int] = [:]
    var failure: (any Error)?
  }

  private let result = Mutex(Result())
  private let isStopping = Atomic(false)
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameter perSecond: nil to read without pauses.
  init(url: String, _ queries: [Query], of people: [String], perSecond: Double?, seed: UInt64) {
    Thread.detachNewThread { [self] in
      do {
        try read(url, queries, people, perSecond.map { .seconds(1 / $0) }, SplitMix64(seed: seed))
      } catch { result.withLock { $0.failure = error } }
      ended.signal()
    }
  }

  private func read(
    _ url: String, _ queries: [Query], _ people: [String], _ interval: Duration?,
    _ seeded: SplitMix64
  ) throws {
    var random = seeded
    let connection = try Connection(url, applicationName: "magpie-bench")
    defer { connection.close() }
    // Plan the queries first, because a backend's connections are long-lived.
    // PostgreSQL chooses the plan that it keeps at the sixth execution.
    for person in people.prefix(6) {
      for query in queries { try connection.query(query.sql, query.parameters(person)) }
    }
    var due = ContinuousClock.now
    var turn = 0
    // At least ten of each query, however soon it is stopped.
    while turn < 10 * queries.count || !isStopping.load(ordering: .relaxed) {
      due = interval.map { due + $0 } ?? .now
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
        query.sql, query.parameters(people.randomElement(using: &random) ?? ""))
      let took = (ContinuousClock.now - began) / .milliseconds(1)
      result.withLock {
        $0.milliseconds[query.name, default: []].append(took)
        $0.rows[query.name, default: 0] += rows.count
      }
    }
  }

  /// Percentiles of each query, its rate on one connection, and its average number of rows.
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
      measured["\(name).perSecond"] = 1_000 / (values.reduce(0, +) / Double(values.count))
      measured["\(name).rows"] = Double(result.rows[name] ?? 0) / Double(values.count)
    }
    return measured
  }
}
