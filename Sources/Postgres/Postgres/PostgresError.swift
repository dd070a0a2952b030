/// A database error, with a message that says what to do.
///
/// Never contains the connection's password or any part of a connection string that could not be
/// parsed.
public struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Where the error arose.
  public enum Code: String, Sendable {
    /// The connection could not be established, or was lost.
    case connection
    /// The connection could not be established because a certificate was rejected, or because one
    /// side requires TLS and the other does not offer it. Retrying cannot fix it.
    case untrusted
    /// The server rejected a statement; `sqlstate` says why.
    case server
    /// The server sent something that this library does not understand.
    case `protocol`
    /// A column is unknown, NULL, or of a different type than requested.
    case decoding
    /// A mistake of the caller, detected before anything was sent.
    case usage
  }

  /// Where the error arose.
  public var code: Code
  /// The five-character SQLSTATE; `08001` if no connection could be established, `08006` if it was
  /// lost without an error from the server, nil for `decoding` and `usage`.
  public var sqlstate: String?
  /// What happened and what to do.
  public var message: String
  /// The server's DETAIL.
  public var detail: String?
  /// The server's HINT.
  public var hint: String?
  /// The violated constraint.
  public var constraint: String?
  /// The table concerned.
  public var table: String?
  /// The index of the failed statement in a pipeline, from 0.
  public var statementIndex: Int?
  /// The connection is lost: open a new one. Statements in flight may or may not have been
  /// executed.
  public var isConnectionLost: Bool
  /// The statement exceeded the session's `statement_timeout`. SQLSTATE 57014 only says that it was
  /// cancelled; its duration distinguishes a timeout from `pg_cancel_backend`, in any server
  /// locale.
  public var isStatementTimeout = false

  /// Creates an error; public for tests of retry classifiers.
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

  /// One line: SQLSTATE, message, and the server's additional fields.
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

  /// Whether the session cannot write, as on a standby server.
  public var isReadOnly: Bool { sqlstate == "25006" }

  /// The error of a connection that is to write and cannot.
  public static func readOnly(_ info: ConnectionInfo) -> PostgresError {
    PostgresError(
      code: .connection, sqlstate: "25006",
      message: "PostgreSQL at \(info) accepts no writes",
      hint:
        "it may be a standby: connect to the primary, or name all hosts in the database URL with "
        + "target_session_attrs=read-write; SHOW transaction_read_only tells whether a session can write"
    )
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
