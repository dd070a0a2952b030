import Foundation
import Postgres

/// The pieces of the transaction that exchanges the tables of two schemas.
struct Exchange {
  var schema: ShadowSchema
  var connection: Connection

  private var live: String { quoted(schema.live) }
  private var other: String { quoted(schema.name) }
  private var groups: [String] { schema.rooms.map { schema.topicPrefix + $0.worker } }

  /// Refuses what could not be exchanged or watched over.
  func check() throws {
    let isBlind = try connection.query(
      "SELECT NOT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')")
    if try isBlind.only.bool(0) {
      throw RebuildError(
        "this login cannot see whose transactions are open, and so not who would read half-made "
          + "tables", "GRANT pg_read_all_stats TO it.")
    }
    let foreign = try connection.query(
      """
      SELECT DISTINCT v.oid::regclass::text
      FROM pg_depend d
      JOIN pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass
      JOIN pg_class v ON v.oid = r.ev_class
      JOIN pg_class t ON t.oid = d.refobjid AND d.refclassid = 'pg_class'::regclass
      WHERE t.relnamespace = $1::text::regnamespace AND t.relname = ANY ($2)
        AND NOT (v.relnamespace = $1::text::regnamespace AND v.relname = ANY ($3))
      UNION
      SELECT conrelid::regclass::text FROM pg_constraint c
      JOIN pg_class t ON t.oid = c.confrelid
      WHERE c.contype = 'f' AND t.relnamespace = $1::text::regnamespace AND t.relname = ANY ($2)
      """, [.text(live), .textArray(schema.tables), .textArray(Room.views.map(\.name))])
    if let first = try foreign.first?.text(0) {
      throw RebuildError(
        "\(first) refers to the tables in use and would go on showing the former ones",
        "Drop it, and make it again after the exchange.")
    }
  }

  /// Every snapshot taken from now on has this transaction or a later one as its oldest.
  func snapshotBoundary() throws -> String {
    try connection.query("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").only.text(0)
  }

  /// Waits for transactions whose snapshots are older than the boundary: those would not see the
  /// rows that were written last. Returns who is left when the time is over.
  ///
  /// Workers that wait for this very transaction read nothing before it ends, and are left out.
  func olderReaders(within limit: Duration, than boundary: String?) throws -> Obstacle? {
    let boundary = try boundary ?? snapshotBoundary()
    let deadline = ContinuousClock.now + limit
    while true {
      // Inside a transaction pg_stat_activity stays as it was when it was first looked at.
      try connection.query("SELECT pg_stat_clear_snapshot()")
      let readers = try connection.query(
        """
        SELECT pid, usename::text, application_name, (now() - xact_start)::text, query
        FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
          AND datid = (SELECT oid FROM pg_database WHERE datname = current_database())
          -- Whoever writes makes the snapshots of others old.
          AND (age(backend_xmin) > age($1::text::xid8::xid)
            OR age(backend_xid) > age($1::text::xid8::xid))
          AND NOT pg_backend_pid() = ANY (pg_blocking_pids(pid))
        """, [.text(boundary)])
      guard !readers.isEmpty else { return nil }
      guard ContinuousClock.now < deadline else {
        return Obstacle(
          what: "transactions are open that began before the last records were applied",
          holders: try readers.map { row in
            "process \(try row.int(0)) of \(try row.textOrNil(1) ?? "?") "
              + "(\(try row.textOrNil(2) ?? "")), open for \(try row.textOrNil(3) ?? "?")"
          })
      }
      Thread.sleep(forTimeInterval: 0.005)
    }
  }

  /// Locks every table of both sides against readers, all or none; returns when it began.
  ///
  /// Each try is short, because whoever comes meanwhile waits behind it. An autovacuum gives way
  /// only to those who wait for longer than `deadlock_timeout`.
  func lockTables(_ policy: SwapPolicy) throws -> ContinuousClock.Instant {
    let names = [live, other].flatMap { side in
      (schema.tables + schema.views).map { (side, $0) }
    }
    let existing = try names.filter { side, table in
      try connection.query(
        "SELECT to_regclass($1) IS NOT NULL", [.text("\(side).\(quoted(table))")]
      ).only.bool(0)
    }.map { "\($0).\(quoted($1))" }.joined(separator: ", ")
    let deadline = ContinuousClock.now + policy.readersWait
    var milliseconds = policy.lockMilliseconds
    while true {
      let started = ContinuousClock.now
      do {
        try connection.script(
          """
          SAVEPOINT locking;
          SET LOCAL statement_timeout = '\(milliseconds)ms';
          SET LOCAL lock_timeout = '\(milliseconds)ms';
          """)
        try connection.script("LOCK TABLE \(existing) IN ACCESS EXCLUSIVE MODE")
        try connection.script("SET LOCAL statement_timeout = '30s'")
        return started
      } catch let error as PostgresError
        where ["57014", "55P03", "40P01"].contains(error.sqlstate)
      {
        try connection.script("ROLLBACK TO SAVEPOINT locking")
        let (holders, onlyVacuum) = try lockHolders()
        guard ContinuousClock.now < deadline else {
          throw Obstacle(what: "transactions hold locks on the tables", holders: holders)
        }
        milliseconds = onlyVacuum ? 1500 : policy.lockMilliseconds
        Thread.sleep(forTimeInterval: Double.random(in: 0.05...0.3))
      }
    }
  }

  private func lockHolders() throws -> (names: [String], onlyVacuum: Bool) {
    try connection.query("SELECT pg_stat_clear_snapshot()")
    let rows = try connection.query(
      """
      SELECT DISTINCT a.pid, a.usename::text, a.application_name,
        (now() - a.xact_start)::text AS open_for, a.backend_type
      FROM pg_locks l
      JOIN pg_class c ON c.oid = l.relation
      JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.granted AND a.pid <> pg_backend_pid() AND c.relname = ANY ($3)
        AND c.relnamespace IN ($1::text::regnamespace, $2::text::regnamespace)
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      """, [.text(live), .text(other), .textArray(schema.tables + schema.views)])
    return (
      try rows.map { row in
        "process \(try row.int(0)) of \(try row.textOrNil(1) ?? "?") "
          + "(\(try row.textOrNil(2) ?? "")), open for \(try row.textOrNil(3) ?? "?")"
      },
      try !rows.isEmpty && rows.allSatisfy { try $0.text("backend_type") != "client backend" }
    )
  }
}
