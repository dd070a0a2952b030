import CLibPQ

extension ServerSocket {
  /// Runs SQL text with the simple query protocol and discards the results.
  func runScript(_ sql: String) throws {
    let connection = try open()
    guard PQsendQuery(connection, sql) == 1 else { throw closeAsLost() }
    // One statement_timeout covers the whole text.
    if let error = try receiveSimple(connection, sql: sql).error { throw error }
  }

  /// Receives the results of a simple query up to their end, or up to a COPY that waits for data.
  func receiveSimple(
    _ connection: OpaquePointer, sql: String
  ) throws -> (error: PostgresError?, wantsCopyData: Bool, affectedRows: Int) {
    var failure: PostgresError?
    var affectedRows = 0
    while true {
      try awaitAnswer(connection)
      guard let pointer = PQgetResult(connection) else {
        if PQstatus(connection) == CONNECTION_BAD { throw failure ?? closeAsLost() }
        return (failure, false, affectedRows)
      }
      let result = ResultStorage(pointer)
      switch PQresultStatus(pointer) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY, PGRES_SINGLE_TUPLE:
        affectedRows = result.affectedRows
        failure = failure ?? unwantedRollback(tag: result.commandTag, sql: sql)
      case PGRES_COPY_IN:
        return (failure, true, affectedRows)
      case PGRES_FATAL_ERROR:
        var error = PostgresError(result: pointer)
        if PQstatus(connection) == CONNECTION_BAD {
          error.isConnectionLost = true
          error.code = .connection
          error.sqlstate = error.sqlstate ?? "08006"
          close()
          throw error
        }
        failure = failure ?? error
      default:
        close()
        throw PostgresError(
          code: .usage, message: "COPY TO is not supported; the connection was closed",
          isConnectionLost: true)
      }
    }
  }

  /// Flushes libpq's buffer and waits until a result (or the end of the results) is available.
  func awaitAnswer(_ connection: OpaquePointer) throws {
    let deadline = silenceDeadline(statements: 1)
    while true {
      let flushed = PQflush(connection)
      if flushed == 0, PQisBusy(connection) == 0 { return }
      if flushed < 0, PQisBusy(connection) == 0 { return }
      do {
        try exchange(connection, unsent: flushed == 1, deadline: deadline)
      } catch {
        // An error that the server sent before closing is available now.
        if PQisBusy(connection) == 0 { return }
        close()
        throw error
      }
    }
  }

  func closeAsLost() -> PostgresError {
    let error = PostgresError.lost(lastMessage())
    close()
    return error
  }
}
