import Events
import Pipeline
import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `alarm.*`: people read, delete and mute. Reading and deleting are marks and watermarks that only
/// ever rise; what they hide is hidden when it is read. So only what a deletion cuts through, and
/// what a muting that arrives late reaches, is recomputed.
func alarmActionsWork(_ events: [Event]) -> Work {
  let actions = AlarmActions(events)
  let people = distinct(events.lazy.map(\.key))
  var statements = [insertRecipients(people), lockRecipients(people)]
  statements += actions.watermarks + actions.marks + actions.mutes
  guard actions.canTouch else { return notificationWork(statements, events, recomputes: false) }
  statements.append(
    recomputeNotifications(
      recipients: people,
      touched: """
        SELECT n.notification_id, n.recipient, n.type, n.subject
        FROM unnest($2::text[], $3::uuid[]) AS d (recipient, notification_id)
        JOIN notifications n ON n.notification_id = d.notification_id
        WHERE n.recipient = d.recipient
        UNION ALL
        SELECT n.notification_id, n.recipient, n.type, n.subject
        FROM unnest($4::text[], $5::timestamptz[]) AS d (user_id, at)
        JOIN notifications n ON n.recipient = d.user_id
          AND n.raised_at > d.at AND n.raised_at < d.at + interval '1 day'
        WHERE n.oldest_at <= d.at
        """, actions.touched))
  return notificationWork(statements, events)
}

/// A batch's actions, each watermark and mark at its highest.
private struct AlarmActions {
  private var readAll: [Key: EventTime] = [:]
  private var deletedAll: [Key: EventTime] = [:]
  private var read: [Key: EventTime] = [:]
  private var deleted: [Key: EventTime] = [:]
  private var cuts: [(user: String, at: EventTime)] = []
  private var toggles: [(user: String, type: AlarmType, event: Event, muted: Bool)] = []

  init(_ events: [Event]) {
    for event in events {
      switch event.payload {
      case .alarmReadAll(let data): raise(&readAll, Key(data.user), event)
      case .alarmAllDeleted(let data):
        raise(&deletedAll, Key(data.user), event)
        cuts.append((data.user, event.time))
      case .alarmRead(let data): raise(&read, Key(data.user, canonical(data.notification)), event)
      case .alarmDeleted(let data):
        raise(&deleted, Key(data.user, canonical(data.notification)), event)
      case .alarmMuted(let data):
        if let type = AlarmType(rawValue: data.type) {
          toggles.append((data.user, type, event, true))
        }
      case .alarmUnmuted(let data):
        if let type = AlarmType(rawValue: data.type) {
          toggles.append((data.user, type, event, false))
        }
      default: continue
      }
    }
  }

  /// A UUID may be spelled in either case; it is one mark.
  private func canonical(_ notification: String) -> String {
    UUID(uuidString: notification)?.uuidString ?? notification
  }

  private func raise(_ marks: inout [Key: EventTime], _ key: Key, _ event: Event) {
    marks[key] = max(marks[key] ?? event.time, event.time)
  }

  /// Whether anything may have to be recomputed.
  var canTouch: Bool { !deleted.isEmpty || !deletedAll.isEmpty || !toggles.isEmpty }

  /// The deleted notifications; who deleted all and when, each time and not only the last.
  var touched: [Parameter] {
    let keys = Array(deleted.keys)
    return [
      .textArray(keys.map(\.first.string)),
      .uuidArray(keys.map { UUID(uuidString: $0.second.string) }),
      .textArray(cuts.map(\.user)), .timestamptzArray(cuts.map(\.at.microseconds)),
    ]
  }

  var watermarks: [Statement] {
    let people = Array(Set(readAll.keys).union(deletedAll.keys))
    guard !people.isEmpty else { return [] }
    return [
      Statement(
        """
        UPDATE notification_recipients r SET
          read_all_at = greatest(r.read_all_at, w.read_all_at),
          deleted_all_at = greatest(r.deleted_all_at, w.deleted_all_at)
        FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[])
          AS w (user_id, read_all_at, deleted_all_at)
        WHERE r.user_id = w.user_id
          AND (w.read_all_at > r.read_all_at OR w.deleted_all_at > r.deleted_all_at)
        """,
        [
          .textArray(people.map(\.first.string)),
          .timestamptzArray(people.map { readAll[$0]?.microseconds }),
          .timestamptzArray(people.map { deletedAll[$0]?.microseconds }),
        ])
    ]
  }

