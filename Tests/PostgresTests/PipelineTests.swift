import Postgres
import TestSupport
import Testing

@Suite struct PipelineTests {
  private func connect() throws -> Connection {
    try Connection(TestDatabase.empty(), applicationName: "postgres tests")
  }

  @Test("the statements of a pipeline run in order, with one result each")
  func answersInOrder() throws {
    let connection = try connect()
    let answers = try connection.pipeline([
      Statement("BEGIN"),
      Statement("CREATE TABLE t (id bigint PRIMARY KEY, name text)"),
      Statement(
        "INSERT INTO t SELECT * FROM unnest($1, $2)",
        [.int8Array([1, 2, 3]), .textArray(["a", nil, "ü"])]),
      Statement("SELECT id, name FROM t WHERE id >= $1 ORDER BY id", [.int8(2)]),
      Statement("COMMIT"),
    ])
    #expect(
      answers.map(\.commandTag) == ["BEGIN", "CREATE TABLE", "INSERT 0 3", "SELECT 2", "COMMIT"])
    #expect(answers[2].affectedRows == 3)
    #expect(answers[3].columnNames == ["id", "name"])
    #expect(try answers[3].map { try $0.int("id") } == [2, 3])
    #expect(try answers[3].map { try $0.textOrNil(1) } == [nil, "ü"])
    #expect(connection.status == .idle)
  }

  @Test("a pipeline larger than every buffer in both directions does not deadlock")
  func largeBothWays() throws {
    let connection = try connect()
    let large = String(repeating: "까치", count: 100_000)
    let statements = (0..<200).map { Statement("SELECT $1 || $2", [.text(large), .text("\($0)")]) }
    let answers = try connection.pipeline(statements)
    #expect(answers.count == 200)
    for (index, rows) in answers.enumerated() {
      let text = try rows.only.text(0)
      #expect(text.utf8.count == large.utf8.count + "\(index)".utf8.count)
      #expect(text.hasSuffix("치\(index)"))
    }
  }

  @Test(
    "the first error ends a pipeline, has its statement's index, and keeps the connection usable")
  func firstErrorEnds() throws {
    let connection = try connect()
    try connection.script("CREATE TABLE t (id bigint CONSTRAINT positive CHECK (id > 0))")
    let error = #expect(throws: PostgresError.self) {
      try connection.pipeline([
        Statement("INSERT INTO t VALUES ($1)", [.int8(1)]),
        Statement("INSERT INTO t VALUES ($1)", [.int8(-1)]),
        Statement("SELECT 1/0"),
      ])
    }
    #expect(error?.sqlstate == "23514")
    #expect(error?.statementIndex == 1)
    #expect(error?.constraint == "positive")
    #expect(error?.table == "t")
    #expect(error?.isConnectionLost == false)
    // Outside a transaction block a pipeline is one transaction.
    #expect(try connection.query("SELECT count(*) FROM t").only.int(0) == 0)
  }
}
