import EmbeddedStack
import Foundation
import TestSupport
import Testing

@testable import Postgres

/// Loses the connection in each phase of its life; each time the error reports it immediately.
@Suite struct ConnectionLossTests {
  /// Terminates the session `victim` as soon as `condition` holds for its row of
  /// `pg_stat_activity`.
  private func terminate(_ url: String, _ victim: Int32, when condition: String) async throws {
    let killer = try Connection(url, applicationName: "killer")
    try await eventually {
      try killer.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND \(condition)",
        [.int4(victim)]
      ).count == 1
    }
  }

  private func expectLost(_ connection: Connection, _ error: PostgresError?) {
    #expect(error?.isConnectionLost == true, "\(String(describing: error))")
    #expect(["57P01", "08006"].contains(error?.sqlstate), "\(String(describing: error))")
    #expect(connection.status == .closed)
    #expect(!connection.isInTransaction)
    for attempt in [
      { try connection.query("SELECT 1") }, { try connection.script("SELECT 1") },
      { try connection.transaction {} },
      { try connection.copyIn("COPY t FROM STDIN (FORMAT binary)") { _ in } },
    ] as [() throws -> Void] {
      let later = #expect(throws: PostgresError.self) { try attempt() }
      #expect(later?.isConnectionLost == true)
      #expect(later?.sqlstate == "08003")
    }
  }

  @Test("lost while idle")
  func whileIdle() async throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "victim")
    try await terminate(url, connection.backendProcessID, when: "state = 'idle'")
    expectLost(
      connection, #expect(throws: PostgresError.self) { try connection.query("SELECT 1") })
  }

  @Test("lost inside a transaction")
  func insideTransaction() async throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "victim")
    try connection.query("BEGIN")
    try await terminate(url, connection.backendProcessID, when: "state = 'idle in transaction'")
    expectLost(connection, #expect(throws: PostgresError.self) { try connection.query("COMMIT") })
  }

  @Test("lost in the middle of a pipeline: the error has the index of the statement")
  func insidePipeline() async throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "victim")
    let error = #expect(throws: PostgresError.self) {
      try connection.pipeline([
        Statement("SELECT $1", [.int4(1)]),
        Statement("SELECT pg_terminate_backend(pg_backend_pid()), $1", [.int4(1)]),
        Statement("SELECT $1", [.int4(1)]),
      ])
    }
    #expect(error?.sqlstate == "57P01")
    #expect(error?.statementIndex == 1)
    expectLost(connection, error)
  }

  @Test("lost while a pipeline waits for its answer")
  func waitingForAnswer() async throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "victim")
    let victim = connection.backendProcessID
    try Connection(url, applicationName: "test").script(
      """
      CREATE PROCEDURE terminate_sleeper(victim int) LANGUAGE plpgsql AS $$
      BEGIN
        LOOP
          PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE pid = victim AND wait_event = 'PgSleep';
          EXIT WHEN FOUND;
          COMMIT;
          PERFORM pg_sleep(0.02);
        END LOOP;
      END $$
      """)
    // A thread, because a task may not run before the sleep is over while other tests block the
    // pool.
    Thread.detachNewThread {
      try? Connection(url, applicationName: "killer").script("CALL terminate_sleeper(\(victim))")
    }
    let error = #expect(throws: PostgresError.self) {
      try connection.pipeline([
        Statement("BEGIN"), Statement("SELECT pg_sleep(\(hangLimitSeconds))"),
      ])
    }
    expectLost(connection, error)
  }

  @Test("lost while a large pipeline is being sent")
  func whileSending() async throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "victim")
    let large = String(repeating: "x", count: 1 << 20)
    let statements =
      [Statement("SELECT pg_terminate_backend(pg_backend_pid())")]
      + (0..<100).map { _ in Statement("SELECT $1", [.text(large)]) }
    expectLost(
      connection, #expect(throws: PostgresError.self) { try connection.pipeline(statements) })
  }

  @Test("lost during a script")
  func duringScript() async throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "victim")
    let error = #expect(throws: PostgresError.self) {
      try connection.script("SELECT 1; SELECT pg_terminate_backend(pg_backend_pid()); SELECT 2")
    }
    expectLost(connection, error)
  }

  @Test("lost during COPY")
  func duringCopy() async throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "victim")
    try connection.script("CREATE TABLE t (x bigint)")
    let killer = try Connection(url, applicationName: "killer")
    let error = #expect(throws: PostgresError.self) {
      try connection.copyIn("COPY t FROM STDIN (FORMAT binary)") { writer in
        for number in 0..<1_000_000 as Range<Int64> {
          if number == 1_000 {
            try killer.query(
              "SELECT pg_terminate_backend($1)", [.int4(connection.backendProcessID)])
          }
          try writer.row(columns: 1)
          try writer.int8(number)
        }
      }
    }
    expectLost(connection, error)
    #expect(try killer.query("SELECT count(*) FROM t").only.int(0) == 0)
  }

  @Test("lost in the body of a transaction: the first error is the one thrown")
  func insideTransactionBody() async throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "victim")
    let error = #expect(throws: PostgresError.self) {
      try connection.transaction {
        try connection.query("SELECT pg_terminate_backend(pg_backend_pid())")
      }
    }
    #expect(error?.sqlstate == "57P01")
    expectLost(connection, error)
  }

  @Test("the connection to a server that stops answering is closed after the timeout")
  func silentServer() async throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "victim")
    connection.socket.statementTimeoutMilliseconds = 1
    connection.socket.graceMilliseconds = 200
    let error = #expect(throws: PostgresError.self) {
      try connection.query("SELECT pg_sleep(\(hangLimitSeconds))")
    }
    #expect(error?.message.contains("silent") == true)
    expectLost(connection, error)
  }

  @Test("an immediate shutdown loses the connection, and the restarted server accepts a new one")
  func immediateStop() async throws {
    let cluster = try PrivateCluster.temporary()
    defer { cluster.stop() }
    let connection = try Connection(cluster.url(), applicationName: "victim")
    try connection.script("CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
    cluster.immediateStop()
    let error = #expect(throws: PostgresError.self) { try connection.query("SELECT 1") }
    #expect(error?.isConnectionLost == true)
    let refused = #expect(throws: PostgresError.self) {
      try Connection(cluster.url(), applicationName: "too early")
    }
    #expect(refused?.sqlstate == "08001")
    try cluster.restart()
    _ = try Connection(cluster.url(), applicationName: "again").query("SELECT 1")
  }
}
