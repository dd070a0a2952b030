import Postgres
import TestSupport
import Testing

@Suite struct PreparedStatementTests {
  private func connect() throws -> Connection {
    try Connection(TestDatabase.empty(), applicationName: "postgres tests")
  }

  private func preparedCount(_ connection: Connection) throws -> Int {
    try connection.query("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'magpie%'")
      .only.int(0)
  }

  @Test("statements with parameters are prepared once, up to the limit")
  func limit() throws {
    let connection = try connect()
    connection.preparedStatementLimit = 3
    for round in 0..<3 {
      for number in 0..<10 {
        let rows = try connection.query("SELECT $1 + \(number)", [.int8(Int64(round))])
        #expect(try rows.only.int(0) == round + number)
        #expect(try preparedCount(connection) <= 3)
      }
    }
    let many = (0..<50).map { Statement("SELECT $1 + \($0)", [.int8(1)]) }
    #expect(try connection.pipeline(many).map { try $0.only.int(0) } == (0..<50).map { $0 + 1 })
    #expect(try preparedCount(connection) <= 3)
  }

  @Test("a limit of 0 prepares nothing")
  func switchedOff() throws {
    let connection = try connect()
    let before = try preparedCount(connection)
    connection.preparedStatementLimit = 0
    #expect(try connection.query("SELECT $1", [.int4(5)]).only.int(0) == 5)
    #expect(try preparedCount(connection) == before)
  }

  @Test("the same text with different types is a different statement")
  func types() throws {
    let connection = try connect()
    #expect(try connection.query("SELECT $1", [.int4(5)]).only.int(0) == 5)
    #expect(try connection.query("SELECT $1", [.text("x")]).only.text(0) == "x")
    #expect(try connection.query("SELECT $1", [.int4(6)]).only.int(0) == 6)
  }

  @Test("the cache of prepared statements is correct after a failed pipeline")
  func afterFailure() throws {
    let connection = try connect()
    connection.preparedStatementLimit = 2
    for _ in 0..<5 {
      #expect(throws: PostgresError.self) {
        try connection.pipeline([
          Statement("SELECT 10 / $1", [.int4(0)]), Statement("SELECT $1 + 1", [.int4(1)]),
          Statement("SELECT $1 + 2", [.int4(1)]), Statement("SELECT $1 + 3", [.int4(1)]),
        ])
      }
      #expect(throws: PostgresError.self) { try connection.query("SELECT $1 FRM", [.int4(1)]) }
      #expect(try connection.query("SELECT $1 + 2", [.int4(1)]).only.int(0) == 3)
      #expect(try connection.query("SELECT 10 / $1", [.int4(5)]).only.int(0) == 2)
      #expect(try preparedCount(connection) <= 2)
    }
  }

  @Test("a failed transaction can be rolled back while deallocations are pending")
  func rollbackAfterFailure() throws {
    let connection = try connect()
    connection.preparedStatementLimit = 1
    for number in 0..<4 {
      try connection.query("BEGIN")
      #expect(throws: PostgresError.self) {
        try connection.pipeline([
          Statement("SELECT $1 + \(number)", [.int4(1)]),
          Statement("SELECT \(number) / $1", [.int4(0)]),
          Statement("SELECT $1 * \(number)", [.int4(1)]),
        ])
      }
      try connection.query("ROLLBACK")
      #expect(connection.status == .idle)
    }
  }

  @Test("after ALTER TABLE a cached statement fails once, then works")
  func changedTable() throws {
    let connection = try connect()
    try connection.script("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
    let statement = Statement("SELECT * FROM t WHERE a = $1", [.int4(1)])
    #expect(try connection.query(statement).columnNames == ["a"])
    try connection.script("ALTER TABLE t ADD b text")
    let error = #expect(throws: PostgresError.self) { try connection.query(statement) }
    #expect(error?.sqlstate == "0A000")
    #expect(try connection.query(statement).columnNames == ["a", "b"])
  }

  @Test("after DISCARD ALL a cached statement fails once, then works")
  func discarded() throws {
    let connection = try connect()
    let statement = Statement("SELECT $1", [.int4(1)])
    try connection.query(statement)
    try connection.query("DISCARD ALL")
    let error = #expect(throws: PostgresError.self) { try connection.query(statement) }
    #expect(error?.sqlstate == "26000")
    #expect(try connection.query(statement).only.int(0) == 1)
  }
}
