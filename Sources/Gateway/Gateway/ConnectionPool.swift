import Dispatch
import Foundation
package import Lanes
package import Logging
package import Postgres
import Schema
import Synchronization

/// A fixed number of connections to PostgreSQL, each on a thread of its own, because libpq blocks.
///
/// Every transaction is read-only and sees one snapshot. People whose work is queued take turns, and none gets
/// more than half of the connections. The queue is bounded, for all and for each of them; where it is full, somebody of
/// whom nothing waits takes the place of whoever has most waiting. Thread-safe.
package final class ConnectionPool: Sendable {
  private struct Work: Sendable {
    /// Returns false if the connection was lost and this was not the last attempt.
    var run: @Sendable (Connection, _ isLastTry: Bool) -> Bool
    var fail: @Sendable (any Error) -> Void
  }

  private struct State: Sendable {
    var waiting: FairQueue<Work>
    var connected = 0
  }

  private let databaseURL: String
  private let applicationName: String
  private let waitingMax: Int
  private let replicaSecondsMax: Int
  private let state: Mutex<State>
  private let arrivals = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - connections: the number of threads that will call ``serve(_:_:)``.
  ///   - applicationName: the name in `pg_stat_activity`.
  ///   - replicaSecondsMax: how far behind a replica may be, in seconds; 0 for no limit.
  package init(
    databaseURL: String, connections: Int, applicationName: String = "magpie_gateway",
    replicaSecondsMax: Int = 0
  ) {
    self.replicaSecondsMax = replicaSecondsMax
    self.databaseURL = databaseURL
    self.applicationName = applicationName
    waitingMax = connections * GatewayLimits.waitingPerConnection
    state = Mutex(State(waiting: FairQueue(runningMax: max(1, connections / 2))))
  }

  /// Runs `body` on one of the connections. If that connection is lost, runs it once more on a new
  /// one, which is safe because it only reads.
  ///
  /// - Parameter person: for whom it is; "" for work that is nobody's.
  /// - Throws: ``Problem`` if the queue is full; otherwise the error of `body` or of connecting.
  package func read<Value: Sendable>(
    of person: String = "", _ body: @escaping @Sendable (Connection) throws -> Value
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
      let (isQueued, displaced) = state.withLock { state -> (Bool, Work?) in
        let own = person.isEmpty ? 0 : state.waiting.count(of: person)
        guard own < waitingMax / 4 else { return (false, nil) }
        var displaced: Work?
        if state.waiting.count >= waitingMax {
          displaced = own == 0 ? state.waiting.removeNewestOfMost() : nil
          guard displaced != nil else { return (false, nil) }
        }
        state.waiting.append(work, of: person)
        return (true, displaced)
      }
      if isQueued { arrivals.signal() }
      let refused = isQueued ? displaced : work
      refused?.fail(Problem(.overloaded, "Too many requests wait for the database."))
    }
  }

  /// Runs queued work on the calling thread over one connection, until `status` says `isStopping`.
  package func serve(_ status: LaneStatus, _ logger: Logger) {
    var connection: Connection?
    var nextCheck = ContinuousClock.now
    while !status.isStopping {
      status.beat()
      if connection == nil {
        connection = connected(status, logger)
        nextCheck = .now + Self.replicaCheckInterval
        if connection == nil { Thread.sleep(forTimeInterval: 0.5) }
        continue
      }
      if let current = connection, .now >= nextCheck {
        nextCheck = .now + Self.replicaCheckInterval
        // The address may lead to another replica.
        if (try? checkReplica(current)) == nil {
          current.close()
          connection = disconnected()
          continue
        }
      }
      // The timeout lets the loop send its heartbeat.
      guard arrivals.wait(timeout: .now() + 1) == .success, let open = connection,
        let (person, work) = state.withLock({ $0.waiting.start() })
      else { continue }
      defer { finish(person) }
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

  /// Ends work of a person. If more of theirs waits than could have been started before, wakes a thread: those that
  /// found nothing to do have taken its signals.
  private func finish(_ person: String) {
    if state.withLock({ $0.waiting.end(of: person) }) { arrivals.signal() }
  }

  /// Fails all queued work at once. Used while no thread has a connection, and on shutdown.
  private func failWaiting(_ error: any Error) {
    let failed = state.withLock { $0.waiting.removeAll() }
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

  private static let replicaCheckInterval = Duration.seconds(5)

  /// The replay of a replica may stand still for hours, or be late. Then people would be shown as unread what they have
  /// read. A replica that has replayed all that it received is read: its primary may be away, or idle. So is one that
  /// lacks less than a segment of the log, unless its replay was paused: it is about to catch up, or what it lacks is
  /// part of a record.
  ///
  /// - Throws: ``Problem`` if it is too far behind.
  private func checkReplica(_ connection: Connection) throws {
    guard replicaSecondsMax > 0 else { return }
    let isBehind = try connection.query(
      """
      SELECT FROM pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) AS w (unreplayed)
      WHERE pg_is_in_recovery() AND w.unreplayed > 0
        AND (w.unreplayed > 16 * 1024 * 1024 OR pg_is_wal_replay_paused())
        AND coalesce(pg_last_xact_replay_timestamp() < now() - $1::bigint * interval '1 s', true)
      """, [.int8(Int64(replicaSecondsMax))])
    guard !isBehind.isEmpty else { return }
    throw Problem(
      .databaseUnavailable, "The replica is more than \(replicaSecondsMax) s behind.")
  }

  private func open() throws -> Connection {
    let connection = try Connection(
      databaseURL, applicationName: applicationName,
      connectTimeoutSeconds: GatewayLimits.connectSeconds,
      statementTimeoutSeconds: GatewayLimits.statementSeconds)
    do {
      try Migrations.check(connection, allowsNewer: true)
      try checkReplica(connection)
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