  var marks: [Statement] {
    let keys = Array(Set(read.keys).union(deleted.keys))
    guard !keys.isEmpty else { return [] }
    return [
      Statement(
        """
        INSERT INTO notification_marks AS m (recipient, notification_id, read_at, deleted_at)
        SELECT e.recipient, e.notification_id, coalesce(e.read_at, '-infinity'),
          coalesce(e.deleted_at, '-infinity')
        FROM unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::timestamptz[])
          AS e (recipient, notification_id, read_at, deleted_at)
        ORDER BY e.recipient COLLATE "C", e.notification_id
        ON CONFLICT (recipient, notification_id) DO UPDATE SET
          read_at = greatest(m.read_at, EXCLUDED.read_at),
          deleted_at = greatest(m.deleted_at, EXCLUDED.deleted_at)
        WHERE EXCLUDED.read_at > m.read_at OR EXCLUDED.deleted_at > m.deleted_at
        """,
        [
          .textArray(keys.map(\.first.string)),
          .uuidArray(keys.map { UUID(uuidString: $0.second.string) }),
          .timestamptzArray(keys.map { read[$0]?.microseconds }),
          .timestamptzArray(keys.map { deleted[$0]?.microseconds }),
        ])
    ]
  }

  /// Writes the timeline of mutings, then mends the contributions between each of them and the
  /// next: those shown so far are found through their notifications, those muted through an index
  /// of their own. All of them are touched, also those that stay as they are.
  var mutes: [Statement] {
    guard !toggles.isEmpty else { return [] }
    let timeline: [Parameter] = [
      .textArray(toggles.map(\.user)), .int2Array(toggles.map { Int16($0.type.code) }),
      .timestamptzArray(toggles.map(\.event.time.microseconds)),
    ]
    return [
      Statement(
        """
        INSERT INTO notification_mutes (recipient, type, at, event_id, muted)
        SELECT * FROM unnest(
          $1::text[], $2::smallint[], $3::timestamptz[], $4::text[], $5::boolean[])
        ON CONFLICT DO NOTHING
        """,
        timeline + [
          .textArray(toggles.map(\.event.id)), .boolArray(toggles.map(\.muted)),
        ]),
      Statement(
        """
        WITH toggle AS MATERIALIZED (
          SELECT DISTINCT e.recipient, e.type, e.at, coalesce(
            (
              SELECT min(m.at) FROM notification_mutes m
              WHERE m.recipient = e.recipient AND m.type = e.type AND m.at > e.at
            ), 'infinity') AS until
          FROM unnest($1::text[], $2::smallint[], $3::timestamptz[]) AS e (recipient, type, at)
        ),
        reached AS (
          SELECT a.recipient, a.type, a.subject, a.source
          FROM toggle t
          JOIN notifications n ON n.recipient = t.recipient AND n.raised_at > t.at
            AND n.raised_at < t.until + interval '1 day'
          JOIN notification_actors a ON a.notification_id = n.notification_id
            AND a.active AND NOT a.muted AND a.first_at > t.at AND a.first_at <= t.until
          WHERE n.type = t.type
          UNION
          SELECT a.recipient, a.type, a.subject, a.source
          FROM toggle t
          JOIN notification_actors a ON a.recipient = t.recipient AND a.type = t.type
            AND a.muted AND a.first_at > t.at AND a.first_at <= t.until
        )
        UPDATE notification_actors a SET
          muted = notification_muted(a.recipient, a.type, a.first_at),
          also_touched = a.notification_id
        FROM reached e
        WHERE a.recipient = e.recipient AND a.type = e.type AND a.subject = e.subject
          AND a.source = e.source
        """, timeline),
    ]
  }
}
