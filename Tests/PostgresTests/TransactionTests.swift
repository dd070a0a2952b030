import Postgres
import TestSupport
import Testing

@Suite struct TransactionTests {
  private struct Refused: Error {}

  private func connect() throws -> Connection {
    let connection = try Connection(TestDatabase.empty(), applicationName: "postgres tests")
    try connection.script("CREATE TABLE t (x int)")
    return connection
  }

  private func count(_ connection: Connection) throws -> Int {
    try connection.query("SELECT count(*) FROM t").only.int(0)
  }

  @Test("a transaction commits what its body did and returns its value")
  func commits() throws {
    let connection = try connect()
    let value = try connection.transaction {
      #expect(connection.status == .inTransaction)
      try connection.query("INSERT INTO t VALUES (1)")
      return 7
    }
    #expect(value == 7)
    #expect(connection.status == .idle)
    #expect(try count(connection) == 1)
  }

  @Test("a transaction whose body throws is rolled back and rethrows the error")
  func rollsBack() throws {
    let connection = try connect()
    #expect(throws: Refused.self) {
      try connection.transaction {
        try connection.query("INSERT INTO t VALUES (1)")
        throw Refused()
      }
    }
    #expect(connection.status == .idle)
    #expect(try count(connection) == 0)
  }

  @Test("a body that swallows an error cannot commit silently")
  func swallowedError() throws {
    let connection = try connect()
    let error = #expect(throws: PostgresError.self) {
      try connection.transaction {
        try connection.query("INSERT INTO t VALUES (1)")
        _ = try? connection.query("SELECT 1/0")
      }
    }
    #expect(error?.sqlstate == "25P02")
    #expect(connection.status == .idle)
    #expect(try count(connection) == 0)
  }

  @Test(
    "COMMIT of a failed transaction is an error by every way of sending it",
    arguments: ["COMMIT", "commit;", " END "])
  func failedCommit(commit: String) throws {
    let connection = try connect()
    for send in [
      { try connection.query(commit) }, { _ = try connection.pipeline([Statement(commit)]) },
      { try connection.script(commit) },
    ] as [() throws -> Void] {
      try connection.query("BEGIN")
      #expect(throws: PostgresError.self) { try connection.query("SELECT 1/0") }
      #expect(connection.status == .inFailedTransaction)
      let error = #expect(throws: PostgresError.self) { try send() }
      #expect(error?.sqlstate == "25P02")
      #expect(connection.status == .idle)
    }
  }

  @Test("an explicit ROLLBACK is not an error")
  func wantedRollback() throws {
    let connection = try connect()
    try connection.query("BEGIN")
    _ = try? connection.query("SELECT 1/0")
    try connection.query("ROLLBACK")
    try connection.script("BEGIN; INSERT INTO t VALUES (1); ABORT")
    #expect(try count(connection) == 0)
  }

  @Test("a deferred constraint that fails at COMMIT is an error")
  func deferredConstraint() throws {
    let connection = try connect()
    try connection.script("CREATE TABLE u (x int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    let error = #expect(throws: PostgresError.self) {
      try connection.transaction { try connection.query("INSERT INTO u VALUES (1), (1)") }
    }
    #expect(error?.sqlstate == "23505")
    #expect(connection.status == .idle)
  }

  @Test("transactions do not nest")
  func nested() throws {
    let connection = try connect()
    let error = #expect(throws: PostgresError.self) {
      try connection.transaction { try connection.transaction {} }
    }
    #expect(error?.code == .usage)
    #expect(connection.status == .idle)
  }
}
