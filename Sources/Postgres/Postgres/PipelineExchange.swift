import CLibPQ

/// Runs one pipeline up to its Sync. Sends and receives at the same time, so that neither side
/// waits forever for the other to drain a full buffer.
struct PipelineExchange {
  /// The commands whose results are outstanding, in order.
  private enum Expected {
    case prepare(name: String, statement: Int)
    case statement(Int, name: String?)
    case deallocate(name: String)
    case sync
  }

  /// The most bytes to hand to libpq before flushing them to the server.
  private static let sendBufferBytes = 64 << 10

  private let socket: ServerSocket
  private let connection: OpaquePointer
  private(set) var prepared: PreparedStatements
  private let mayPrepare: Bool

  private var statements: [Statement] = []
  private var expected: [Expected] = []
  private var answered = 0
  private var results: [Rows] = []
  private var failure: PostgresError?

  init(socket: ServerSocket, prepared: PreparedStatements) throws {
    self.socket = socket
    self.prepared = prepared
    connection = try socket.open()
    // A failed transaction accepts only ROLLBACK, not PREPARE or DEALLOCATE.
    mayPrepare = prepared.limit > 0 && socket.status != .inFailedTransaction
  }

  mutating func run(_ statements: [Statement], _ encoded: [EncodedParameters]) throws -> [Rows] {
    self.statements = statements
    results.reserveCapacity(statements.count)
    guard PQenterPipelineMode(connection) == 1 else {
      throw PostgresError.usage("the connection is busy: \(socket.lastMessage())")
    }
    do {
      try sendAndReceive(encoded)
    } catch {
      // After an interruption the protocol state is unknown, so the connection cannot be reused.
      socket.close()
      throw failure(becauseOf: error)
    }
    guard PQexitPipelineMode(connection) == 1 else {
      let message = socket.lastMessage()
      socket.close()
      throw PostgresError.lost("the pipeline did not end: \(message)")
    }
    if let failure { throw failure }
    return results
  }

  private mutating func sendAndReceive(_ encoded: [EncodedParameters]) throws {
    if mayPrepare {
      for name in prepared.garbage { try deallocate(name) }
      prepared.garbage = []
    }
    var buffered = 0
    for (index, parameters) in encoded.enumerated() {
      let statement = statements[index]
      try send(statement, index, parameters)
      buffered += parameters.byteCount + statement.sql.utf8.count
      if buffered >= Self.sendBufferBytes {
        try receive(untilAnswered: false)
        buffered = 0
      }
    }
    try check(PQpipelineSync(connection))
    expected.append(.sync)
    try receive(untilAnswered: true)
  }

  private mutating func send(
    _ statement: Statement, _ index: Int, _ parameters: EncodedParameters
  ) throws {
    let count = Int32(parameters.lengths.count)
    let formats = [Int32](repeating: 1, count: parameters.lengths.count)
    // Statements without parameters are BEGIN, COMMIT, DDL and the like, not worth preparing.
    guard mayPrepare, count > 0 else {
      try check(
        parameters.withPointers {
          PQsendQueryParams(
            connection, statement.sql, count, parameters.types, $0, parameters.lengths, formats, 1)
        })
      return expected.append(.statement(index, name: nil))
    }
    let key = PreparedStatements.Key(sql: statement.sql, types: parameters.types)
    let name: String
    if let known = prepared.name(of: key) {
      name = known
    } else {
      let added = prepared.add(key)
      name = added.name
      if let evicted = added.evicted { try deallocate(evicted) }
      try check(PQsendPrepare(connection, name, statement.sql, count, parameters.types))
      expected.append(.prepare(name: name, statement: index))
    }
    try check(
      parameters.withPointers {
        PQsendQueryPrepared(connection, name, count, $0, parameters.lengths, formats, 1)
      })
    expected.append(.statement(index, name: name))
  }

