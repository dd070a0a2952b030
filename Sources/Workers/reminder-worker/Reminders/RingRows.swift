import Events
import Handling
import Postgres
import Schedules

extension Ring {
  /// SQL: the columns of `reminder_rings r` that `Ring(row)` reads.
  static let columns = """
    r.user_id, r.reminder_id, extract(epoch FROM r.occurrence)::bigint AS occurrence, r.state,
      r.due_at, r.zone, r.content, r.revision, r.partition, r.set_at
    """

  init(_ row: Row) throws {
    (user, reminder) = (try row.text("user_id"), try row.text("reminder_id"))
    occurrence = Occurrence(
      local: LocalTime(seconds: try row.int8("occurrence")), dueAt: try row.timestamptz("due_at"))
    let text = try row.text("state")
    guard let state = State(rawValue: text) else {
      throw EventError(.badValue, "\(text) is not a state of a ring.", field: "state")
    }
    self.state = state
    zone = try row.text("zone")
    content = try value(try row.text("content"))
    revision = try row.int("revision")
    partition = Int32(clamping: try row.int("partition"))
    setAt = try row.timestamptzOrNil("set_at")
  }
}

/// Inserts rings. An occurrence that has rung or was missed is left unchanged. One that was
/// withdrawn, or is being forgotten, rings again, with a due time no earlier than before, so that
/// its event is the newer one. If it rings as another kind before the withdrawal was published, the
/// withdrawal is kept in its content.
///
/// - Parameter now: microseconds since 1970.
func addRings(_ rings: [Ring], now: Int64) throws -> Statement {
  Statement(
    """
    INSERT INTO reminder_rings AS r (
      user_id, reminder_id, occurrence, state, due_at, zone, decided_at, content, partition,
      is_published, set_at)
    SELECT e.user_id, e.reminder_id, \(localTime("e.occurrence")), e.state, e.due_at, e.zone, $8,
      e.content, e.partition, e.state = 'missed', e.set_at
    FROM unnest(
      $1::text[], $2::text[], $3::bigint[], $4::text[], $5::timestamptz[], $6::text[], $7::jsonb[],
      $9::int[], $10::timestamptz[]
    ) AS e (user_id, reminder_id, occurrence, state, due_at, zone, content, partition, set_at)
    ORDER BY e.user_id COLLATE "C", e.reminder_id COLLATE "C", e.occurrence
    ON CONFLICT (user_id, reminder_id, occurrence) DO UPDATE SET
      state = EXCLUDED.state, due_at = greatest(r.due_at, EXCLUDED.due_at), zone = EXCLUDED.zone,
      decided_at = EXCLUDED.decided_at,
      content = EXCLUDED.content || jsonb_strip_nulls(jsonb_build_object('withdrawals', CASE
        WHEN r.is_published OR \(isForgottenRing) THEN NULL
        WHEN r.content -> 'kind' = EXCLUDED.content -> 'kind' THEN r.content -> 'withdrawals'
        ELSE coalesce(r.content -> 'withdrawals', '{}') || jsonb_build_object(
          r.content ->> 'kind', jsonb_build_object(
            'revision', r.revision, 'dueAt', \(microseconds("r.due_at")),
            'setAt', \(microseconds("r.set_at"))))
      END)),
      partition = EXCLUDED.partition, is_published = false, revision = r.revision + 1,
      set_at = EXCLUDED.set_at
    WHERE (r.state = 'withdrawn' OR \(isForgottenRing)) AND EXCLUDED.state = 'rung'
    """,
    [
      .textArray(rings.map(\.user)), .textArray(rings.map(\.reminder)),
      .int8Array(rings.map(\.occurrence.local.seconds)), .textArray(rings.map(\.state.rawValue)),
      .timestamptzArray(rings.map(\.occurrence.dueAt)), .textArray(rings.map(\.zone)),
      .jsonbArray(try rings.map { try json($0.content) }), .timestamptz(now),
      .int4Array(rings.map(\.partition)), .timestamptzArray(rings.map(\.setAt)),
    ])
}

/// SQL: a time in microseconds since 1970.
private func microseconds(_ time: String) -> String {
  "(extract(epoch FROM \(time)) * 1000000)::bigint"
}

/// Marks rings as withdrawn, to be published again, but not the withdrawals that were published
/// with them.
///
/// - Parameter now: microseconds since 1970.
func withdrawRings(_ rings: [Ring], now: Int64) -> Statement {
  Statement(
    """
    UPDATE reminder_rings r SET
      state = 'withdrawn', revision = r.revision + 1, is_published = false, partition = e.partition,
      decided_at = $5,
      content = CASE WHEN r.is_published THEN r.content - 'withdrawals' ELSE r.content END
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::int[])
      AS e (user_id, reminder_id, occurrence, partition)
    WHERE r.user_id = e.user_id AND r.reminder_id = e.reminder_id
      AND r.occurrence = \(localTime("e.occurrence")) AND r.state = 'rung'
    """,
    [
      .textArray(rings.map(\.user)), .textArray(rings.map(\.reminder)),
      .int8Array(rings.map(\.occurrence.local.seconds)), .int4Array(rings.map(\.partition)),
      .timestamptz(now),
    ])
}
