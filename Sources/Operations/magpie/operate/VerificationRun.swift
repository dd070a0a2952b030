import Events
import Foundation
import Logging
import Postgres
import Synchronization

/// `magpie verify` in the background: one at a time, however many ask. Thread-safe.
final class VerificationRun: Sendable {
  struct Check: Encodable, Sendable {
    var name: String
    var broken: Int64
    /// The first rows that break it.
    var rows: [InvariantCheck.Row]
  }

  /// The newest run; nothing of it is stored.
  struct State: Encodable, Sendable {
    var isRunning = false
    var startedBy: String?
    var startedAt: String?
    var endedAt: String?
    /// How many checks there are, once one of them is done.
    var total: Int?
    var checks: [Check] = []
    /// Why it did not finish.
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

  /// Starts a run, unless one is under way.
  ///
  /// - Returns: the state of the one that is running now.
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

  /// Ends a run that is under way.
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
