import Events
import Handling
import Kafka
import Postgres
import Schema

/// How a lane responds to an error. All errors are classified in this file and `ConsumerFailure.swift`.
package enum Disposition: Equatable, Sendable {
  /// Transient: retry with backoff, without a limit; not ready meanwhile.
  case retry(reason: String)
  /// An event cannot be applied: bisect the batch and dead-letter the event with this code.
  case poison(reason: String, code: String = DeadLetterReason.notApplicable)
  /// A limit on time or memory was exceeded, by the batch or because the database is busy: bisect the
  /// batch. A single event that exceeds it repeatedly while the database responds is dead-lettered.
  case tooMuch(reason: String, message: String)
  /// The batch is too large for one transaction: apply it in several, of these numbers of events.
  case cut(sizes: [Int])
  /// The partition has another owner: rejoin the consumer group.
  case fenced
  /// Only an operator can resolve it: stop the worker and say how.
  case stop(WorkerStopped)
}

/// Whether a retry for this reason makes the lane not ready. A serialization failure or a lock says
/// nothing about the next batch.
func makesUnready(_ reason: String) -> Bool { reason != "serialization" && reason != "lock" }

/// SQLSTATE of `fence_advance` in migration 0001.
let fencedSQLState = "MG001"

func disposition(of error: any Error) -> Disposition {
  switch error {
  case let error as PostgresError: disposition(of: error)
  case let error as KafkaError: disposition(of: error)
  case let error as EventError: .poison(reason: error.message, code: error.code.rawValue)
  case is Fenced, is MembershipLeadsNowhere: .fenced
  case let error as BatchTooLarge: .cut(sizes: error.sizes)
  case let error as TryAgain: .retry(reason: error.reason)
  // A migration or a rollout is in progress.
  case let error as SchemaError where error.code != .changed: .retry(reason: "schema")
  case let error as WorkerStopped: .stop(error)
  default: stop(error)
  }
}

private func disposition(of error: PostgresError) -> Disposition {
  // Retrying cannot fix a certificate.
  if error.code == .untrusted { return stop(error) }
  guard let sqlstate = error.sqlstate else {
    return switch error.code {
    // The server or the network is unavailable.
    case .connection: .retry(reason: "connection")
    // The response violates the protocol or does not fit the statement: a defect, not transient.
    default: stop(error)
    }
  }
  let text = "\(sqlstate) \(error.message)"
  if sqlstate == fencedSQLState { return .fenced }
  // The server is a standby, until it is promoted or the address moves.
  if error.isReadOnly { return .retry(reason: "read-only") }
  // A cached plan whose tables were migrated, or a prepared statement that a pooler lost. The
  // connection prepares it again.
  if sqlstate == "0A000" || sqlstate == "26000" { return .retry(reason: "stale-plan") }
  // An internal error that ends a session, or keeps it from starting, says nothing about a statement. PostgreSQL
  // has no other code for "could not write init file", when its disk is full; pgbouncer ends sessions with 08P01 when
  // it has lost the server, shuts down or has no connection left.
  if sqlstate == "XX000" || sqlstate == "08P01", error.code == .connection {
    return .retry(reason: "connection")
  }
  // A protocol violation is our defect; the other codes of class 08 are network errors.
  if sqlstate == "08P01" { return stop(error) }
  // idle_in_transaction_session_timeout ended our session while the process was stopped.
  if sqlstate == "25P03" { return .retry(reason: "session-timeout") }
  // A smaller batch may stay within the limit on time (25P04 is PostgreSQL 17's transaction_timeout) or memory. A
  // statement that an operator canceled is retried as it is.
  if error.isStatementTimeout || sqlstate == "25P04" {
    return .tooMuch(reason: "statement-timeout", message: text)
  }
  if sqlstate == "53200" { return .tooMuch(reason: "memory", message: text) }
  // A limit such as temp_file_limit.
  if sqlstate == "53400" { return .tooMuch(reason: "resources", message: text) }
  return switch sqlstate.prefix(2) {
  // Connection exceptions.
  case "08": .retry(reason: "connection")
  // Insufficient resources: disk full, too many connections.
  case "53": .retry(reason: "resources")
  // Operator intervention: shutdown, crash recovery, a canceled statement.
  case "57": .retry(reason: "server-unavailable")
  // Serialization failure and deadlock.
  case "40": .retry(reason: "serialization")
  // Lock not available (including lock_timeout), object in use.
  case "55": .retry(reason: "lock")
  // I/O errors outside of PostgreSQL.
  case "58": .retry(reason: "io")
  // Data exceptions, integrity constraint violations, program limits (such as a key too long for an
  // index): caused by an event.
  case "22", "23", "54": .poison(reason: text)
  // A missing table, a missing grant, a wrong password, an internal error.
  default: stop(error)
  }
}

private func disposition(of error: KafkaError) -> Disposition {
  // An idempotent producer that lost its sequence, which may be fatal, and the records behind it. The next attempt has
  // a new producer.
  let lost: [KafkaError.Code] = [
    .outOfOrderSequence, .unknownProducer, .invalidProducerEpoch, .purgedFromQueue, .purgedInFlight,
  ]
  if lost.contains(error.code) { return .retry(reason: "kafka") }
  if error.isFatal { return stop(error) }
  // A broker with old metadata says this of a topic to publish to. Like a topic to consume, it is waited
  // for.
  let isUnknown = [.unknownTopic, .unknownPartition, .unknownTopicOrPartition].contains(error.code)
  // Brokers learn of permissions one by one, and an operator may grant one to a running worker.
  let isDenied = error.code == .topicAuthorizationFailed
  return isUnknown || isDenied || error.isRetriable ? .retry(reason: "kafka") : stop(error)
}

/// The lane no longer owns a partition.
struct Fenced: Error, CustomStringConvertible {
  let description =
    "the stored offset or epoch of a partition is not this lane's: another process has claimed it, or "
    + "its offset was moved"
}

/// An event of the batch cannot be applied.
struct Poison: Error {
  var reason: String
}

/// The reason to retry after `error`. Throws `Poison`, `Fenced`, `Stopping` or `WorkerStopped` if a retry
/// does not help.
func reasonToRetry(_ error: any Error) throws -> String {
  if error is Stopping || error is WorkerStopped { throw error }
  switch disposition(of: error) {
  case .retry(let reason), .tooMuch(let reason, _): return reason
  case .poison(let reason, _): throw Poison(reason: reason)
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
  default: "Nothing was lost: the batch was not committed. Restart once the cause is fixed."
  }
}

/// A worker stopped because only an operator can resolve the problem.
public struct WorkerStopped: Error, Equatable, CustomStringConvertible {
  /// The problem.
  public var reason: String
  /// How to resolve it, such as a command.
  public var nextStep: String

  public init(reason: String, nextStep: String) {
    self.reason = reason
    self.nextStep = nextStep
  }

  /// Safe for a terminal: control characters from a server or a record are escaped.
  public var description: String {
    "\(escapedForDisplay(reason, keepingNewlines: true))\n  \(escapedForDisplay(nextStep))"
  }
}
