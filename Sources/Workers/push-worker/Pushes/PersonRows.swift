import Events
import Foundation
import Handling
import Postgres
import Providers

/// SQL: the due rows `q` of people, with `reached`: whether notification-worker has applied the
/// row's record. The parameters are the partitions, the most rows, and the time.
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
          AND \(isVisible)
        ORDER BY q.due_at, q.user_id LIMIT $2
      ) q
      ORDER BY q.due_at, q.user_id LIMIT $2
    ) q
  )
  """

/// How many of a person's visible notifications are checked, the newest first. Android shows 50 of
/// an app.
private let visibleMax = 500

/// SQL: the alarms that devices of the person of the row `q` may show although they are read or hidden, and these
/// devices.
private let hiddenAlarms = """
  SELECT string_agg(DISTINCT h.notification_id::text, ',') AS hidden,
    array_agg(DISTINCT i.installation) AS installations
  FROM (
    SELECT v.notification_id, v.installations,
      CASE WHEN s.shown THEN NOT coalesce(s.unread, false)
        -- Not one that is to be rendered again: its event makes it due.
        ELSE NOT alarm_awaits_rendering(q.user_id, v.notification_id) END AS is_hidden
    FROM (
      SELECT c.notification_id, array_agg(c.installation) AS installations
      FROM (
        SELECT c.* FROM push_claims c
        WHERE c.user_id = q.user_id AND \(mayShow)
          -- No removal can reach an inactive device.
          AND c.installation = ANY (ARRAY(
            SELECT d.installation FROM push_active_devices d WHERE d.user_id = q.user_id))
        ORDER BY c.claimed_at DESC LIMIT \(visibleMax * devicesMax)
      ) c
      GROUP BY c.notification_id
      ORDER BY max(c.claimed_at) DESC LIMIT \(visibleMax)
    ) v
    CROSS JOIN LATERAL alarm_state(q.user_id, v.notification_id) s
  ) h
  CROSS JOIN LATERAL unnest(h.installations) i (installation)
  WHERE h.is_hidden
  """

/// Reads the due people: a row for each active device, or one without a device, with the current
/// badge, the badge that the device was last told, and the alarms that devices may show although
/// they are read or hidden. A device that was told none counts as showing 0. If it is not
/// known which badge the last message told, it is -1, which no current one is.
///
/// Reads it all in one snapshot. Otherwise notification-worker could commit the record between two
/// reads, and the person would be closed without what the record has hidden.
func readPeople(_ partitions: Parameter, limit: Int, now: EventTime) -> Statement {
  Statement(
    """
    -- Once for each person, not for each device.
    WITH people AS MATERIALIZED (
      SELECT q.*, v.hidden, v.installations, badge(q.user_id) AS badge
      FROM \(reachedPeople) q
      LEFT JOIN LATERAL (\(hiddenAlarms)) v ON q.reached
    )
    SELECT q.user_id, q.notification_id, q.partition, q.version, q.since, q.revision, q.reached,
      q.hidden, d.installation = ANY (q.installations) AS is_hidden_here,
      q.badge, coalesce(l.badge, 0) AS told, u.due_at AS busy_until,
      w.due_at AS waits_until, w.answered_at, w.attempts, w.expires_at, w.badge AS waiting_badge,
      \(ActiveDevice.columns)
    FROM people q
    LEFT JOIN LATERAL (\(ActiveDevice.rows) OFFSET 0) d ON true
    LEFT JOIN LATERAL (
      SELECT CASE
          WHEN k.state IN ('claimed', 'accepted')
            -- A badge that was given up is not tried again before it is another number.
            OR k.purpose = 'badge' AND k.state IN ('refused', 'expired') THEN k.badge
          -- It may have arrived, or has replaced a claim that did.
          ELSE -1 END AS badge
      FROM push_claims k
      WHERE k.user_id = q.user_id AND k.installation = d.installation AND k.badge IS NOT NULL
        -- An alert that did not arrive tells nothing.
        AND (k.may_show OR k.purpose IN ('badge', 'removal') OR k.state IN ('claimed', 'accepted'))
      ORDER BY k.claimed_at DESC LIMIT 1
    ) l ON true
    LEFT JOIN LATERAL (
      SELECT max(k.due_at) AS due_at FROM push_claims k
      WHERE k.user_id = q.user_id AND k.installation = d.installation AND k.state = 'claimed'
        AND k.content IS NOT NULL
    ) u ON true
    LEFT JOIN push_claims w ON w.user_id = q.user_id AND w.installation = d.installation
      AND w.notification_id = '00000000-0000-0000-0000-000000000000' AND w.state = 'waiting'
    ORDER BY q.due_at, q.user_id, q.notification_id
    """, [partitions, .int8(Int64(limit)), .timestamptz(now.microseconds)])
}

/// Makes alarms and people due, unless they are due earlier.
func writeDue(_ keys: [Piece.DueKey: Piece.Due], now: EventTime) -> Statement {
  let rows = Array(keys)
  return Statement(
    """
    INSERT INTO push_due AS d (user_id, notification_id, partition, due_at, since)
    SELECT e.user_id, e.id, e.partition, e.due_at, $5
    FROM unnest($1::text[], $2::uuid[], $3::int[], $4::timestamptz[])
      AS e (user_id, id, partition, due_at)
    ORDER BY e.user_id COLLATE "C", e.id
    ON CONFLICT (user_id, notification_id) DO UPDATE SET
      due_at = least(d.due_at, EXCLUDED.due_at), revision = d.revision + 1,
      -- What is held counts as released once it is due.
      held = CASE WHEN EXCLUDED.due_at < d.due_at THEN NULL ELSE d.held END
    """,
    [
      .textArray(rows.map(\.key.user.string)), .uuidArray(rows.map(\.key.notification)),
      .int4Array(rows.map(\.value.partition)), .timestamptzArray(rows.map(\.value.at.microseconds)),
      .timestamptz(now.microseconds),
    ])
}

/// A row of `push_due` that stands for a person.
struct DuePerson {
  var row: DueRow
  /// When to evaluate it again; nil if the row can be deleted.
  var again: EventTime?
}

extension Piece {
  /// Evaluates a due person on one device. Makes the alarms due that must be removed from devices,
  /// or else claims a badge if the device was last told another one. Removals carry the badge, too.
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
      // notification-worker is behind: wait half as long as the row has waited, 50 ms at least and
      // 10 s at most.
      let age = (now.microseconds - due.since) / 2
      return later(surroundings.time(after: age, within: 50_000...10_000_000))
    }
    if let ids = try row.textOrNil("hidden") {
      for id in ids.split(separator: ",").compactMap({ UUID(uuidString: String($0)) }) {
        makeDue(DueKey(user: BytewiseString(due.user), notification: id), due.partition)
      }
      // The removals carry the badge, and their answers make the person due again, for other
      // devices and for alarms beyond the newest `visibleMax`. Removals that cannot be sent for days must not
      // be evaluated all the time, so wait as long as the row has waited: 2 s at least, 15 min at most.
      let age = now.microseconds - due.since
      later(surroundings.time(after: age, within: 2_000_000...900_000_000))
      // To this device. What cannot be removed from another one does not keep the badge from it.
      guard try row.boolOrNil("is_hidden_here") != true else { return }
    }
    let badge = try row.int("badge")
    // No badge alone for browsers: they may show a notification of their own for a push that shows
    // none.
    guard let active = try ActiveDevice(row), active.device.provider != .webPush,
      try badge != row.int("told")
    else { return }
    let isSame = try row.intOrNil("waiting_badge") == badge
    if var waiting = try row.timestamptzOrNil("waits_until") {
      // Another number is another message, whose tries are counted anew. It waits for a minute at most, which is what
      // providers demand that have too many messages for one device.
      if !isSame, let answered = try row.timestamptzOrNil("answered_at") {
        waiting = min(waiting, answered + 60_000_000)
      }
      if waiting > now.microseconds { return later(EventTime(microseconds: waiting)) }
    }
    let busy = try row.timestamptzOrNil("busy_until")
    if busy != nil || isClaimed(DeviceKey(active.device)) {
      // At the latest: the device's answer makes the person due earlier.
      let until = (busy ?? 0) - now.microseconds
      return later(surroundings.time(after: until, within: 200_000...30_000_000))
    }
    switch admit(active) {
    case .admitted: break
    case .later(let time): return later(time)
    case .full, .scopeFull: return later(surroundings.time(after: 1_000_000))
    }
    let waitingExpires = isSame ? try row.timestamptzOrNil("expires_at") : nil
    let attempts = isSame ? try row.intOrNil("attempts") ?? 0 : 0
    let message = PushMessage(
      purpose: .badge, notification: .zero, version: now.microseconds, kind: "", badge: badge,
      created: now,
      expires: waitingExpires.map { EventTime(microseconds: $0) } ?? silentExpiry(active))
    _ = add(
      message, to: active, raisedAt: now, attempt: attempts + 1, partition: due.partition)
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
  /// In place of a notification's id: stands for a person in `push_due`, for the badge in
  /// `push_claims`.
  static let zero = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
}
