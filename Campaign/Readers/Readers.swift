import Postgres
import Synchronization

/// Keeps each answer of the probes that differs from the one before it. Thread-safe.
final class Readers: Sendable {
  /// One answer, with how often it was given in a row.
  struct Answer: Sendable {
    var text: String
    var at: ContinuousClock.Instant
  }

  private struct State {
    var answers: [String: [Answer]] = [:]
    var reads = 0
    var problems: [String] = []
  }

  private let state = Mutex(State())

  /// By the probe's name.
  var answers: [String: [Answer]] { state.withLock { $0.answers } }
  var reads: Int { state.withLock { $0.reads } }
  /// Errors of read functions that are no fault of ours.
  var problems: [String] { state.withLock { $0.problems } }

  /// Asks every probe once.
  func look(_ connection: Connection) throws {
    do {
      for probe in Probe.all {
        let answer = try probe.read(connection)
        state.withLock { state in
          state.reads += 1
          guard let answer, state.answers[probe.name]?.last?.text != answer else { return }
          state.answers[probe.name, default: []].append(Answer(text: answer, at: .now))
        }
      }
    } catch let error as PostgresError where !isPassing(error) {
      state.withLock { state in
        if state.problems.count < 20 { state.problems.append("\(error)") }
      }
      throw error
    }
  }

  /// Errors that faults make: the server is away, full, or ends sessions.
  private func isPassing(_ error: PostgresError) -> Bool {
    guard let state = error.sqlstate else { return true }
    return ["08", "53", "57", "40", "55"].contains { state.hasPrefix($0) }
  }
}
