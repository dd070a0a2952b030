import Events
import Foundation
import Handling
import Postgres

/// Applies `alarm-changes`: makes each changed alarm due if its recipient has devices. Of an event
/// only the version, and whether it is a retraction, are used: it may never be committed.
func changesWork(_ events: [Event], now: EventTime) -> Work {
  struct Change {
    var user: String
    var id: UUID
    var version: Int64
    var partition: Int32
    var isRetracted: Bool
  }
  var changes: [UUID: Change] = [:]
  for event in events {
    let (name, user, version, isRetracted) =
      switch event.payload {
      case .alarmChanged(let data): (data.notification, data.recipient, data.version, false)
      case .alarmRetracted(let data): (data.notification, data.recipient, data.version, true)
      default: ("", "", 0, false)
      }
    guard let id = UUID(uuidString: name), (changes[id]?.version ?? -1) < version else { continue }
    changes[id] = Change(
      user: user, id: id, version: version, partition: event.partition ?? 0,
      isRetracted: isRetracted)
  }
  guard !changes.isEmpty else { return Work([]) }
  let rows = Array(changes.values)
  return Work([
    planByKey(keepsPlans: true),
    Statement(
      """
      INSERT INTO push_due AS d (user_id, notification_id, partition, due_at, version, since)
      -- A retraction is due before the time of its event, which the conflict below recognizes.
      SELECT e.user_id, e.id, e.partition,
        CASE WHEN e.is_retracted THEN $5 - interval '1 second' ELSE $5 END, e.version, $5
      FROM unnest($1::text[], $2::uuid[], $3::int[], $4::bigint[], $6::boolean[])
        AS e (user_id, id, partition, version, is_retracted)
      WHERE EXISTS (
        SELECT FROM push_devices v WHERE v.user_id = e.user_id AND v.provider IS NOT NULL)
      ORDER BY e.user_id COLLATE "C", e.id
      ON CONFLICT (user_id, notification_id) DO UPDATE SET
        partition = EXCLUDED.partition, version = greatest(d.version, EXCLUDED.version),
        since = CASE WHEN EXCLUDED.version > d.version THEN EXCLUDED.since ELSE d.since END,
        -- A held alarm stays held, unless it is retracted.
        due_at = CASE WHEN d.held IS NULL OR EXCLUDED.due_at < EXCLUDED.since
          THEN least(d.due_at, EXCLUDED.due_at) ELSE d.due_at END,
        held = CASE WHEN EXCLUDED.due_at < EXCLUDED.since THEN NULL ELSE d.held END,
        revision = d.revision + 1
      """,
      [
        .textArray(rows.map(\.user)), .uuidArray(rows.map(\.id)),
        .int4Array(rows.map(\.partition)), .int8Array(rows.map(\.version)),
        .timestamptz(now.microseconds), .boolArray(rows.map { $0.isRetracted }),
      ]),
  ])
}

/// SQL: whether the due row `q` can be evaluated: of somebody who is being forgotten and has come back, no reader sees
/// anything until that is done. Not `is_erasing`, whose call costs more than what it reads.
let isVisible = "NOT EXISTS (SELECT FROM erasures f WHERE f.user_id = q.user_id)"

/// SQL: the ids of `push_due` below this one stand for people. No notification has such an id: see
/// `NotificationID`.
let personIDEnd = "'00000000-0000-0000-0001-000000000000'::uuid"

/// The id of a due row that stands for a person. There is one for each topic and partition, because
/// each waits for an offset of its own.
private func personID(_ topic: Topic, partition: Int32) -> UUID {
  let number = UInt32(bitPattern: partition)
  func byte(_ shift: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: number >> shift) }
  let kind: UInt8 = topic == .messages ? 3 : topic == .people ? 2 : 1
  return UUID(
    uuid: (
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, kind, byte(24), byte(16), byte(8), byte(0)
    ))
}

/// Applies `alarm-actions`, `people` and `messages`: makes the people due whose visible
/// notifications or badge may change once notification-worker has applied the record.
///
/// Includes people who have a device but neither a claim nor a due alarm. The alarm that a record
/// marks as read may reach push-worker later than the record, and be pushed before
/// notification-worker applies the record.
func peopleWork(_ events: [Event], topic: Topic, now: EventTime) -> Work {
  struct Key: Hashable {
    var person: BytewiseString
    var partition: Int32
  }
  var offsets: [Key: Int64] = [:]
  for event in events {
    guard let partition = event.partition, let offset = event.offset else { continue }
    for person in people(event) {
      let key = Key(person: BytewiseString(person), partition: partition)
      offsets[key] = max(offsets[key] ?? 0, offset)
    }
  }
  guard !offsets.isEmpty else { return Work([]) }
  let rows = Array(offsets)
  return Work([
    planByKey(keepsPlans: true),
    Statement(
      """
      INSERT INTO push_due AS d (
        user_id, notification_id, partition, due_at, since, topic, topic_partition, after_offset)
      SELECT e.user_id, e.id, c.partition, $6, $6, $5, e.partition, e.record_offset
      FROM unnest($1::text[], $2::uuid[], $3::int[], $4::bigint[])
        AS e (user_id, id, partition, record_offset)
      CROSS JOIN LATERAL (
        (
          SELECT c.partition FROM push_claims c WHERE c.user_id = e.user_id
          ORDER BY c.claimed_at DESC LIMIT 1
        )
        UNION ALL
        (
          SELECT q.partition FROM push_due q
          WHERE q.user_id = e.user_id AND q.notification_id >= \(personIDEnd) LIMIT 1
        )
        UNION ALL
        (
          SELECT d.partition FROM push_devices d
          WHERE d.user_id = e.user_id AND d.provider IS NOT NULL LIMIT 1
        )
        LIMIT 1
      ) c
      ORDER BY e.user_id COLLATE "C", e.id
      ON CONFLICT (user_id, notification_id) DO UPDATE SET
        partition = EXCLUDED.partition, due_at = EXCLUDED.due_at, since = EXCLUDED.since,
        topic = EXCLUDED.topic, topic_partition = EXCLUDED.topic_partition,
        after_offset = EXCLUDED.after_offset, revision = d.revision + 1
      """,
      [
        .textArray(rows.map(\.key.person.string)),
        .uuidArray(rows.map { personID(topic, partition: $0.key.partition) }),
        .int4Array(rows.map(\.key.partition)), .int8Array(rows.map(\.value)),
        .text(topic.rawValue), .timestamptz(now.microseconds),
      ]),
  ])
}

/// The people whose alarms an event may hide, show or mark as read. Reading a conversation reads
/// the alarms of its messages.
private func people(_ event: Event) -> [String] {
  switch event.payload {
  case .personBlocked(let data): [data.user, data.person]
  case .personUnblocked(let data): [data.user, data.person]
  case .conversationRead(let data): [data.user]
  case .messageSent: []
  default: [event.key]
  }
}
