import Foundation
import Postgres

extension PlannedFault {
  /// Another session locks rows in the opposite order to the workers'. PostgreSQL aborts the
  /// transaction whose deadlock_timeout expires first, which is the worker's.
  func deadlock(_ world: World) {
    let url = world.superuserURL
    let crossing = Repeated(everyMilliseconds: 50) {
      let connection = try Connection(url, applicationName: "magpie-campaign")
      defer { connection.close() }
      // Makes the worker the victim; the statement timeout applies if nobody is.
      try connection.script("SET deadlock_timeout = '8s'; SET statement_timeout = '10s'")
      try cross(on: connection)
    }
    world.injected.onHeal(self) { crossing.stop() }
  }
}

/// Locks a row that a worker needs, waits until the worker waits for it, and then requests a row
/// that the worker holds.
private func cross(on connection: Connection) throws {
  try connection.transaction {
    let taken = try connection.query(
      """
      SELECT user_key FROM users WHERE user_key IN (
        SELECT followee FROM follows GROUP BY followee ORDER BY count(*) DESC LIMIT 5)
      ORDER BY random() LIMIT 1 FOR UPDATE OF users SKIP LOCKED
      """)
    guard let row = taken.first else { return }
    let key = try row.int8(0)
    let deadline = ContinuousClock.now + .seconds(2)
    while .now < deadline {
      let waiting = try connection.query(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE \(workersSessions) AND pg_backend_pid() = ANY (pg_blocking_pids(pid))
        """)
      if try waiting.only.int(0) > 0 {
        try connection.query(
          "SELECT FROM users WHERE user_key < $1 ORDER BY user_key DESC FOR UPDATE", [.int8(key)])
        return
      }
      Thread.sleep(forTimeInterval: 0.01)
    }
  }
}
