import Events
import FaultInjection
import Foundation
import Postgres
import Synchronization

// What happens to PostgreSQL.
extension PlannedFault {
  /// The server stops as in a crash, and recovers when it is healed.
  func crashDatabase(_ world: World) {
    world.injected.onHeal(self) { try world.startDatabase() }
    world.cluster.immediateStop()
  }

  /// An operator ends the workers' sessions, or what they are just doing, again and again.
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

  /// Somebody takes all connections there are, those of the workers too.
  func exhaustConnections(_ world: World) throws {
    let url = try ConnectionInfo(world.superuserURL).replacing(user: Hog.role).connectionString
    let hog = Hog(url: url)
    try hog.fill()
    try terminateBackends(world, workersSessions)
    // Those that came free, before somebody else has them.
    let taking = Repeated(everyMilliseconds: 20) { try hog.fill() }
    world.injected.onHeal(self) {
      taking.stop()
      hog.release()
    }
  }

  /// There is no room for another byte, neither in tables nor in the log.
  func fillDisk(_ world: World) throws {
    guard let disk = world.disk else { throw CampaignError("there is no small disk") }
    let filling = Repeated(everyMilliseconds: 100) { try disk.fill() }
    world.injected.onHeal(self) {
      filling.stop()
      disk.free()
      // What could not write its log has crashed, and may have failed to recover.
      try world.startDatabase()
    }
  }

  /// A migration, say, that holds one table for a while.
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

  /// Somebody has the rows locked that every batch of a worker must change, or most of its people's.
  func lockRows(_ world: World) throws {
    let group = world.worker(target).group.name(prefix: world.topicPrefix)
    let rows =
      target % 2 == 0
      ? "consumer_offsets WHERE consumer_group = '\(group)'" : "users WHERE user_key % 2 = 0"
    try hold(try world.connection(), "SELECT FROM \(rows) FOR UPDATE", world)
  }

  private func hold(_ connection: Connection, _ lock: String, _ world: World) throws {
    world.injected.onHeal(self) { connection.close() }
    // Who comes for the lock while we wait for it waits behind us.
    try connection.script("SET lock_timeout = '20s'; BEGIN; \(lock)")
  }
}

/// Picks the workers' sessions from `pg_stat_activity`.
let workersSessions = "application_name LIKE '%-worker-%'"

func terminateBackends(_ world: World, _ condition: String) throws {
  let connection = try world.connection()
  defer { connection.close() }
  try connection.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(condition)")
}

/// Holds all the connections that a server gives to ordinary people. Thread-safe.
final class Hog: Sendable {
  static let role = "campaign_hog"

  private struct Held: @unchecked Sendable {  // used under the lock alone
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
