import CLibPQ

extension ServerSocket {
  /// Runs SQL text through the simple protocol and discards what it returns.
  func runScript(_ sql: String) throws {
    let connection = try open()
    guard PQsendQuery(connection, sql) == 1 else { throw lostNow() }
    // One statement_timeout covers the whole text.
    if let error = try receiveSimple(connection, sql: sql).error { throw error }
  }

  /// Receives the results of a simple query up to its end, or up to a COPY that waits for data.
  func receiveSimple(
    _ connection: OpaquePointer, sql: String
  ) throws -> (error: PostgresError?, wantsCopyData: Bool, affectedRows: Int) {
    var failure: PostgresError?
    var affectedRows = 0
    while true {
      try awaitAnswer(connection)
      guard let pointer = PQgetResult(connection) else {
        if PQstatus(connection) == CONNECTION_BAD { throw failure ?? lostNow() }
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

  /// Sends everything libpq holds and waits until a result (or the end of them) can be taken.
  func awaitAnswer(_ connection: OpaquePointer) throws {
    let deadline = silenceDeadline(statements: 1)
    while true {
      let flushed = PQflush(connection)
      if flushed == 0, PQisBusy(connection) == 0 { return }
      if flushed < 0, PQisBusy(connection) == 0 { return }
      do {
        try exchange(connection, unsent: flushed == 1, deadline: deadline)
      } catch {
        // The server's last words, if any, can be taken now.
        if PQisBusy(connection) == 0 { return }
        close()
        throw error
      }
    }
  }

  func lostNow() -> PostgresError {
    let error = PostgresError.lost(lastMessage())
    close()
    return error
  }
}
