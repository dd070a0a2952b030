import Postgres
import Synchronization

/// Records the probes' answers, without consecutive duplicates. Thread-safe.
final class Readers: Sendable {
  /// An answer, with the time when it was first given.
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

  /// By probe name.
  var answers: [String: [Answer]] { state.withLock { $0.answers } }
  var reads: Int { state.withLock { $0.reads } }
  /// Errors of read functions that no fault explains.
  var problems: [String] { state.withLock { $0.problems } }

  /// Runs every probe once.
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
    } catch let error as PostgresError where !isTransient(error) {
      state.withLock { state in
        if state.problems.count < 20 { state.problems.append("\(error)") }
      }
      throw error
    }
  }

  /// Errors that faults cause: the server is down, full, or terminates sessions.
  private func isTransient(_ error: PostgresError) -> Bool {
    guard let state = error.sqlstate else { return true }
    return ["08", "53", "57", "40", "55"].contains { state.hasPrefix($0) }
  }
}
