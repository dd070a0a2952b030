import CLibPQ

/// A connection to PostgreSQL.
///
/// Not `Sendable`: only one thread (or one isolation) may use it. Every call blocks until the
/// server has answered. A lost connection stays lost: `status` is `.closed` and every call throws;
/// open a new one.
public final class Connection {
  /// The session's state as of the server's last answer.
  public enum Status: Sendable {
    /// No transaction is open.
    case idle
    /// A transaction is open.
    case inTransaction
    /// A statement in the transaction failed; only ROLLBACK is accepted.
    case inFailedTransaction
    /// Lost, or closed by `close`; no longer usable.
    case closed
  }

  /// The most prepared statements to keep; the least recently used is evicted. 0 disables
  /// preparing, for poolers without protocol-level prepared statements.
  public var preparedStatementLimit: Int {
    didSet { prepared.limit = preparedStatementLimit }
  }

  /// The connection's parameters. Its description has no password.
  public let info: ConnectionInfo

  var socket: ServerSocket
  var prepared = PreparedStatements()

  /// Connects.
  ///
  /// Sets UTF8, UTC, READ COMMITTED and, unless the server, role or URL sets a `statement_timeout`, one of
  /// `statementTimeoutSeconds`. TCP keepalives detect a vanished server within half a minute;
  /// keepalive settings in the URL take precedence.
  ///
  /// - Parameters:
  ///   - url: `postgresql://…` or libpq's key=value form.
  ///   - applicationName: the name in `pg_stat_activity`, unless the URL sets one.
  ///   - connectTimeoutSeconds: the timeout for connecting to one address, not including name resolution; the next
  ///     host or address of the URL is then tried. `connect_timeout` in the URL takes precedence. A server that
  ///     accepts the connection and then does not answer its first statement is given up half a minute later.
  ///   - statementTimeoutSeconds: the timeout of one statement, including waits for locks.
  ///   - preparedStatementLimit: the initial value of the property.
  /// - Throws: `usage` if the URL cannot be parsed; `connection` if there is no answer (SQLSTATE
  ///   `08001`) or the server rejects the connection (`28P01` wrong password, `3D000` unknown
  ///   database, `53300` too many connections, …).
  public init(
    _ url: String, applicationName: String, connectTimeoutSeconds: Int = 10,
    statementTimeoutSeconds: Int = 300, preparedStatementLimit: Int = 256
  ) throws {
    self.preparedStatementLimit = preparedStatementLimit
    prepared.limit = preparedStatementLimit
    info = try ConnectionInfo(url)
    socket = try ServerSocket(
      connectingTo: info, applicationName: applicationName,
      timeoutMilliseconds: connectTimeoutSeconds * 1000)
    // Until the server has told its own: it may fall silent now as well.
    socket.statementTimeoutMilliseconds = connectTimeoutSeconds * 1000
    // PGTZ and PGDATESTYLE in the environment override the startup packet's own settings. A statement after a
    // lock must see what others committed before it got the lock, whatever the server or role sets.
    try script(
      "SET TimeZone TO 'UTC'; SET default_transaction_isolation TO 'read committed'")
    try query(
      """
      SELECT set_config('statement_timeout', $1, false)
      WHERE current_setting('statement_timeout') = '0'
      """, [.text("\(statementTimeoutSeconds)s")])
    let timeout = try query(
      "SELECT setting::bigint FROM pg_catalog.pg_settings WHERE name = 'statement_timeout'")
    socket.statementTimeoutMilliseconds = try timeout.only.int(0)
  }

  deinit { socket.close() }

  /// The state of the session.
  public var status: Status { socket.status }

  /// Whether a transaction block is open, failed or not.
  public var isInTransaction: Bool { status == .inTransaction || status == .inFailedTransaction }

  /// Whether new transactions are read-only: the server is a standby, or a setting says so.
  ///
  /// Asks the server only if it has not reported the contrary, as PostgreSQL does since version 14, or if it is
  /// read-only. A pooler may have reported a server's earlier state, so that "no" may be outdated.
  public func isReadOnly() throws -> Bool {
    let isWritable = ["in_hot_standby", "default_transaction_read_only"].allSatisfy {
      socket.reportedSetting($0) == "off"
    }
    return try !isWritable
      && query("SELECT current_setting('transaction_read_only')").only.text(0) == "on"
  }

  /// The session's `statement_timeout`; 0 is none.
  public var statementTimeoutMilliseconds: Int { socket.statementTimeoutMilliseconds }

