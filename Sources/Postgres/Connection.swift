import CLibPQ

/// A connection to PostgreSQL.
///
/// Not `Sendable`: one thread (or one isolation) uses it. Every call blocks until the server has
/// answered. A lost connection stays lost: `status` is `.closed` and every call throws; open another
/// one.
public final class Connection {
  /// What the server thinks of this session, as of the last answer.
  public enum Status: Sendable {
    /// No transaction is open.
    case idle
    /// A transaction is open.
    case inTransaction
    /// A statement of the transaction failed: only ROLLBACK helps.
    case inFailedTransaction
    /// Lost, or closed by `close`: of no further use.
    case closed
  }

  /// How many prepared statements are kept; the least recently used goes first. 0 prepares none,
  /// which poolers without protocol-level prepared statements need.
  public var preparedStatementLimit: Int {
    didSet { prepared.limit = preparedStatementLimit }
  }

  /// Where the connection leads; no password.
  public let info: ConnectionInfo

  var socket: ServerSocket
  var prepared = PreparedStatements()

  /// Connects.
  ///
  /// Sets UTF8, UTC and, if the server, role or URL set no `statement_timeout`, one of
  /// `statementTimeoutSeconds`. TCP connections are probed, so that a vanished server is noticed
  /// within half a minute; the URL's own keepalive settings win.
  ///
  /// - Parameters:
  ///   - url: `postgresql://…` or libpq's key=value form.
  ///   - applicationName: shown in `pg_stat_activity`, unless the URL names another.
  ///   - connectTimeoutSeconds: the bound on the whole of connecting, name resolution excepted.
  ///   - statementTimeoutSeconds: the bound on one statement, also on one that waits for a lock.
  ///   - preparedStatementLimit: from the first statement on; see the property.
  /// - Throws: `usage` when the URL cannot be parsed; `connection` when nobody answers (SQLSTATE
  ///   `08001`) or the server refuses (`28P01` wrong password, `3D000` unknown database, `53300` too
  ///   many connections, ...).
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
    // PGTZ and PGDATESTYLE in the environment come after the startup packet's own settings.
    try script("SET TimeZone TO 'UTC'")
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

  /// In a transaction block, failed or not.
  public var isInTransaction: Bool { status == .inTransaction || status == .inFailedTransaction }

  /// The process of the server that serves this connection, as in `pg_stat_activity.pid`.
  public var backendProcessID: Int32 { socket.backendProcessID }

  /// For another thread that wants to end the statement that runs here; nil once it is closed.
  public var cancellation: Cancellation? { socket.connection.flatMap(Cancellation.init) }

  /// Closes the connection; a transaction that is open is rolled back by the server. May be called
  /// twice.
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

  /// Runs statements in order in one round trip, however large they are.
  ///
  /// The first that fails ends it: the rest is not executed. Outside a transaction block the
  /// statements form one transaction of their own, unless they say BEGIN themselves. COPY is not
  /// possible here.
  ///
  /// - Returns: one result per statement.
  /// - Throws: the first error, with its `statementIndex`. A COMMIT that was answered with ROLLBACK
  ///   (because the transaction had failed earlier) is an error too.
  public func pipeline(_ statements: [Statement]) throws -> [Rows] {
    guard !statements.isEmpty else { return [] }
    // All are encoded before the first is sent: a value that cannot be sent must not leave half a
    // pipeline behind.
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
    // Moved, not shared: two owners would make each use copy the whole cache.
    prepared = PreparedStatements()
    defer { prepared = exchange.prepared }
    return try noticingTimeout { try exchange.run(statements, encoded) }
  }

  /// Says of a canceled statement whether it had used up its time.
  func noticingTimeout<T>(_ body: () throws -> T) throws -> T {
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

  /// Runs SQL text that may hold several statements, without parameters (migrations, SET).
  ///
  /// Without BEGIN in the text all of it is one transaction.
  public func script(_ sql: String) throws {
    guard !sql.utf8.contains(0) else {
      throw PostgresError.usage("the SQL text contains a NUL byte")
    }
    try noticingTimeout { try socket.runScript(sql) }
  }

  /// What the server stores of a password, as `CREATE ROLE … PASSWORD` takes it, so that the password
  /// itself is neither sent nor logged. Asks the server which method it uses.
  public func encrypted(password: String, user: String) throws -> String {
    guard !password.utf8.contains(0), !user.utf8.contains(0) else {
      throw PostgresError.usage("the password or the user contains a NUL byte")
    }
    let method = try query("SELECT current_setting('password_encryption')").only.text(0)
    return try socket.encrypted(password: password, user: user, method: method)
  }

  /// Runs `body` between BEGIN and COMMIT; rolls back when it throws.
  ///
  /// - Throws: what `body` throws; an error with SQLSTATE `25P02` when the server answered COMMIT with
  ///   ROLLBACK because a statement had failed and the error was swallowed. If the connection is
  ///   lost during COMMIT, nobody knows whether it happened: `isConnectionLost` is true.
  public func transaction<T>(_ body: () throws -> T) throws -> T {
    guard !isInTransaction else {
      throw PostgresError.usage("a transaction is open already; PostgreSQL does not nest them")
    }
    try query("BEGIN")
    let value: T
    do {
      value = try body()
    } catch {
      // The first error is the one to report; if ROLLBACK fails the connection is of no use.
      if status != .closed {
        do { try query("ROLLBACK") } catch { close() }
      }
      throw error
    }
    try query("COMMIT")
    return value
  }
}
