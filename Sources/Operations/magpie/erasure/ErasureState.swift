import Events
import Postgres

/// A row of `erasures`, with what each worker that is not done is doing.
struct ErasureState {
  /// A worker whose tables may still name the person.
  struct Waiting: Encodable {
    var worker: String
    /// Nil if the worker has not applied the event yet.
    var stage: Int?
    /// Since when; of a stage that is waiting for older transactions, since when it is waiting.
    var since: String?
    /// Whether the stage waits for transactions that may not know of what came before.
    var isWaiting: Bool

    var text: String {
      guard let stage, let since else { return "\(worker) (has not read the request yet)" }
      return "\(worker) (\(isWaiting ? "before stage" : "stage") \(stage + 1), last step \(since))"
    }
  }

  /// In hexadecimal.
  var hash: String
  /// Nil unless the person was asked for.
  var user: String?
  var erasedAt: EventTime
  var appliedAt: EventTime
  var doneAt: EventTime?
  var waitsFor: [Waiting] = []

  var isDone: Bool { doneAt != nil }

  /// Those of `users` who were ever erased, or everybody: who waits longest first, then the newest.
  static func read(_ connection: Connection, users: [String]? = nil, limit: Int? = nil) throws
    -> [ErasureState]
  {
    let queues = ConsumerGroup.allCases.map {
      "SELECT '\($0.rawValue)' AS worker, user_id, stage, horizon, worked_at FROM \($0.rawValue)_erasures"
    }.joined(separator: " UNION ALL ")
    let chosen =
      users == nil
      ? "SELECT NULL::text AS person, * FROM erasures"
      : """
      SELECT p.id AS person, x.* FROM unnest($2::text[]) AS p (id)
      JOIN erasures x ON x.person_hash = person_hash(p.id)
      """
    let rows = try explaining {
      try connection.query(
        """
        SELECT encode(e.person_hash, 'hex') AS hash, e.person, e.erased_at, e.applied_at, e.done_at,
          w.worker, q.stage, q.worked_at,
          (q.horizon IS NULL OR q.horizon > pg_snapshot_xmin(pg_current_snapshot())) AS is_waiting
        FROM (
          SELECT * FROM (\(chosen)) c
          ORDER BY c.done_at IS NOT NULL, CASE WHEN c.done_at IS NULL THEN c.applied_at END,
            c.erased_at DESC, c.person_hash
          LIMIT $1) e
        LEFT JOIN LATERAL unnest(e.waits_for) WITH ORDINALITY AS w (worker, position) ON true
        LEFT JOIN (\(queues)) q ON q.worker = w.worker AND q.user_id = e.user_id
        ORDER BY e.done_at IS NOT NULL, CASE WHEN e.done_at IS NULL THEN e.applied_at END,
          e.erased_at DESC, e.person_hash, w.position
        """,
        [.int8(limit.map { Int64($0) })] + (users.map { [.textArray($0)] } ?? []))
    }
    var states: [ErasureState] = []
    for row in rows {
      let hash = try row.text("hash")
      if states.last?.hash != hash {
        states.append(
          ErasureState(
            hash: hash, user: try row.textOrNil("person"),
            erasedAt: EventTime(microseconds: try row.timestamptz("erased_at")),
            appliedAt: EventTime(microseconds: try row.timestamptz("applied_at")),
            doneAt: try row.timestamptzOrNil("done_at").map(EventTime.init)))
      }
      guard let worker = try row.textOrNil("worker") else { continue }
      states[states.count - 1].waitsFor.append(
        Waiting(
          worker: worker, stage: try row.intOrNil("stage"),
          since: try row.timestamptzOrNil("worked_at").map {
            EventTime(microseconds: $0).rfc3339
          },
          isWaiting: try row.boolOrNil("is_waiting") ?? true))
    }
    return states
  }

  /// A line about the people who are being erased, for comparisons of tables: rows that name them may
  /// differ meanwhile. Empty if nobody is.
  static func note(_ connection: Connection) throws -> [String] {
    let count = try connection.query("SELECT count(*) FROM erasures WHERE user_id IS NOT NULL")
      .only.int(0)
    guard count > 0 else { return [] }
    return ["\(count) people are being erased: rows that name them may differ until that is done"]
  }

  /// Runs `body`; says which login is needed if this one may not read the key of the hashes.
  private static func explaining<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch let error as PostgresError where error.sqlstate == "42501" {
      throw Failure(
        .unavailable,
        "\(error.message). Use a login that may read what workers read, such as magpie_operator of `magpie "
          + "setup`: whose a hash is can only be told with erasure_key.")
    }
  }
}
