import Events
import Foundation
import Handling
import Postgres
import Providers

/// SQL: the rows of people that are due, `q`, whose record notification-worker has applied. The parameters are the
/// partitions, the most rows, and the time.
private let reachedPeople = """
  (
    SELECT q.*, q.topic IS NULL OR EXISTS (
      SELECT FROM consumer_offsets o
      WHERE o.consumer_group LIKE '%notification' AND o.topic LIKE '%' || q.topic
        AND o.partition = q.topic_partition AND o.next_offset > q.after_offset
    ) AS reached
    FROM (
      SELECT q.* FROM unnest($1::int[]) AS p (partition)
      CROSS JOIN LATERAL (
        SELECT q.* FROM push_due q
        WHERE q.partition = p.partition AND q.due_at <= $3 AND q.notification_id < \(personIDEnd)
        ORDER BY q.due_at, q.user_id LIMIT $2
      ) q
      ORDER BY q.due_at, q.user_id LIMIT $2
    ) q
  )
  """

/// Makes the alarms due that devices of due people may show, although they are read or hidden.
func findHidden(_ partitions: Parameter, limit: Int, now: EventTime) -> Statement {
  Statement(
    """
    INSERT INTO push_due AS d (user_id, notification_id, partition, due_at, since)
    SELECT DISTINCT c.user_id, c.notification_id, q.partition, $3, $3
    FROM \(reachedPeople) q
    JOIN push_claims c ON c.user_id = q.user_id AND \(mayShow)
    -- Nothing can be taken away from the others.
    JOIN push_active_devices d ON d.user_id = c.user_id AND d.installation = c.installation
    CROSS JOIN LATERAL alarm_state(c.user_id, c.notification_id) s
    WHERE q.reached AND NOT (s.shown AND coalesce(s.unread, false))
    ORDER BY c.user_id, c.notification_id
    ON CONFLICT (user_id, notification_id) DO UPDATE SET
      due_at = least(d.due_at, EXCLUDED.due_at), revision = d.revision + 1
    """, [partitions, .int8(Int64(limit)), .timestamptz(now.microseconds)])
}

/// The due people: a row for each of their devices, or one, with the badge as it is now and as the device was
/// last told.
func readPeople(_ partitions: Parameter, limit: Int, now: EventTime) -> Statement {
  Statement(
    """
    SELECT q.user_id, q.notification_id, q.partition, q.version, q.since, q.revision, q.reached,
      badge(q.user_id) AS badge, l.badge AS told, u.due_at AS busy_until, \(ActiveDevice.columns)
    FROM \(reachedPeople) q
    LEFT JOIN push_active_devices d ON d.user_id = q.user_id
    LEFT JOIN LATERAL (
      SELECT k.badge FROM push_claims k
      WHERE k.user_id = q.user_id AND k.installation = d.installation AND k.badge IS NOT NULL
        AND k.state IN ('claimed', 'accepted', 'expired')
      ORDER BY k.claimed_at DESC LIMIT 1
    ) l ON true
    LEFT JOIN LATERAL (
      SELECT max(k.due_at) AS due_at FROM push_claims k
      WHERE k.user_id = q.user_id AND k.installation = d.installation AND k.state = 'claimed'
        AND k.purpose <> 'part'
    ) u ON true
    ORDER BY q.due_at, q.user_id, q.notification_id
    """, [partitions, .int8(Int64(limit)), .timestamptz(now.microseconds)])
}

/// Makes people due whose devices may have been told another badge.
func checkBadges(_ people: [BytewiseString: Int32], now: EventTime) -> Statement {
  let rows = Array(people)
  return Statement(
    """
    INSERT INTO push_due AS d (user_id, partition, due_at, since)
    SELECT e.user_id, e.partition, $3, $3
    FROM unnest($1::text[], $2::int[]) AS e (user_id, partition)
    ORDER BY e.user_id COLLATE "C"
    ON CONFLICT (user_id, notification_id) DO UPDATE SET
      due_at = least(d.due_at, EXCLUDED.due_at), revision = d.revision + 1
    """,
    [
      .textArray(rows.map(\.key.string)), .int4Array(rows.map(\.value)),
      .timestamptz(now.microseconds),
    ])
}

/// A row of `push_due` that stands for a person.
struct DuePerson {
  var row: DueRow
  /// When to look again; nil if the matter is closed.
  var again: EventTime?
}

extension Piece {
  /// Sends the badge to a device that was told another one. A removal, which this or an earlier piece has
  /// claimed, brings it as well.
  mutating func look(atPerson row: Row) throws {
    let due = try DueRow(row)
    if people.last?.row.notification != due.notification
      || people.last?.row.user.hasSameBytes(as: due.user) != true
    {
      people.append(DuePerson(row: due))
    }
    func later(_ time: EventTime) {
      let last = people.count - 1
      people[last].again = min(people[last].again ?? time, time)
    }
    guard try row.bool("reached") else {
      // notification-worker is behind: after 50 ms, then half as long again as it has taken.
      let age = (now.microseconds - due.since) / 2
      return later(surroundings.time(after: min(max(age, 50_000), 10_000_000)))
    }
    // A browser may show a notification of its own for a push that shows none.
    guard let active = try ActiveDevice(row), active.device.provider != .webPush,
      let told = try row.intOrNil("told"), try row.int("badge") != told
    else { return }
    let key = DeviceKey(active.device.user, active.device.installation)
    if try row.timestamptzOrNil("busy_until") != nil || isClaimed(key) {
      return later(surroundings.time(after: 200_000))
    }
    if let until = admit(active) { return later(until) }
    let message = PushMessage(
      purpose: .badge, notification: UUID(uuid: UUID.zero), version: now.microseconds, kind: "",
      badge: try row.int("badge"), created: now,
      expires: surroundings.time(after: surroundings.bounds.timeToLiveSeconds * 1_000_000))
    _ = add(message, to: active, raisedAt: now, attempt: 1, partition: due.partition)
  }

  /// Closes or postpones the rows of people.
  mutating func closePeople() {
    for person in people {
      if let time = person.again {
        again.append(Again(row: person.row, at: time, hold: nil))
      } else {
        closed.append(person.row)
      }
    }
  }
}

extension UUID {
  /// The id of the badge among a device's claims.
  fileprivate static let zero: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}
