import Events
import Foundation
import Postgres

/// Measures reminder-worker: many reminders that are due in the same second, a steady rate of them, and
/// many of which none is due.
///
/// With two lanes: while one computes, its PostgreSQL session is idle, and while that works, the lane is.
func measureReminders(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench)
  defer { stack.stop() }
  let (burst, rate, idle) = bench.isQuick ? (500, 50, 1_000) : (100_000, 1_000, 1_000_000)
  try stack.start("reminder-worker", owning: .reminders, lanes: 2)
  // A lane rings nobody before its log is trusted: one reminder shows that it does.
  try stack.addReminders("first", 1, within: 1, after: 1)
  try stack.waitUntilPublished("first", 1)

  progress("reminders: \(burst) due in the same second")
  var measured: Measured = [:]
  try stack.addReminders("burst", burst, within: 1, after: bench.isQuick ? 2 : 15)
  try stack.waitUntilPublished("burst", burst)
  let late = try stack.lateness("burst")
  measured["burst.seconds"] = late.max + 1
  measured["burst.perSecond"] = Double(burst) / (late.max + 1)

  let seconds = bench.isQuick ? 2 : 30
  progress("reminders: \(rate) a second for \(seconds) s")
  try stack.addReminders("rate", rate * seconds, within: seconds, after: bench.isQuick ? 2 : 10)
  try stack.waitUntilPublished("rate", rate * seconds)
  let steady = try stack.lateness("rate")
  measured["lateness.p50"] = steady.p50 * 1000
  measured["lateness.p99"] = steady.p99 * 1000
  measured["lateness.max"] = steady.max * 1000

  progress("reminders: \(idle), none of them due")
  try stack.addReminders("idle", idle, within: 86_400, after: 86_400)
  try stack.settle()
  let before = stack.processorTime("reminder-worker")
  let idleSeconds = bench.isQuick ? 1.0 : 30
  Thread.sleep(forTimeInterval: idleSeconds)
  if let before, let after = stack.processorTime("reminder-worker") {
    let used = after - before
    measured["idle.workerPercent"] = used.worker / idleSeconds * 100
    measured["idle.databasePercent"] = used.database / idleSeconds * 100
  }
  return measured
}

extension BenchStack {
  /// Adds reminders of a person each, which are due at random moments.
  ///
  /// - Parameters:
  ///   - seconds: within this many.
  ///   - delay: seconds from now on.
  fileprivate func addReminders(_ name: String, _ count: Int, within seconds: Int, after delay: Int)
    throws
  {
    try connection.query(
      """
      INSERT INTO reminders (
        user_id, reminder_id, version_time, version_id, definition, partition, decided_through,
        next_at, zone, due_at, zone_data)
      SELECT 'person-' || n, $1, now(), 'e' || n,
        jsonb_build_object(
          'form', 'reminder', 'kind', 'F39', 'zone', 'UTC',
          'at', to_char(d.due AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'),
          'items', jsonb_build_array(jsonb_build_object(
            'id', '', 'title', 'Reminder ' || n, 'memo', 'A memo', 'symbol', '', 'link', ''))),
        n % $5, '2000-01-01', d.due AT TIME ZONE 'UTC', 'UTC', d.due, '9999z'
      FROM generate_series(1, $2::int) n
      CROSS JOIN LATERAL (
        SELECT date_trunc('second', now()) + make_interval(secs => $4 + n % $3) AS due
      ) d
      """,
      [
        .text(name), .int4(Int32(count)), .int4(Int32(seconds)), .int4(Int32(delay)),
        .int4(Int32(Self.partitions)),
      ])
  }

  /// Waits until nothing is to come and nothing is left to publish. Asks seldom, and only the indexes of what is
  /// left: counting what is published took as much of a processor as the worker's own session.
  fileprivate func waitUntilPublished(_ name: String, _ count: Int) throws {
    try wait("\(count) reminders", everySeconds: 0.1) {
      try connection.query(
        """
        SELECT count(*) FROM generate_series(0, $1 - 1) p (partition)
        CROSS JOIN LATERAL (
          (
            SELECT FROM reminders r WHERE r.partition = p.partition AND r.due_at IS NOT NULL
            ORDER BY r.due_at LIMIT 1
          ) UNION ALL (
            SELECT FROM reminder_rings r WHERE r.partition = p.partition AND NOT r.is_published
            ORDER BY r.due_at LIMIT 1
          )
        ) left_over
        """, [.int4(Int32(Self.partitions))]
      ).only.int(0) == 0
    }
    let published = try connection.query(
      "SELECT count(*) FROM reminder_rings WHERE reminder_id = $1 AND is_published", [.text(name)]
    ).only.int(0)
    guard published == count else {
      throw BenchError(description: "\(published) of \(count) reminders are published")
    }
  }

  /// Seconds from when reminders were due to the commit that published them.
  fileprivate func lateness(_ name: String) throws -> (p50: Double, p99: Double, max: Double) {
    let row = try connection.query(
      """
      SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s), percentile_cont(0.99) WITHIN GROUP (ORDER BY s),
        max(s)
      FROM (
        SELECT extract(epoch FROM pg_xact_commit_timestamp(r.xmin) - r.due_at)::float8 AS s
        FROM reminder_rings r WHERE r.reminder_id = $1
      ) r
      """, [.text(name)]
    ).only
    return (try row.double(0), try row.double(1), try row.double(2))
  }
}
