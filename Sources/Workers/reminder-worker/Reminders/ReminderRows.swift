import Events
import Handling
import Postgres
import Schedules

/// SQL: the columns of `reminders r` that `Reminder(row)` reads besides `unseen`, including what a
/// cycle needs to ring. Uses subqueries instead of lateral joins, whose results PostgreSQL would cache
/// (Memoize) although no other row of a piece uses them.
let reminderColumns = """
  r.user_id, r.reminder_id, r.version_time, r.version_id, r.definition, r.partition, r.zone,
    extract(epoch FROM r.decided_through)::bigint AS decided_through,
    extract(epoch FROM r.next_at)::bigint AS next_at, r.due_at,
    CASE WHEN r.zone = 'UTC' THEN (
      SELECT p.zone FROM reminder_people p WHERE p.user_id = r.user_id
    ) END AS shown_zone,
    CASE r.definition ->> 'form' WHEN 'cycle' THEN (
      SELECT to_json(s)::text FROM cycle_shown(r.user_id, r.reminder_id) s
    ) END AS shown
  """

/// SQL: the column of `reminders r` with what a digest would say now. It takes milliseconds a digest, and more while
/// anybody is being erased.
let unseenColumn = """
  CASE r.definition ->> 'form' WHEN 'digest' THEN (
    SELECT to_json(d)::text
    FROM (
      SELECT array_agg(g.decided_at) AS times,
        string_to_array((array_agg(g.newest))[1], ',')::uuid[] AS newest
      FROM (
        SELECT g.decided_at, g.content ->> 'newest' AS newest FROM reminder_rings g
        WHERE g.user_id = r.user_id AND g.reminder_id = '' AND g.state = 'rung'
          AND NOT \(isForgotten("g.set_at", of: "g.user_id"))
        ORDER BY g.occurrence DESC
        LIMIT 2
      ) g
    ) last
    CROSS JOIN LATERAL digest_content(
      r.user_id, coalesce(last.times[1], '-infinity'), last.times[2], coalesce(last.newest, '{}'),
      (
        SELECT array_agg(k.kind::smallint)
        FROM jsonb_array_elements_text(r.definition -> 'kinds') k (kind)
      ), substr(r.definition ->> 'kind', 2)::smallint
    ) d
  ) END AS unseen
  """

extension Reminder {
  init(_ row: Row) throws {
    (user, id) = (try row.text("user_id"), try row.text("reminder_id"))
    version = Version(
      time: EventTime(microseconds: try row.timestamptz("version_time")),
      id: try row.text("version_id"))
    definition = try row.textOrNil("definition").map { try value($0) }
    partition = Int32(clamping: try row.int("partition"))
    (zone, shownZone) = (try row.text("zone"), try row.textOrNil("shown_zone") ?? "")
    decidedThrough = LocalTime(seconds: try row.int8("decided_through"))
    if let local = try row.int8OrNil("next_at") {
      next = Occurrence(local: LocalTime(seconds: local), dueAt: try row.timestamptz("due_at"))
    }
    if let json = try row.textOrNil("shown") { shown = try value(json) }
    if let json = try row.textOrNil("unseen") { unseen = try value(json) }
  }
}

/// SQL: a local time (`timestamp`) from seconds since 1970-01-01T00:00:00.
func localTime(_ seconds: String) -> String {
  "timestamp '1970-01-01 00:00:00' + \(seconds) * interval '1 second'"
}

/// Writes whole rows, which must be locked or new.
func writeReminders(_ reminders: [Reminder], zoneData: String) throws -> Statement {
  Statement(
    """
    INSERT INTO reminders (
      user_id, reminder_id, version_time, version_id, definition, partition, decided_through, next_at,
      zone, due_at, zone_data)
    SELECT e.user_id, e.reminder_id, e.version_time, e.version_id, e.definition, e.partition,
      \(localTime("e.decided_through")), \(localTime("e.next_at")), e.zone, e.due_at, $11
    FROM unnest(
      $1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::jsonb[], $6::int[], $7::bigint[],
      $8::bigint[], $9::text[], $10::timestamptz[]
    ) AS e (
      user_id, reminder_id, version_time, version_id, definition, partition, decided_through, next_at,
      zone, due_at)
    ORDER BY e.user_id COLLATE "C", e.reminder_id COLLATE "C"
    ON CONFLICT (user_id, reminder_id) DO UPDATE SET
      version_time = EXCLUDED.version_time, version_id = EXCLUDED.version_id,
      definition = EXCLUDED.definition, partition = EXCLUDED.partition,
      decided_through = EXCLUDED.decided_through, next_at = EXCLUDED.next_at, zone = EXCLUDED.zone,
      due_at = EXCLUDED.due_at, zone_data = EXCLUDED.zone_data
    """,
    [
      .textArray(reminders.map(\.user)), .textArray(reminders.map(\.id)),
      .timestamptzArray(reminders.map { $0.version?.time.microseconds }),
      .textArray(reminders.map { $0.version?.id }),
      .jsonbArray(try reminders.map { try $0.definition.map { try json($0) } }),
      .int4Array(reminders.map(\.partition)),
      .int8Array(reminders.map(\.decidedThrough.seconds)),
      .int8Array(reminders.map { $0.next?.local.seconds }), .textArray(reminders.map(\.zone)),
      .timestamptzArray(reminders.map { $0.next?.dueAt }), .text(zoneData),
    ])
}

/// Writes only the progress of reminders; ringing changes no other columns.
func advanceReminders(_ reminders: [Reminder], zoneData: String) -> Statement {
  Statement(
    """
    UPDATE reminders r SET
      decided_through = \(localTime("e.decided_through")), next_at = \(localTime("e.next_at")),
      due_at = e.due_at, zone = e.zone, zone_data = $7
    FROM unnest(
      $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::text[]
    ) AS e (user_id, reminder_id, decided_through, next_at, due_at, zone)
    WHERE r.user_id = e.user_id AND r.reminder_id = e.reminder_id
    """,
    [
      .textArray(reminders.map(\.user)), .textArray(reminders.map(\.id)),
      .int8Array(reminders.map(\.decidedThrough.seconds)),
      .int8Array(reminders.map { $0.next?.local.seconds }),
      .timestamptzArray(reminders.map { $0.next?.dueAt }), .textArray(reminders.map(\.zone)),
      .text(zoneData),
    ])
}
