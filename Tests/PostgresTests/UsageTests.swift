import Postgres
import TestSupport
import Testing

/// The caller's mistakes are detected before anything is sent, and the connection stays usable.
@Suite struct UsageTests {
  private struct Refused: Error {}

  private func connect() throws -> Connection {
    let connection = try Connection(TestDatabase.empty(), applicationName: "postgres tests")
    try connection.script("CREATE TABLE t (x bigint, y text)")
    return connection
  }

  private func expectIntact(_ connection: Connection) throws {
    #expect(connection.status == .idle)
    #expect(try connection.query("SELECT count(*) FROM t").only.int(0) == 0)
  }

  @Test("NUL bytes in text are rejected with statement and parameter, and nothing is sent")
  func nulBytes() throws {
    let connection = try connect()
    for parameter in [
      .text("a\0b"), .text("\0"), .textArray(["a", nil, "b\0"]), .jsonbArray(["\0"]),
    ] as [Parameter] {
      let error = #expect(throws: PostgresError.self) {
        try connection.pipeline([
          Statement("INSERT INTO t VALUES (1)"), Statement("SELECT $1, $2", [.int4(1), parameter]),
        ])
      }
      #expect(error?.code == .usage)
      #expect(error?.statementIndex == 1)
      #expect(error?.message.contains("$2") == true)
      #expect(error?.message.contains("NUL") == true)
    }
    for attempt in [
      { try connection.query("SELECT 1\0") }, { try connection.script("SELECT 1\0; x") },
      { try connection.copyIn("COPY t\0") { _ in } },
    ] as [() throws -> Void] {
      #expect(throws: PostgresError.self) { try attempt() }
    }
    try expectIntact(connection)
  }

  @Test("a server error has SQLSTATE, detail, constraint and table")
  func serverErrors() throws {
    let connection = try connect()
    try connection.script("CREATE UNIQUE INDEX only_once ON t (x)")
    try connection.query("BEGIN")
    try connection.query("INSERT INTO t VALUES (1)")
    let error = #expect(throws: PostgresError.self) {
      try connection.query("INSERT INTO t VALUES ($1)", [.int8(1)])
    }
    #expect(error?.code == .server)
    #expect(error?.sqlstate == "23505")
    #expect(error?.constraint == "only_once")
    #expect(error?.table == "t")
    #expect(error?.detail?.contains("(x)=(1)") == true)
    #expect(error?.statementIndex == nil)
    #expect("\(error as Any)".contains("23505"))
    try connection.query("ROLLBACK")
    try expectIntact(connection)
  }

  @Test("a value of the wrong type for its column is a server error and is not converted")
  func wrongType() throws {
    let connection = try connect()
    let error = #expect(throws: PostgresError.self) {
      try connection.query("INSERT INTO t (x) VALUES ($1)", [.text("1")])
    }
    #expect(error?.sqlstate == "42804")
    try expectIntact(connection)
  }

  @Test("too many parameters and times out of range are rejected")
  func bounds() throws {
    let connection = try connect()
    let many = [Parameter](repeating: .int4(1), count: 65_536)
    #expect(throws: PostgresError.self) { try connection.query("SELECT 1", many) }
    #expect(throws: PostgresError.self) {
      try connection.query("SELECT $1", [.timestamptz(.min + 1)])
    }
    try expectIntact(connection)
  }

  @Test("an empty pipeline has no results; an empty statement has no rows")
  func empty() throws {
    let connection = try connect()
    #expect(try connection.pipeline([]).isEmpty)
    #expect(try connection.query("").isEmpty)
    try connection.script("")
    try expectIntact(connection)
  }

  @Test("COPY in a pipeline is rejected")
  func copyInPipeline() throws {
    let connection = try connect()
    let error = #expect(throws: PostgresError.self) {
      try connection.query("COPY t FROM STDIN (FORMAT binary)")
    }
    #expect(error?.message.contains("copyIn") == true)
    #expect(connection.status == .closed)
  }

  @Test("a COPY whose body throws stores nothing and rethrows the error")
  func copyGivenUp() throws {
    let connection = try connect()
    #expect(throws: Refused.self) {
      try connection.copyIn("COPY t FROM STDIN (FORMAT binary)") { writer in
        for number in 0..<20_000 as Range<Int64> {
          try writer.row(columns: 2)
          try writer.int8(number)
          try writer.text("y")
        }
        throw Refused()
      }
    }
    try expectIntact(connection)
  }

  @Test("a COPY that the server rejects is an error, and the connection stays usable")
  func copyRefused() throws {
    let connection = try connect()
    let early = #expect(throws: PostgresError.self) {
      try connection.copyIn("COPY no_such FROM STDIN (FORMAT binary)") { _ in }
    }
    #expect(early?.sqlstate == "42P01")
    let late = #expect(throws: PostgresError.self) {
      try connection.copyIn("COPY t FROM STDIN (FORMAT binary)") { writer in
        for number in 0..<200_000 as Range<Int64> {
          try writer.row(columns: 2)
          if number == 10 { try writer.text("1234") } else { try writer.int8(number) }
          try writer.text("y")
        }
      }
    }
    #expect(["22P03", "08P01"].contains(late?.sqlstate))
    let noCopy = #expect(throws: PostgresError.self) { try connection.copyIn("SELECT 1") { _ in } }
    #expect(noCopy?.code == .usage)
    #expect(try connection.copyIn("COPY t FROM STDIN (FORMAT binary)") { _ in } == 0)
    try expectIntact(connection)
  }

  @Test("COPY inside a transaction is part of it")
  func copyInTransaction() throws {
    let connection = try connect()
    _ = try? connection.transaction {
      let count = try connection.copyIn("COPY t FROM STDIN (FORMAT binary)") { writer in
        try writer.row(columns: 2)
        try writer.int8(1)
        try writer.text(nil)
      }
      #expect(count == 1)
      throw Refused()
    }
    try expectIntact(connection)
  }
}
