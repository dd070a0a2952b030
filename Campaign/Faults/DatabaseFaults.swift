import Events
import FaultInjection
import Foundation
import Postgres
import Synchronization

// Faults of PostgreSQL.
extension PlannedFault {
  /// The server stops as in a crash. Healing starts it, and it recovers.
  func crashDatabase(_ world: World) {
    world.injected.onHeal(self) { try world.startDatabase() }
    world.cluster.immediateStop()
  }

  /// The workers' sessions are terminated, or their statements canceled, repeatedly.
  func endSessions(_ world: World) {
    let url = world.superuserURL
    let function = target % 2 == 0 ? "pg_terminate_backend" : "pg_cancel_backend"
    let ending = Repeated(everyMilliseconds: 250) {
      let connection = try Connection(url, applicationName: "magpie-campaign")
      defer { connection.close() }
      try connection.query("SELECT \(function)(pid) FROM pg_stat_activity WHERE \(workersSessions)")
    }
    world.injected.onHeal(self) { ending.stop() }
  }

  /// All connections are taken, including the workers'.
  func exhaustConnections(_ world: World) throws {
    let url = try ConnectionInfo(world.superuserURL).replacing(user: ConnectionHog.role)
      .connectionString
    let hog = ConnectionHog(url: url)
    try hog.fill()
    try terminateBackends(world, workersSessions)
    // Take freed connections before the workers do.
    let taking = Repeated(everyMilliseconds: 20) { try hog.fill() }
    world.injected.onHeal(self) {
      taking.stop()
      hog.release()
    }
  }

  /// The disk is full, for both tables and WAL.
  func fillDisk(_ world: World) throws {
    guard let disk = world.disk else { throw CampaignError("no small disk is mounted") }
    let filling = Repeated(everyMilliseconds: 100) { try disk.fill() }
    world.injected.onHeal(self) {
      filling.stop()
      disk.free()
      // A server that cannot write WAL crashes and may have failed to recover.
      try world.startDatabase()
    }
  }

  /// One table is locked for a while, as by a migration.
  func lockTable(_ world: World) throws {
    let connection = try world.connection()
    let tables = try connection.query(
      """
      SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname = 'public'
        AND c.relname NOT IN ('batch_audit', 'campaign_sabotage') ORDER BY 1
      """
    ).map { try $0.text(0) }
    let table = tables[Int(target) % tables.count]
    try hold(connection, "LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE", world)
  }

  /// The rows are locked that every batch of a worker must change, or those of half of all users.
  func lockRows(_ world: World) throws {
    let group = world.worker(target).group.name(prefix: world.topicPrefix)
    let rows =
      target % 2 == 0
      ? "consumer_offsets WHERE consumer_group = '\(group)'" : "users WHERE user_key % 2 = 0"
    try hold(try world.connection(), "SELECT FROM \(rows) FOR UPDATE", world)
  }

  /// Feeds are stored for half a second only, and read from posts otherwise.
  func endFeeds(_ world: World) {
    let url = world.superuserURL
    let raising = Repeated(everyMilliseconds: 500) {
      let connection = try Connection(url, applicationName: "magpie-campaign")
      defer { connection.close() }
      try connection.query(
        "UPDATE feed_history SET floor = least(made_to, feeds_time_key(now() - interval '500 milliseconds'))"
      )
    }
    world.injected.onHeal(self) { raising.stop() }
  }

  private func hold(_ connection: Connection, _ lock: String, _ world: World) throws {
    world.injected.onHeal(self) { connection.close() }
    try connection.script("SET lock_timeout = '20s'")
    try world.wait(seconds: World.hangLimitSeconds, "the lock") {
      do {
        // Sessions that want the lock queue behind this one while it waits.
        try connection.script("BEGIN; \(lock)")
        return true
      } catch {
        // Tried again: workers lock rows in another order, and this session may be a deadlock's victim.
        try? connection.script("ROLLBACK")
        throw error
      }
    }
  }
}

/// A condition on `pg_stat_activity` that selects the workers' sessions.
let workersSessions = "application_name LIKE '%-worker-%'"

func terminateBackends(_ world: World, _ condition: String) throws {
  let connection = try world.connection()
  defer { connection.close() }
  try connection.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(condition)")
}

/// Holds all connections that the server grants to non-superusers. Thread-safe.
final class ConnectionHog: Sendable {
  static let role = "campaign_hog"

  private struct Held: @unchecked Sendable {  // only used under the lock
    var connections: [Connection] = []
  }
  private let url: String
  private let held = Mutex(Held())

  init(url: String) { self.url = url }

  /// Connects until the server refuses.
  func fill() throws {
    while true {
      do {
        let connection = try Connection(url, applicationName: "magpie-campaign-hog")
        held.withLock { $0.connections.append(connection) }
      } catch let error as PostgresError where error.sqlstate == "53300" {
        return
      }
    }
  }

  func release() {
    held.withLock { held in
      for connection in held.connections { connection.close() }
      held.connections = []
    }
  }
}