  /// Limits waits for locks to 30 s and to half of `statement_timeout`. Otherwise a wait could end as a
  /// statement that takes too long, which repeating does not help.
  public func limitLockWaits() throws {
    let statement = statementTimeoutMilliseconds
    try script("SET lock_timeout = \(statement > 0 ? min(30_000, max(1, statement / 2)) : 30_000)")
  }

  /// The process id of this connection's server process, as in `pg_stat_activity.pid`.
  public var backendProcessID: Int32 { socket.backendProcessID }

  /// Lets another thread cancel the running statement; nil once the connection is closed.
  public var cancellation: Cancellation? { socket.connection.flatMap(Cancellation.init) }

  /// Closes the connection; the server rolls back an open transaction. May be called repeatedly.
  public func close() { socket.close() }

  /// Runs one statement.
  @discardableResult
  public func query(_ statement: Statement) throws -> Rows {
    do {
      return try pipeline([statement])[0]
    } catch var error as PostgresError {
      error.statementIndex = nil
      throw error
    }
  }

  /// Runs one statement.
  @discardableResult
  public func query(_ sql: String, _ parameters: [Parameter] = []) throws -> Rows {
    try query(Statement(sql, parameters))
  }

  /// Runs statements in order in one round trip, regardless of their size.
  ///
  /// The first failure ends the pipeline: later statements are not executed. Outside a transaction
  /// block the statements form one transaction, unless they contain BEGIN. COPY is not possible in
  /// a pipeline.
  ///
  /// - Returns: one result per statement.
  /// - Throws: the first error, with its `statementIndex`. A COMMIT answered with ROLLBACK (because
  ///   the transaction had failed) is also an error.
  public func pipeline(_ statements: [Statement]) throws -> [Rows] {
    guard !statements.isEmpty else { return [] }
    // Encode all statements first: a value that cannot be sent must not leave half a pipeline
    // behind.
    let encoded = try statements.enumerated().map { index, statement in
      do {
        guard !statement.sql.utf8.contains(0) else {
          throw PostgresError.usage("the SQL text contains a NUL byte")
        }
        return try EncodedParameters(statement.parameters)
      } catch var error as PostgresError {
        error.statementIndex = index
        throw error
      }
    }
    var exchange = try PipelineExchange(socket: socket, prepared: prepared)
    // Move the cache instead of sharing it: with two owners every use would copy it.
    prepared = PreparedStatements()
    defer { prepared = exchange.prepared }
    return try markingTimeouts { try exchange.run(statements, encoded) }
  }

  /// Runs `body` and marks the error of a cancelled statement if it had reached the statement
  /// timeout.
  func markingTimeouts<T>(_ body: () throws -> T) throws -> T {
    let started = ContinuousClock.now
    do {
      return try body()
    } catch var error as PostgresError where error.sqlstate == "57014" {
      let limit = socket.statementTimeoutMilliseconds
      error.isStatementTimeout =
        limit > 0 && ContinuousClock.now - started >= .milliseconds(limit)
      throw error
    }
  }

  /// Runs SQL text that may contain several statements, without parameters (migrations, SET).
  ///
  /// The text runs as one transaction unless it contains BEGIN.
  public func script(_ sql: String) throws {
    guard !sql.utf8.contains(0) else {
      throw PostgresError.usage("the SQL text contains a NUL byte")
    }
    try markingTimeouts { try socket.runScript(sql) }
  }

  /// Encrypts a password as the server would store it, for `CREATE ROLE … PASSWORD`, so that the
  /// password itself is neither sent nor logged. Asks the server for the encryption method.
  public func encrypted(password: String, user: String) throws -> String {
    guard !password.utf8.contains(0), !user.utf8.contains(0) else {
      throw PostgresError.usage("the password or the user contains a NUL byte")
    }
    let method = try query("SELECT current_setting('password_encryption')").only.text(0)
    return try socket.encrypted(password: password, user: user, method: method)
  }

  /// Runs `body` between BEGIN and COMMIT; rolls back if it throws.
  ///
  /// - Throws: the error of `body`; or SQLSTATE `25P02` if the server answered COMMIT with ROLLBACK
  ///   because `body` swallowed a statement's error. If the connection is lost during COMMIT, the
  ///   outcome is unknown and `isConnectionLost` is true.
  public func transaction<T>(_ body: () throws -> T) throws -> T {
    guard !isInTransaction else {
      throw PostgresError.usage("a transaction is already open; PostgreSQL does not nest them")
    }
    try query("BEGIN")
    let value: T
    do {
      value = try body()
    } catch {
      // Report the first error. If ROLLBACK fails, the connection is unusable.
      if status != .closed {
        do { try query("ROLLBACK") } catch { close() }
      }
      throw error
    }
    try query("COMMIT")
    return value
  }
}
