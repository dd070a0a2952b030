import Handling
import Lanes
import Postgres
import Rebuild
import Schema

extension RebuildHandlers {
  /// The handlers in the order in which events flow.
  var all: [Handler] { [fanout, notification, alarm, reminder] }
}

extension DatabaseOptions {
  /// A connection with the privileges of this handler's worker.
  func connect(as handler: Handler) throws -> Connection { try assume(handler, connect()) }
}

/// The connection, with the privileges of this handler's worker; closed if that fails.
func assume(_ handler: Handler, _ connection: Connection) throws -> Connection {
  do {
    try Migrations.check(connection, allowsNewer: true)
    try connection.assume(handler)
    return connection
  } catch let error as SchemaError {
    connection.close()
    // A worker waits for its schema; a command fails.
    throw WorkerStopped(reason: error.message, nextStep: "Nothing was changed.")
  } catch {
    connection.close()
    throw error
  }
}