  private mutating func deallocate(_ name: String) throws {
    try check(
      PQsendQueryParams(connection, "DEALLOCATE \"\(name)\"", 0, nil, nil, nil, nil, 1))
    expected.append(.deallocate(name: name))
  }

  private func check(_ success: Int32) throws {
    guard success == 1 else { throw PostgresError.lost(socket.lastMessage()) }
  }

  /// Sends what libpq has buffered and processes results as they arrive, until everything is sent,
  /// or answered.
  private mutating func receive(untilAnswered: Bool) throws {
    var deadline = socket.silenceDeadline(statements: expected.count - answered)
    while true {
      let flushed = PQflush(connection)
      let before = answered
      // Process results before reporting a failed flush: the server may have sent the reason for
      // closing the connection.
      try processArrived()
      if answered > before {
        deadline = socket.silenceDeadline(statements: expected.count - answered)
      }
      if flushed < 0 || PQstatus(connection) == CONNECTION_BAD {
        throw PostgresError.lost(socket.lastMessage())
      }
      if untilAnswered ? answered == expected.count : flushed == 0 { return }
      do {
        try socket.exchange(connection, unsent: flushed == 1, deadline: deadline)
      } catch {
        try processArrived()
        throw error
      }
    }
  }

  private mutating func processArrived() throws {
    // libpq returns nil after the results of each statement; its contract promises nothing about a
    // second nil.
    var idleAnswers = 0
    while answered < expected.count, PQisBusy(connection) == 0 {
      guard let result = PQgetResult(connection) else {
        idleAnswers += 1
        if idleAnswers > 1 { return }
        continue
      }
      idleAnswers = 0
      try take(result)
    }
  }

  private mutating func take(_ result: OpaquePointer) throws {
    let status = PQresultStatus(result)
    let current = expected[answered]
    if status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY {
      answered += 1
      guard case .statement(let index, _) = current else { return PQclear(result) }
      let rows = Rows(result: ResultStorage(result))
      results.append(rows)
      if var error = unwantedRollback(tag: rows.commandTag, sql: statements[index].sql) {
        error.statementIndex = index
        failure = failure ?? error
      }
      return
    }
    defer { PQclear(result) }
    switch status {
    case PGRES_PIPELINE_SYNC:
      answered += 1
      guard case .sync = current else {
        throw PostgresError(code: .protocol, message: "unexpected end of the pipeline")
      }
    case PGRES_FATAL_ERROR, PGRES_PIPELINE_ABORTED:
      answered += 1
      recordFailure(current, status == PGRES_FATAL_ERROR ? PostgresError(result: result) : nil)
    default:
      throw PostgresError(
        code: .usage,
        message: "COPY is not possible in a pipeline; use copyIn. The connection has been closed",
        isConnectionLost: true)
    }
  }

  /// Records a command that failed (`error`), or that was skipped after an earlier failure (nil).
  private mutating func recordFailure(_ command: Expected, _ error: PostgresError?) {
    var index: Int?
    switch command {
    case .prepare(let name, let statement):
      prepared.forget(name: name)
      index = statement
    case .statement(let statement, let name):
      index = statement
      if let name, let state = error?.sqlstate, state == "0A000" || state == "26000" {
        // "cached plan must not change result type", or the statement was deallocated, as by
        // DEALLOCATE ALL.
        prepared.forget(name: name)
        if state == "0A000" { prepared.garbage.append(name) }
      }
    case .deallocate(let name):
      if error == nil { prepared.garbage.append(name) }
    case .sync:
      break
    }
    guard var error else { return }
    error.statementIndex = index
    failure = failure ?? error
  }

  /// The error to report if the exchange was interrupted: the server's last error, if there was
  /// one.
  private func failure(becauseOf error: any Error) -> any Error {
    guard var failure else {
      guard var lost = error as? PostgresError, answered < expected.count else { return error }
      if case .statement(let index, _) = expected[answered] { lost.statementIndex = index }
      return lost
    }
    failure.isConnectionLost = true
    return failure
  }
}
