import Dispatch
import Foundation
package import Lanes
package import Logging
package import Postgres
import Schema
import Synchronization

/// A fixed number of connections to PostgreSQL, each on a thread of its own, because libpq blocks.
///
/// Every transaction is read-only and sees one snapshot. Work is queued in order of arrival; the
/// queue is bounded. Thread-safe.
package final class ConnectionPool: Sendable {
  private struct Work: Sendable {
    /// Returns false if the connection was lost and this was not the last attempt.
    var run: @Sendable (Connection, _ isLastTry: Bool) -> Bool
    var fail: @Sendable (any Error) -> Void
  }

  private struct State: Sendable {
    var waiting: [Work] = []
    var connected = 0
  }

  private let databaseURL: String
  private let applicationName: String
  private let waitingMax: Int
  private let state = Mutex(State())
  private let arrivals = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - connections: the number of threads that will call ``serve(_:_:)``.
  ///   - applicationName: the name in `pg_stat_activity`.
  package init(
    databaseURL: String, connections: Int, applicationName: String = "magpie_gateway"
  ) {
    self.databaseURL = databaseURL
    self.applicationName = applicationName
    waitingMax = connections * GatewayLimits.waitingPerConnection
  }

  /// Runs `body` on one of the connections. If that connection is lost, runs it once more on a new
  /// one, which is safe because it only reads.
  ///
  /// - Throws: ``Problem`` if the queue is full; otherwise the error of `body` or of connecting.
  package func read<Value: Sendable>(
    _ body: @escaping @Sendable (Connection) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let work = Work(
        run: { connection, isLastTry in
          let result = Result { try body(connection) }
          if !isLastTry, case .failure(let error as PostgresError) = result,
            error.isConnectionLost
          {
            return false
          }
          continuation.resume(with: result)
          return true
        }, fail: { continuation.resume(throwing: $0) })
      let isQueued = state.withLock { state in
        guard state.waiting.count < waitingMax else { return false }
        state.waiting.append(work)
        return true
      }
      if isQueued {
        arrivals.signal()
      } else {
        work.fail(Problem(.overloaded, "Too many requests wait for the database."))
      }
    }
  }

  /// Runs queued work on the calling thread over one connection, until `status` says `isStopping`.
  package func serve(_ status: LaneStatus, _ logger: Logger) {
    var connection: Connection?
    while !status.isStopping {
      status.beat()
      if connection == nil {
        connection = connected(status, logger)
        if connection == nil { Thread.sleep(forTimeInterval: 0.5) }
        continue
      }
      // The timeout lets the loop send its heartbeat.
      guard arrivals.wait(timeout: .now() + 1) == .success, let work = take(), let open = connection
      else { continue }
      if work.run(open, false) {
        if open.status == .closed { connection = disconnected() }
      } else {
        _ = disconnected()
        connection = connected(status, logger)
        if let connection {
          _ = work.run(connection, true)
        } else {
          work.fail(Problem(.databaseUnavailable, "The connection was lost."))
        }
      }
    }
    connection?.close()
    failWaiting(Problem(.overloaded, "The gateway stops."))
  }

  private func take() -> Work? {
    state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
  }

  /// Fails all queued work at once. Used while no thread has a connection, and on shutdown.
  private func failWaiting(_ error: any Error) {
    let failed = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for work in failed { work.fail(error) }
  }

  private func connected(_ status: LaneStatus, _ logger: Logger) -> Connection? {
    do {
      let connection = try open()
      state.withLock { $0.connected += 1 }
      status.isReady = true
      return connection
    } catch {
      logger.warning("no connection to PostgreSQL", metadata: ["error": "\(error)"])
      status.isReady = false
      if state.withLock({ $0.connected == 0 }) { failWaiting(error) }
      return nil
    }
  }

  private func disconnected() -> Connection? {
    state.withLock { $0.connected -= 1 }
    return nil
  }

  private func open() throws -> Connection {
    let connection = try Connection(
      databaseURL, applicationName: applicationName,
      connectTimeoutSeconds: GatewayLimits.connectSeconds,
      statementTimeoutSeconds: GatewayLimits.statementSeconds)
    do {
      try Migrations.check(connection, allowsNewer: true)
      try connection.script(
        """
        SET ROLE magpie_reader;
        SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
        SET idle_in_transaction_session_timeout = '10s';
        """)
    } catch {
      connection.close()
      throw error
    }
    return connection
  }
}
