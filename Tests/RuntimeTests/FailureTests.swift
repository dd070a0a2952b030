import Kafka
import Postgres
import Testing

@testable import Lanes

@Suite struct FailureTests {
  @Test(
    "database errors are classified by SQLSTATE",
    arguments: [
      ("08006", "connection"), ("53100", "resources"), ("53300", "resources"),
      ("57P01", "server-unavailable"), ("57014", "server-unavailable"), ("40001", "serialization"),
      ("40P01", "serialization"), ("55P03", "lock"), ("25006", "read-only"),
      ("25P03", "session-timeout"), ("58030", "io"), ("0A000", "stale-plan"),
      ("26000", "stale-plan"),
    ])
  func retries(sqlstate: String, reason: String) {
    let error = PostgresError(code: .server, sqlstate: sqlstate, message: "m")
    #expect(disposition(of: error) == .retry(reason: reason))
  }

  @Test("exceeded limits may pass with a smaller batch; canceled statements are retried")
  func tooMuch() {
    var error = PostgresError(code: .server, sqlstate: "57014", message: "m")
    #expect(disposition(of: error) == .retry(reason: "server-unavailable"))
    error.isStatementTimeout = true
    #expect(disposition(of: error) == .tooMuch(reason: "statement-timeout", message: "57014 m"))
    error = PostgresError(code: .server, sqlstate: "53200", message: "m")
    #expect(disposition(of: error) == .tooMuch(reason: "memory", message: "53200 m"))
    error = PostgresError(code: .server, sqlstate: "53400", message: "m")
    #expect(disposition(of: error) == .tooMuch(reason: "resources", message: "53400 m"))
    // PostgreSQL 17 ends the session.
    error = PostgresError(code: .connection, sqlstate: "25P04", message: "m")
    #expect(disposition(of: error) == .tooMuch(reason: "statement-timeout", message: "25P04 m"))
  }

  @Test(
    "data and constraint errors, and program limits, are poison",
    arguments: ["22021", "22P05", "23505", "23514", "54000"])
  func poison(sqlstate: String) {
    let error = PostgresError(code: .server, sqlstate: sqlstate, message: "m")
    #expect(disposition(of: error) == .poison(reason: "\(sqlstate) m"))
  }

  @Test(
    "errors that only an operator can fix stop the worker and name the next step",
    arguments: [
      ("42P01", "magpie migrate"), ("42501", "GRANT"), ("28P01", "password"),
      ("3D000", "magpie migrate"), ("XX000", "Nothing was lost"), ("08P01", "Nothing was lost"),
    ])
  func stops(sqlstate: String, nextStep: String) {
    let error = PostgresError(code: .server, sqlstate: sqlstate, message: "m")
    #expect {
      _ = try reasonToRetry(error)
    } throws: { thrown in
      (thrown as? WorkerStopped)?.nextStep.contains(nextStep) == true
    }
  }

  @Test(
    "an internal error that ends the session, or keeps it from starting, is retried, also a pooler's",
    arguments: ["XX000", "08P01"])
  func endedSession(sqlstate: String) {
    let error = PostgresError(
      code: .connection, sqlstate: sqlstate, message: "m", isConnectionLost: true)
    #expect(disposition(of: error) == .retry(reason: "connection"))
  }

  @Test("the fence's SQLSTATE means fenced")
  func fenced() {
    let error = PostgresError(code: .server, sqlstate: "MG001", message: "fenced")
    #expect(disposition(of: error) == .fenced)
  }

  @Test("an unexpected error stops the worker instead of skipping records")
  func unforeseen() {
    struct Unforeseen: Error {}
    #expect(throws: WorkerStopped.self) { _ = try reasonToRetry(Unforeseen()) }
  }
}
