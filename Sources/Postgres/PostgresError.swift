/// What went wrong with a database, in words a person can act on.
///
/// Never contains the password of the connection, nor any piece of a connection string that could
/// not be parsed.
public struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Where the error arose.
  public enum Code: String, Sendable {
    /// The connection could not be made, or was lost.
    case connection
    /// No connection was made because one side does not believe the other's certificate, or one
    /// insists on TLS that the other does not offer. Trying again does not help.
    case untrusted
    /// The server refused a statement; `sqlstate` says why.
    case server
    /// The server answered something this library does not understand.
    case `protocol`
    /// A column does not hold what the caller asked for (type, NULL, unknown name).
    case decoding
    /// The caller's mistake, found before anything was sent.
    case usage
  }

  /// Where the error arose.
  public var code: Code
  /// The five-character SQLSTATE; `08001` when no connection could be made, `08006` when it was
  /// lost without the server saying more, nil for `decoding` and `usage`.
  public var sqlstate: String?
  /// What happened and what to do about it.
  public var message: String
  /// The server's DETAIL.
  public var detail: String?
  /// The server's HINT.
  public var hint: String?
  /// The constraint that was violated.
  public var constraint: String?
  /// The table it happened in.
  public var table: String?
  /// Which statement of a pipeline failed, counted from 0.
  public var statementIndex: Int?
  /// The connection is gone: open another one. The statements that were on their way may have been
  /// executed or not.
  public var isConnectionLost: Bool
  /// The statement ran into the session's `statement_timeout`. SQLSTATE 57014 says only that it was
  /// canceled; what the time says tells this from somebody's `pg_cancel_backend`, whatever language the
  /// server speaks.
  public var isStatementTimeout = false

  /// An error; retry classifiers use this in their tests.
  public init(
    code: Code, sqlstate: String? = nil, message: String, detail: String? = nil,
    hint: String? = nil, constraint: String? = nil, table: String? = nil,
    statementIndex: Int? = nil, isConnectionLost: Bool = false
  ) {
    self.code = code
    self.sqlstate = sqlstate
    self.message = message
    self.detail = detail
    self.hint = hint
    self.constraint = constraint
    self.table = table
    self.statementIndex = statementIndex
    self.isConnectionLost = isConnectionLost
  }

  /// One line: SQLSTATE, message, and whatever the server added.
  public var description: String {
    var text = "PostgreSQL"
    if let sqlstate { text += " \(sqlstate)" }
    if let statementIndex { text += " (statement \(statementIndex))" }
    text += ": \(message)"
    if let detail { text += "; detail: \(detail)" }
    if let hint { text += "; hint: \(hint)" }
    if let constraint { text += "; constraint: \(constraint)" }
    if let table { text += "; table: \(table)" }
    return text
  }

  static func usage(_ message: String) -> PostgresError {
    PostgresError(code: .usage, message: message)
  }

  static func decoding(_ message: String) -> PostgresError {
    PostgresError(code: .decoding, message: message)
  }

  static func lost(_ message: String) -> PostgresError {
    PostgresError(
      code: .connection, sqlstate: "08006",
      message: "the connection to PostgreSQL was lost: \(message)", isConnectionLost: true)
  }
}
