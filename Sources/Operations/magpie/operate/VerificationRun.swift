import Events
import Foundation
import Logging
import Postgres
import Synchronization

/// Runs `magpie verify` in the background, at most one run at a time. Thread-safe.
final class VerificationRun: Sendable {
  struct Check: Encodable, Sendable {
    var name: String
    var broken: Int64
    /// The first rows that violate it.
    var rows: [InvariantCheck.Row]
  }

  /// The state of the newest run. Kept in memory only.
  struct State: Encodable, Sendable {
    var isRunning = false
    var startedBy: String?
    var startedAt: String?
    var endedAt: String?
    /// The number of checks; known once the first one is done.
    var total: Int?
    var checks: [Check] = []
    /// Why the run failed.
    var problem: String?
  }

  private static let rowsMax = 20
  private static let statementSeconds = 3600

  private let databaseURL: String
  private let logger: Logger
  private let current = Mutex(State())
  private let cancellation = Mutex<Cancellation?>(nil)

  init(databaseURL: String, logger: Logger) {
    (self.databaseURL, self.logger) = (databaseURL, logger)
  }

  var state: State { current.withLock { $0 } }

  /// Starts a run, unless one is in progress.
  ///
  /// - Returns: the state of the run in progress.
  func start(by person: String) -> State {
    let (state, isNew) = current.withLock { state -> (State, Bool) in
      if state.isRunning { return (state, false) }
      state = State(isRunning: true, startedBy: person, startedAt: EventTime.now.rfc3339)
      return (state, true)
    }
    guard isNew else { return state }
    logger.notice("an operator starts a verification", metadata: ["operator": "\(person)"])
    let thread = Thread { [self] in
      let result = Result { try run() }
      current.withLock { state in
        state.isRunning = false
        state.endedAt = EventTime.now.rfc3339
        if case .failure(let error) = result { state.problem = Failure(error).message }
      }
    }
    thread.name = "verification"
    thread.stackSize = 8 << 20
    thread.start()
    return state
  }

  /// Cancels a run in progress.
  func stop() { cancellation.withLock { $0 }?.cancel() }

  private func run() throws {
    let connection = try Connection(
      databaseURL, applicationName: "magpie-operate",
      statementTimeoutSeconds: Self.statementSeconds)
    defer { connection.close() }
    let cancel = connection.cancellation
    cancellation.withLock { $0 = cancel }
    defer { cancellation.withLock { $0 = nil } }
    try connection.script("SET default_transaction_read_only = on")
    _ = try InvariantCheck.runAll(connection, limit: Self.rowsMax) { check, total in
      current.withLock { state in
        state.total = total
        state.checks.append(Check(name: check.name, broken: check.broken, rows: check.rows))
      }
    }
  }
}
