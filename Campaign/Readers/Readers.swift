import Foundation
import Postgres
import Synchronization

/// Reads what the probes show, over and over, while everything happens; keeps each answer that
/// differs from the one before it. Thread-safe.
final class Readers: Sendable {
  /// One answer, with how often it was given in a row.
  struct Answer: Sendable {
    var text: String
    var at: ContinuousClock.Instant
  }

  private struct State {
    var isStopping = false
    var answers: [String: [Answer]] = [:]
    var reads = 0
    var problems: [String] = []
  }

  private let state = Mutex(State())
  private let url: String
  private let ended = DispatchSemaphore(value: 0)

  init(_ world: World) {
    url = world.cluster.url()
    Thread.detachNewThread { [self] in
      run()
      ended.signal()
    }
  }

  func stop() {
    state.withLock { $0.isStopping = true }
    ended.wait()
    ended.signal()
  }

  /// By the probe's name.
  var answers: [String: [Answer]] { state.withLock { $0.answers } }
  var reads: Int { state.withLock { $0.reads } }
  /// Errors of read functions that are no fault of ours.
  var problems: [String] { state.withLock { $0.problems } }

  private func run() {
    var connection: Connection?
    while !state.withLock({ $0.isStopping }) {
      do {
        let current =
          try connection
          ?? Connection(
            url, applicationName: "magpie-campaign", connectTimeoutSeconds: 2,
            statementTimeoutSeconds: 10)
        connection = current
        for probe in Probe.all {
          let answer = try probe.read(current)
          state.withLock { state in
            state.reads += 1
            guard let answer, state.answers[probe.name]?.last?.text != answer else { return }
            state.answers[probe.name, default: []].append(Answer(text: answer, at: .now))
          }
        }
      } catch {
        if let error = error as? PostgresError, !isPassing(error) {
          state.withLock { state in
            if state.problems.count < 20 { state.problems.append("\(error)") }
          }
        }
        connection?.close()
        connection = nil
        Thread.sleep(forTimeInterval: 0.1)
      }
      Thread.sleep(forTimeInterval: 0.01)
    }
    connection?.close()
  }

  /// Errors that faults make: the server is away, full, or ends sessions.
  private func isPassing(_ error: PostgresError) -> Bool {
    guard let state = error.sqlstate else { return true }
    return ["08", "53", "57", "40", "55"].contains { state.hasPrefix($0) }
  }
}
