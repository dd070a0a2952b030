import Foundation
import Postgres
import TestSupport
import Testing

/// Timeouts are distinguished from other cancellations.
@Suite struct StatementTimeoutTests {
  @Test func `statements, scripts, pipelines and COPY that time out are marked so`() throws {
    let connection = try Connection(
      TestDatabase.empty(), applicationName: "test", statementTimeoutSeconds: 1)
    func isTimeout(_ body: () throws -> Void) -> Bool {
      do { try body() } catch let error as PostgresError { return error.isStatementTimeout } catch {
      }
      return false
    }
    let statement = isTimeout { try connection.query("SELECT pg_sleep(60)") }
    let script = isTimeout { try connection.script("SELECT 1; SELECT pg_sleep(60)") }
    let pipeline = isTimeout {
      _ = try connection.pipeline([Statement("SELECT 1"), Statement("SELECT pg_sleep(60)")])
    }
    try connection.script(
      """
      CREATE TABLE t (x bigint);
      CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
      CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION slow();
      """)
    let copy = isTimeout {
      _ = try connection.copyIn("COPY t FROM STDIN (FORMAT binary)") { writer in
        try writer.row(columns: 1)
        try writer.int8(1)
      }
    }
    #expect([statement, script, pipeline, copy] == [true, true, true, true])
    let other = isTimeout { try connection.query("SELECT 1/0") }
    #expect(!other)
  }

  @Test func `waiting for a lock ends before the statement's timeout, whatever that is`() throws {
    let url = try TestDatabase.empty()
    let owner = try Connection(url, applicationName: "test")
    try owner.script("CREATE TABLE t ()")
    try owner.script("BEGIN; LOCK TABLE t")
    func limited(_ timeout: String) throws -> Connection {
      let connection = try Connection(
        "\(url) options='-c statement_timeout=\(timeout)'", applicationName: "test")
      try connection.limitLockWaits()
      return connection
    }
    let error = #expect(throws: PostgresError.self) { try limited("2s").query("SELECT FROM t") }
    #expect(error?.sqlstate == "55P03" && error?.isStatementTimeout == false)
    #expect(
      try limited("10min").query("SELECT current_setting('lock_timeout')").only.text(0) == "30s")
    try owner.script("ROLLBACK")
  }

  @Test func `a cancelled statement is not marked as timed out`() throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "test")
    let pid = connection.backendProcessID
    Thread.detachNewThread {
      guard let other = try? Connection(url, applicationName: "test") else { return }
      // Only while the statement sleeps: a server that is reading its next message ignores cancel
      // requests.
      while (try? other.query(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'",
        [.int4(pid)]))?.count == 0
      { Thread.sleep(forTimeInterval: 0.01) }
    }
    let error = #expect(throws: PostgresError.self) {
      try connection.query("SELECT pg_sleep(250)")
    }
    #expect(error?.sqlstate == "57014")
    #expect(error?.isStatementTimeout == false)
  }
}
