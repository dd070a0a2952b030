import CLibPQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Owns a PGconn and waits on its socket with timeouts, which libpq would not.
final class ServerSocket {
  private(set) var connection: OpaquePointer?
  /// The server's statement timeout; 0 if it has none.
  var statementTimeoutMilliseconds = 0
  /// The time granted to network and server beyond the statement timeout.
  var graceMilliseconds = 30_000

  init(connectingTo info: ConnectionInfo, applicationName: String, timeoutMilliseconds: Int) throws
  {
    let attempts = info.attempts()
    var messages: [String] = []
    for (index, attempt) in attempts.enumerated() {
      do {
        try connect(to: attempt, applicationName, timeoutMilliseconds)
        return
      } catch var error as PostgresError {
        close()
        messages.append(error.message)
        guard error.mayDifferElsewhere, index + 1 < attempts.count else {
          error.message = messages.joined(separator: "; ")
          throw error
        }
      }
    }
  }

  private func connect(
    to info: ConnectionInfo, _ applicationName: String, _ timeoutMilliseconds: Int
  ) throws {
    // Later settings override earlier ones, so these are defaults that the URL overrides.
    var settings: [(keyword: String, value: String)] = [
      ("fallback_application_name", applicationName),
      ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
      ("tcp_user_timeout", "30000"),
    ]
    settings += info.settings
    settings.append(("client_encoding", "UTF8"))
    let connection = Self.start(settings)
    self.connection = connection
    guard let connection else {
      throw PostgresError(code: .connection, sqlstate: "08001", message: "libpq is out of memory")
    }
    PQsetNoticeProcessor(connection, { _, _ in }, nil)
    // Verbose, so that a rejection includes its SQLSTATE, in any server locale.
    PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
    let deadline = info.connectDeadline ?? Deadline(milliseconds: timeoutMilliseconds)
    try finishConnecting(connection, info, deadline)
    PQsetErrorVerbosity(connection, PQERRORS_DEFAULT)
    PQsetnonblocking(connection, 1)
  }

  deinit { close() }

  func close() {
    guard let connection else { return }
    self.connection = nil
    PQfinish(connection)
  }

  func encrypted(password: String, user: String, method: String) throws -> String {
    guard let text = PQencryptPasswordConn(connection, password, user, method) else {
      throw PostgresError.usage("libpq cannot encrypt a password with method \(method)")
    }
    defer { PQfreemem(text) }
    return String(cString: text)
  }

  var status: Connection.Status {
    guard let connection, PQstatus(connection) == CONNECTION_OK else { return .closed }
    switch PQtransactionStatus(connection) {
    case PQTRANS_IDLE: return .idle
    case PQTRANS_INERROR: return .inFailedTransaction
    case PQTRANS_UNKNOWN: return .closed
    default: return .inTransaction
    }
  }

  /// A setting that the server reports without being asked; nil if it does not report this one.
  func reportedSetting(_ name: String) -> String? {
    connection.flatMap { PQparameterStatus($0, name) }.map { String(cString: $0) }
  }

  var backendProcessID: Int32 { connection.map { PQbackendPID($0) } ?? 0 }

  /// The PGconn; throws if it is not usable.
  func open() throws -> OpaquePointer {
    guard let connection, PQstatus(connection) == CONNECTION_OK else {
      close()
      throw PostgresError(
        code: .connection, sqlstate: "08003",
        message: "the connection to PostgreSQL is closed; open a new one", isConnectionLost: true)
    }
    return connection
  }

  /// libpq's last message on one line.
  func lastMessage() -> String {
    guard let connection, let text = PQerrorMessage(connection) else { return "closed" }
    let lines = String(cString: text).split(separator: "\n")
      .map { $0.drop { $0 == " " || $0 == "\t" } }
      .filter { !$0.hasPrefix("LOCATION:") && !$0.isEmpty }
    return lines.isEmpty ? "closed by the server" : lines.joined(separator: " ")
  }

  /// Waits until the server has sent data (and reads it) or, if `unsent`, until the socket can take
  /// more of libpq's buffer.
  ///
  /// - Throws: `connection` if the connection is lost or `deadline` passes; results that arrived
  ///   before can still be taken from libpq.
  func exchange(_ connection: OpaquePointer, unsent: Bool, deadline: Deadline) throws {
    let events = Int16(POLLIN) | (unsent ? Int16(POLLOUT) : 0)
    let ready = try wait(connection, events, deadline)
    guard ready != 0 else {
      throw PostgresError.lost(
        "the server has been silent for longer than its statement_timeout allows")
    }
    if ready & ~Int16(POLLOUT) != 0, PQconsumeInput(connection) == 0 {
      throw PostgresError.lost(lastMessage())
    }
  }

  /// The deadline for the next data from a server with `statements` results outstanding, which
  /// buffers some kilobytes of results before it sends them.
  func silenceDeadline(statements: Int) -> Deadline {
    guard statementTimeoutMilliseconds > 0 else { return .never }
    return Deadline(
      milliseconds: statementTimeoutMilliseconds * (statements + 1) + graceMilliseconds)
  }

  private func wait(
    _ connection: OpaquePointer, _ events: Int16, _ deadline: Deadline
  ) throws -> Int16 {
    let descriptor = PQsocket(connection)
    guard descriptor >= 0 else { throw PostgresError.lost(lastMessage()) }
    var entry = pollfd(fd: descriptor, events: events, revents: 0)
    while true {
      let answer = poll(&entry, 1, deadline.remainingMilliseconds)
      if answer > 0 { return entry.revents }
      if answer == 0 { return 0 }
      if errno != EINTR { throw PostgresError.lost("poll failed with errno \(errno)") }
    }
  }

  private func finishConnecting(
    _ connection: OpaquePointer, _ info: ConnectionInfo, _ deadline: Deadline
  ) throws {
    var state = PGRES_POLLING_WRITING
    while PQstatus(connection) != CONNECTION_BAD {
      if state == PGRES_POLLING_OK { return }
      if state == PGRES_POLLING_FAILED { break }
      let events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT
      guard try wait(connection, Int16(events), deadline) != 0 else {
        throw PostgresError.refused("no answer in time", info)
      }
      state = PQconnectPoll(connection)
    }
    throw PostgresError.refused(
      lastMessage(), info, lacksPassword: PQconnectionNeedsPassword(connection) == 1)
  }

  private static func start(_ settings: [(keyword: String, value: String)]) -> OpaquePointer? {
    let keywords = settings.map { strdup($0.keyword) }
    let values = settings.map { strdup($0.value) }
    defer { for copy in keywords + values { free(copy) } }
    let keywordPointers = keywords.map { UnsafePointer($0) } + [nil]
    let valuePointers = values.map { UnsafePointer($0) } + [nil]
    return PQconnectStartParams(keywordPointers, valuePointers, 0)
  }
}

/// The time by which an answer must have arrived.
struct Deadline {
  private let instant: ContinuousClock.Instant?

  static let never = Deadline(instant: nil)

  private init(instant: ContinuousClock.Instant?) { self.instant = instant }

  init(milliseconds: Int) { instant = .now + .milliseconds(milliseconds) }

  /// The timeout for poll(2); -1 means none.
  var remainingMilliseconds: Int32 {
    guard let instant else { return -1 }
    let left = ContinuousClock.now.duration(to: instant) / .milliseconds(1)
    return Int32(max(0, min(left.rounded(.up), 1_000_000_000)))
  }
}
