import Handling
import Postgres

/// A handler's database connection that is reopened after it was lost. Confined to one thread.
final class ReconnectingConnection {
  private let open: () throws -> Connection
  private let versionSequence: String?
  private let status: LaneStatus?
  private var connection: Connection?

  /// - Parameter status: is set to asking while the connection is in use.
  init(_ handler: Handler, status: LaneStatus? = nil, open: @escaping () throws -> Connection) {
    versionSequence = handler.versionSequence
    self.status = status
    self.open = open
  }

  func close() {
    connection?.close()
    connection = nil
  }

  /// Runs `body` on the connection. After an error, rolls back, or closes the connection if that fails, or if the
  /// server is a standby: the session would stay there when the address moves to the new primary.
  func use<T>(_ body: (Connection) throws -> T) throws -> T {
    status?.isAsking = true
    defer { status?.isAsking = false }
    let connection = try connected()
    do {
      return try body(connection)
    } catch {
      let isReadOnly = (error as? PostgresError)?.isReadOnly == true
      if isReadOnly || connection.status == .closed
        || (try? connection.query("ROLLBACK")) == nil
      {
        close()
      }
      throw error
    }
  }

  private func connected() throws -> Connection {
    if let connection, connection.status != .closed { return connection }
    let connection = try open()
    if let versionSequence {
      try connection.query("SELECT skip_versions($1)", [.text(versionSequence)])
    }
    self.connection = connection
    status?.cancellation = connection.cancellation
    return connection
  }
}
