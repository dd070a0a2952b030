import Events
import Handling
import Kafka
import Postgres
import Schema

/// What a lane does about an error. The one place where errors are classified.
package enum Disposition: Equatable, Sendable {
  /// The same attempt may succeed later: back off and try again, for ever, unready meanwhile.
  case retry(reason: String)
  /// The data is at fault: bisect the batch and dead-letter the culprit.
  case poison(reason: String)
  /// The batch may be too much at once, or the database too busy: cut the batch in halves and try them;
  /// an event that fails so again and again, alone, while the database answers, is dead-lettered.
  case tooMuch(reason: String, message: String)
  /// The batch is too much for one transaction: apply it in several, of so many events each.
  case cut(sizes: [Int])
  /// The partition has another owner: rejoin the consumer group.
  case fenced
  /// Only a person can resolve it: stop the worker and say how.
  case stop(WorkerStopped)
}

extension String {
  /// Whether such a reason to try again says something about the next batch too: a serialization
  /// failure or a lock does not.
  var meansUnready: Bool { self != "serialization" && self != "lock" }
}

/// SQLSTATE of `fence_advance` in migration 0001.
let fencedSQLState = "MG001"

func disposition(of error: any Error) -> Disposition {
  switch error {
  case let error as PostgresError: disposition(of: error)
  case let error as KafkaError: disposition(of: error)
  case let error as EventError: .poison(reason: error.message)
  case is Fenced, is MembershipLeadsNowhere: .fenced
  case let error as BatchTooLarge: .cut(sizes: error.sizes)
  // Somebody is about to migrate the database, or to replace this process by a newer version.
  case let error as SchemaError where error.code != .changed: .retry(reason: "schema")
  case let error as WorkerStopped: .stop(error)
  default: stop(error)
  }
}

private func disposition(of error: PostgresError) -> Disposition {
  // A certificate does not become another by trying again.
  if error.code == .untrusted { return stop(error) }
  guard let sqlstate = error.sqlstate else {
    return switch error.code {
    // The server or the network is away: nothing is wrong with the batch.
    case .connection: .retry(reason: "connection")
    // The reply was not what the protocol or our statements promise: a defect, not a passing fault.
    default: stop(error)
    }
  }
  let text = "\(sqlstate) \(error.message)"
  if sqlstate == fencedSQLState { return .fenced }
  // A primary that became a standby answers "read only" until the address moves.
  if sqlstate == "25006" { return .retry(reason: "read-only") }
  // A cached plan whose tables a migration changed meanwhile, or a prepared statement that a pooler
  // gave to another session: the connection prepares it anew.
  if sqlstate == "0A000" || sqlstate == "26000" { return .retry(reason: "stale-plan") }
  // A protocol violation is a defect of ours; the rest of its class is the network's.
  if sqlstate == "08P01" { return stop(error) }
  // idle_in_transaction_session_timeout ended our session while the process was stopped.
  if sqlstate == "25P03" { return .retry(reason: "session-timeout") }
  // What ran out of its time or of the server's memory may do with less; a statement that a person
  // canceled may not have been too long.
  if error.isStatementTimeout { return .tooMuch(reason: "statement-timeout", message: text) }
  if sqlstate == "53200" { return .tooMuch(reason: "memory", message: text) }
  return switch sqlstate.prefix(2) {
  // Connection exceptions.
  case "08": .retry(reason: "connection")
  // Insufficient resources: disk full, too many connections.
  case "53": .retry(reason: "resources")
  // Operator intervention: shutdown, crash recovery, a statement that somebody canceled.
  case "57": .retry(reason: "server-unavailable")
  // Serialization failure and deadlock.
  case "40": .retry(reason: "serialization")
  // Lock not available (lock_timeout, too), object in use: whoever holds it is at fault.
  case "55": .retry(reason: "lock")
  // I/O errors outside of PostgreSQL.
  case "58": .retry(reason: "io")
  // Data exceptions, integrity constraint violations, program limits (such as a key too long for an
  // index): some event is at fault.
  case "22", "23", "54": .poison(reason: text)
  // A missing table, a missing grant, a wrong password, an internal error.
  default: stop(error)
  }
}

private func disposition(of error: KafkaError) -> Disposition {
  if error.isFatal { return stop(error) }
  return error.isRetriable ? .retry(reason: "kafka") : stop(error)
}

/// The lane does not own a partition any more.
struct Fenced: Error, CustomStringConvertible {
  let description =
    "the stored offset or epoch of a partition is not this lane's: another process has claimed it, or "
    + "its offset was moved"
}

/// Some event of the batch cannot be applied.
struct Poison: Error {
  var reason: String
}

/// The reason to try again after `error`; throws what else is to be done: `Poison`, `Fenced`,
/// `Stopping` or `WorkerStopped`.
func reasonToRetry(_ error: any Error) throws -> String {
  if error is Stopping || error is WorkerStopped { throw error }
  switch disposition(of: error) {
  case .retry(let reason), .tooMuch(let reason, _): return reason
  case .poison(let reason): throw Poison(reason: reason)
  case .cut: throw error
  case .fenced: throw Fenced()
  case .stop(let stopped): throw stopped
  }
}

private func stop(_ error: any Error) -> Disposition {
  .stop(WorkerStopped(reason: String(describing: error), nextStep: nextStep(after: error)))
}

private func nextStep(after error: any Error) -> String {
  switch (error as? PostgresError)?.code {
  case .usage: return "Correct MAGPIE_DATABASE_URL."
  case .untrusted: return "Check the certificates and sslmode of MAGPIE_DATABASE_URL."
  default: break
  }
  if error is SchemaError { return "Restore the migration, then start this again." }
  return switch (error as? PostgresError)?.sqlstate {
  case "28P01", "28000": "Check user and password in MAGPIE_DATABASE_URL."
  case "3D000": "Create the database, or correct MAGPIE_DATABASE_URL; then run `magpie migrate`."
  case "42P01", "42883", "3F000", "42704": "Run `magpie migrate` with the same version as this."
  case "42501": "Grant the login its worker's role, such as GRANT magpie_fanout TO the_login."
  default: "Nothing was lost: the batch was not committed. Restart once the cause is mended."
  }
}

/// A worker stopped because only a person can resolve what it found.
public struct WorkerStopped: Error, Equatable, CustomStringConvertible {
  /// What was found.
  public var reason: String
  /// The command, or what else, resolves it.
  public var nextStep: String

  public init(reason: String, nextStep: String) {
    self.reason = reason
    self.nextStep = nextStep
  }

  /// Fit for a terminal, whatever a server or a record put into the reason.
  public var description: String {
    "\(escapedForDisplay(reason, keepingNewlines: true))\n  \(escapedForDisplay(nextStep))"
  }
}
