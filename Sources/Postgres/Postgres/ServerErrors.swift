import CLibPQ

extension PostgresError {
  /// Converts an error result of the server, with all its fields.
  init(result: OpaquePointer) {
    // The codes are those of libpq's PG_DIAG_ macros.
    func field(_ code: Character) -> String? {
      code.asciiValue.flatMap { PQresultErrorField(result, Int32($0)) }.map { String(cString: $0) }
    }
    let severity = field("V") ?? field("S") ?? "ERROR"
    let fatal = severity == "FATAL" || severity == "PANIC"
    let text = field("M") ?? PQresultErrorMessage(result).map { String(cString: $0) } ?? "unknown"
    let message = text.split(whereSeparator: \.isNewline).joined(separator: " ")
    guard let sqlstate = field("C") else {
      // No SQLSTATE: the message is libpq's own, because the connection was lost during the read.
      self = .lost(message)
      return
    }
    self.init(
      code: fatal ? .connection : .server, sqlstate: sqlstate, message: message,
      detail: field("D"), hint: field("H"), constraint: field("n"), table: field("t"),
      isConnectionLost: fatal)
  }

  /// The error of a failed connection attempt. `reason` is libpq's message at verbosity VERBOSE,
  /// for instance `connection to server at … failed: FATAL:  28P01: password authentication failed
  /// for user "x"`. `lacksPassword`: the server requested a password and libpq had none.
  static func refused(_ reason: String, _ info: ConnectionInfo, lacksPassword: Bool = false)
    -> PostgresError
  {
    // With sslmode=prefer libpq tries TLS and plaintext and reports both failures; a wrong password
    // takes precedence.
    if !reason.contains("28P01"), let hint = certificateHint(reason) {
      return PostgresError(
        code: .untrusted, sqlstate: "08001",
        message: "cannot connect to PostgreSQL at \(info): \(reason)", hint: hint,
        isConnectionLost: true)
    }
    let named = reason.firstMatch(of: #/[A-Z]+:  ?([0-9A-Z]{5}): /#).map { String($0.1) }
    let sqlstate = named ?? (lacksPassword ? "28P01" : nil)
    let hint =
      switch sqlstate {
      case "28P01": "check the user and password in the database URL"
      case "28000": "check the user in the database URL and the server's pg_hba.conf"
      case "3D000": "check the database name in the database URL, or create it: createdb NAME"
      case "53300": "the server has no connections left: raise max_connections or run fewer lanes"
      case "57P03": "the server is starting up or shutting down: try again"
      case nil: "check the host and port in the database URL, and that PostgreSQL runs there"
      default: "see the server's log"
      }
    return PostgresError(
      code: .connection, sqlstate: sqlstate ?? "08001",
      message: "cannot connect to PostgreSQL at \(info): \(reason)", hint: hint,
      isConnectionLost: true)
  }
}

/// A hint if `reason`, worded by libpq or OpenSSL, is about TLS or certificates; otherwise nil.
private func certificateHint(_ reason: String) -> String? {
  let hints = [
    (
      "certificate verify failed",
      "the server's certificate is signed by an authority that is not in sslrootcert, or it has "
        + "expired; to see which: openssl s_client -starttls postgres -connect HOST:PORT -CAfile FILE"
    ),
    (
      "does not match host name",
      "connect by a name in the server's certificate (sslmode=verify-full compares them), or issue "
        + "a certificate for this name"
    ),
    (
      "server does not support SSL",
      "turn on ssl in the server; without it the server is not authenticated and the connection "
        + "is not encrypted"
    ),
    ("root certificate file", "set sslrootcert to the file with the authority's certificate"),
    ("certificate file", "set sslcert and sslkey to the client's certificate and its key"),
    (
      "private key file",
      "set sslkey to the key of the certificate in sslcert; only its owner may read it"
    ),
    (
      "requires a valid client certificate",
      "set sslcert and sslkey to the client certificate that the server requires"
    ),
    (
      "alert unknown ca",
      "the server does not trust the authority of the client's certificate in sslcert"
    ),
    ("alert certificate", "the server rejects the client's certificate in sslcert"),
    (
      "no encryption",
      "the server's pg_hba.conf requires TLS: set sslmode=verify-full in the database URL"
    ),
  ]
  return hints.first { reason.contains($0.0) }?.1
}

/// The server answers a COMMIT in a failed transaction with success and the tag ROLLBACK.
func unwantedRollback(tag: String, sql: String) -> PostgresError? {
  guard tag == "ROLLBACK" else { return nil }
  let text = sql.lowercased()
  guard !text.contains("rollback"), !text.contains("abort") else { return nil }
  return PostgresError(
    code: .server, sqlstate: "25P02",
    message: "the transaction was rolled back, not committed: one of its statements had failed")
}
