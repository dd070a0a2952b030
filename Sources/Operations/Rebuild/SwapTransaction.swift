import Events
import Foundation
import Postgres

/// The steps of the transaction that swaps the tables of two schemas.
struct SwapTransaction {
  var schema: ShadowSchema
  var connection: Connection

  private var live: String { quoted(schema.live) }
  private var other: String { quoted(schema.name) }

  /// Rejects a database whose tables cannot be swapped.
  func check() throws {
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
      """, [.text(live), .textArray(schema.tables), .textArray(TableGroup.views.map(\.name))])
    if let first = try foreign.first?.text(0) {
      throw RebuildError(
        "\(first) depends on the live tables and would keep using the former ones",
        "Drop it, and create it again after the swap.")
    }
  }

  /// Rejects tables that have not read every request to erase somebody that the live ones have read. The person may be
  /// erased already, and what workers publish from such tables would name them after that.
  func refuseUnreadErasures() throws {
    let unread = try connection.query(
      """
      SELECT EXISTS (
        SELECT FROM \(live).consumer_offsets l
        LEFT JOIN \(other).consumer_offsets o USING (consumer_group, topic, partition)
        WHERE consumer_group = ANY ($1) AND topic = $2
          AND greatest(l.next_offset, l.applied_offset) > coalesce(o.next_offset, 0))
      """, [schema.consumerGroups, .text(Topic.erasures.name(prefix: schema.topicPrefix))])
    guard try unread.only.bool(0) else { return }
    throw RebuildError(
      "somebody was erased whose request the tables in \(schema.name) have not read",
      "Exchange them without --without-catching-up: then they are erased there, too.")
  }

  /// Adds a retraction for every alarm that only the live tables have, so that it is published after
  /// the swap. Any snapshot supersedes it.
  ///
  /// A retraction names its recipient. So whoever is being erased from the live alarms is queued with it, in case that
  /// the incoming tables are done with the person, and that a later attempt to swap finds the live ones done, too.
  ///
  /// Runs before the workers are blocked, because it reads both tables. An alarm that only the live
  /// tables get after that is not retracted.
  func retractMissingAlarms() throws {
    guard schema.tableGroups.contains(.alarms) else { return }
    try connection.query(
      """
      WITH queued AS (
        \(queueAwaited(TableGroup.alarms.worker))
      )
      INSERT INTO \(other).alarms (notification_id, recipient, generation, counter, retracted)
      SELECT l.notification_id, l.recipient, 0, 0, true
      FROM \(live).alarms l
      WHERE NOT l.retracted
        AND NOT EXISTS (
          SELECT FROM \(other).alarms o WHERE o.notification_id = l.notification_id)
      ON CONFLICT DO NOTHING
      """)
  }

  /// Carries over which one-time reminders are decided. `reminder_rings` keeps them from ringing again, but all of them
  /// would be due after the swap, before what becomes due then.
  ///
  /// Runs before the last records are applied, because it reads both tables and may write to most rows.
  func carryReminders() throws {
    guard schema.tableGroups.contains(.reminders) else { return }
    try connection.script(
      """
      UPDATE \(other).reminders o
      SET decided_through = l.decided_through, next_at = NULL, due_at = NULL
      FROM \(live).reminders l
      WHERE l.user_id = o.user_id AND l.reminder_id = o.reminder_id
        AND (l.version_time, l.version_id) = (o.version_time, o.version_id)
        AND o.due_at <= now() AND l.due_at IS NULL AND l.decided_through = o.next_at
        AND o.definition ->> 'form' = 'reminder' AND o.definition ->> 'repeats' IS NULL
      """)
  }

  /// Carries over how far digests are decided. Whatever rang is in `reminder_rings`, which stays, but a digest that had
  /// nothing to say leaves no row there, and would ring after the swap. A worker that finds the next occurrence decided
  /// goes on to the one after it.
  ///
  /// Runs before the workers are blocked, because it reads both tables. A digest that is due after that is decided again
  /// after the swap, as by a worker that is late by the time that the swap takes.
  func carryDigests() throws {
    guard schema.tableGroups.contains(.reminders) else { return }
    try connection.script(
      """
      UPDATE \(other).reminders o SET decided_through = l.decided_through
      FROM \(live).reminders l
      WHERE l.user_id = o.user_id AND l.reminder_id = '' AND o.reminder_id = ''
        AND (l.version_time, l.version_id) = (o.version_time, o.version_id)
        -- Nothing is decided before its day, unless it is one of the rows that the rebuild is to replace.
        AND l.decided_through > o.decided_through
        AND l.decided_through < now() AT TIME ZONE 'UTC' + interval '2 days'
      """)
  }

  /// Snapshots taken from now on have an xmin at or above this transaction ID, unless an older
  /// write transaction is still open.
  func snapshotBoundary() throws -> String {
    try connection.query("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").only.text(0)
  }

  /// Waits for transactions whose snapshots are older than the boundary, because they would not see
  /// the rows written last. Returns those that are left after `limit`.
  ///
  /// Excludes workers that are blocked by this transaction: they read nothing before it ends.
  func olderReaders(within limit: Duration, than boundary: String?) throws -> Obstacle? {
    let boundary = try boundary ?? snapshotBoundary()
    let deadline = ContinuousClock.now + limit
    while true {
      // Within a transaction, pg_stat_activity is cached on first access.
      try connection.query("SELECT pg_stat_clear_snapshot()")
      let readers = try connection.query(
        """
        SELECT pid, usename::text, application_name, (clock_timestamp() - xact_start)::text, query
        FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
          AND datid = (SELECT oid FROM pg_database WHERE datname = current_database())
          -- Open write transactions hold back the xmin of others' snapshots.
          AND (age(backend_xmin) > age($1::text::xid8::xid)
            OR age(backend_xid) > age($1::text::xid8::xid))
          AND NOT pg_backend_pid() = ANY (pg_blocking_pids(pid))
        """, [.text(boundary)])
      guard !readers.isEmpty else { return nil }
      guard ContinuousClock.now < deadline else {
        return Obstacle(
          what: "open transactions began before the last records were applied",
          holders: try readers.map { try $0.openTransaction() })
      }
      Thread.sleep(forTimeInterval: 0.005)
    }
  }

  /// Locks every table of both schemas in ACCESS EXCLUSIVE mode, all or none. Returns when the
  /// successful attempt began.
  ///
  /// Each attempt is short, because new readers queue behind it. An autovacuum is canceled only for
  /// a session that waits longer than `deadlock_timeout`.
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
        (clock_timestamp() - a.xact_start)::text AS open_for, a.backend_type
      FROM pg_locks l
      JOIN pg_class c ON c.oid = l.relation
      JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.granted AND a.pid <> pg_backend_pid() AND c.relname = ANY ($3)
        AND c.relnamespace IN ($1::text::regnamespace, $2::text::regnamespace)
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      """, [.text(live), .text(other), .textArray(schema.tables + schema.views)])
    return (
      try rows.map { try $0.openTransaction() },
      try !rows.isEmpty && rows.allSatisfy { try $0.text("backend_type") != "client backend" }
    )
  }
}
