import Events
import Handling
import Kinds
import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// `alarm.*`: recipients read, delete and mute. Reading and deleting only raise marks and
/// watermarks, which hide notifications at read time. So only notifications that a deletion cuts
/// through are recomputed, and what a late muting affects is reviewed (`reviewWork`).
///
/// - Throws: `EventError` if an event names a kind that the registry does not have.
func alarmActionsWork(_ events: [Event], kinds: AlarmKinds) throws -> Work {
  let actions = try AlarmActions(events, kinds)
  let people = distinct(events.lazy.map(\.key))
  var statements = [lockRecipients(people)]
  statements += actions.watermarks + actions.marks + actions.mutes + actions.wideCuts
  statements += actions.silences.statements
  guard actions.canTouch else { return notificationWork(statements, recomputation: nil, events) }
  return notificationWork(
    statements,
    recomputation: recomputeNotifications(
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
        WHERE n.oldest_at <= d.at AND NOT \(isWide)
        """, actions.touched), events)
}

/// The maximum number of notifications cut through by a deletion of everything that are recomputed
/// within its transaction.
private let cutMax = 500

/// Whether the deletion `d` cuts through more than `cutMax` notifications. Only notifications that
/// combine the contributions of one day can be cut through.
private let isWide = """
  (
    SELECT count(*) > \(cutMax) FROM (
      SELECT FROM notifications c
      WHERE c.recipient = d.user_id AND c.raised_at > d.at
        AND c.raised_at < d.at + interval '1 day' AND c.oldest_at <= d.at
      LIMIT \(cutMax + 1)
    ) AS cut_through
  )
  """

/// A batch's actions; each watermark and mark at its highest value.
private struct AlarmActions {
  private var readAll: [Key: EventTime] = [:]
  private var deletedAll: [Key: EventTime] = [:]
  private var seenAll: [Key: EventTime] = [:]
  private var read: [Key: EventTime] = [:]
  private var deleted: [Key: EventTime] = [:]
  private var cuts: [(user: String, at: EventTime, trace: TraceContext?)] = []
  private var toggles: [(user: String, kind: AlarmCode, event: Event, muted: Bool)] = []
  private(set) var silences = Silences()

  init(_ events: [Event], _ kinds: AlarmKinds) throws(EventError) {
    for event in events {
      switch event.payload {
      case .alarmReadAll(let data): raise(&readAll, Key(data.user), event)
      case .alarmSeen(let data): raise(&seenAll, Key(data.user), event)
      case .alarmAllDeleted(let data):
        raise(&deletedAll, Key(data.user), event)
        cuts.append((data.user, event.time, event.trace))
      case .alarmRead(let data): raise(&read, Key(data.user, canonical(data.notification)), event)
      case .alarmDeleted(let data):
        raise(&deleted, Key(data.user, canonical(data.notification)), event)
      case .alarmMuted(let data):
        toggles.append((data.user, try kinds.kind(of: data.type, field: "type").code, event, true))
      case .alarmUnmuted(let data):
        toggles.append((data.user, try kinds.kind(of: data.type, field: "type").code, event, false))
      case .alarmDisabled(let data):
        try disable(
          data.user, data.scope, kind: data.kind, subject: data.subject, actor: data.actor, event,
          kinds, isOff: true)
      case .alarmEnabled(let data):
        try disable(
          data.user, data.scope, kind: data.kind, subject: data.subject, actor: data.actor, event,
          kinds, isOff: false)
      default: continue
      }
    }
  }

  private mutating func disable(
    _ user: String, _ scope: String, kind: String, subject: String, actor: String, _ event: Event,
    _ kinds: AlarmKinds, isOff: Bool
  ) throws(EventError) {
    switch AlarmScope(rawValue: scope) {
    case .kind:
      toggles.append((user, try kinds.kind(of: kind, field: "kind").code, event, isOff))
    case .subject:
      let code = try kinds.kind(of: kind, field: "kind").code
      silences.add(user, .subject(code, subject), event, isOff: isOff)
    case .actor: silences.add(user, .actor(actor), event, isOff: isOff)
    case nil: break
    }
  }

  /// A UUID may be written in either case but is one mark.
  private func canonical(_ notification: String) -> String {
    UUID(uuidString: notification)?.uuidString ?? notification
  }

  private func raise(_ marks: inout [Key: EventTime], _ key: Key, _ event: Event) {
    marks[key] = max(marks[key] ?? event.time, event.time)
  }

  /// Whether notifications may have to be recomputed.
  var canTouch: Bool { !deleted.isEmpty || !deletedAll.isEmpty }

  /// The deleted notifications, and the user and time of every deletion of everything in the batch,
  /// not only of the last.
  var touched: [Parameter] {
    let keys = Array(deleted.keys)
    return [
      .textArray(keys.map(\.first.string)),
      .uuidArray(keys.map { UUID(uuidString: $0.second.string) }),
      .textArray(cuts.map(\.user)), .timestamptzArray(cuts.map(\.at.microseconds)),
    ]
  }

  /// If a deletion of everything cuts through more notifications than one transaction should
  /// recompute, puts all contributions of that day under review.
  var wideCuts: [Statement] {
    guard !cuts.isEmpty else { return [] }
    return [
      Statement(
        """
        INSERT INTO notification_reviews AS v
          (recipient, type, after_time, upto_time, from_day, to_day, caused_at, trace)
        SELECT c.user_id, t.type, min(c.day) - interval '1 microsecond',
          max(c.day) + interval '1 day', min(c.day), max(c.day) + interval '2 days', max(c.at),
          (array_agg(c.trace ORDER BY c.at DESC))[1]
        FROM (
          SELECT d.user_id, d.at, d.trace, date_trunc('day', d.at, 'UTC') AS day
          FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS d (user_id, at, trace)
          WHERE \(isWide)
        ) c
        CROSS JOIN LATERAL (
          SELECT DISTINCT n.type FROM notifications n
          WHERE n.recipient = c.user_id AND n.bucket IS NOT NULL
            AND n.raised_at > c.at AND n.raised_at < c.at + interval '1 day'
        ) t
        GROUP BY c.user_id, t.type
        ORDER BY c.user_id COLLATE "C", t.type
        \(widenReview)
        """,
        [
          .textArray(cuts.map(\.user)), .timestamptzArray(cuts.map(\.at.microseconds)),
          .textArray(cuts.map { $0.trace?.description }),
        ])
    ]
  }

  var watermarks: [Statement] {
    let people = Array(Set(readAll.keys).union(deletedAll.keys).union(seenAll.keys))
    guard !people.isEmpty else { return [] }
    return [
      Statement(
        """
        UPDATE notification_recipients r SET
          read_all_at = greatest(r.read_all_at, w.read_all_at),
          deleted_all_at = greatest(r.deleted_all_at, w.deleted_all_at),
          seen_all_at = greatest(r.seen_all_at, w.seen_all_at)
        FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[])
          AS w (user_id, read_all_at, deleted_all_at, seen_all_at)
        WHERE r.user_id = w.user_id
          AND (w.read_all_at > r.read_all_at OR w.deleted_all_at > r.deleted_all_at
            OR w.seen_all_at > r.seen_all_at)
        """,
        [
          .textArray(people.map(\.first.string)),
          .timestamptzArray(people.map { readAll[$0]?.microseconds }),
          .timestamptzArray(people.map { deletedAll[$0]?.microseconds }),
          .timestamptzArray(people.map { seenAll[$0]?.microseconds }),
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

  /// Writes the timeline of mutings. If contributions may exist after one of them, puts the
  /// recipient's contributions of the type under review: readers apply the timeline immediately,
  /// and the backlog updates the contributions. However many there are, this costs a few probes and
  /// one row.
  var mutes: [Statement] {
    guard !toggles.isEmpty else { return [] }
    let timeline: [Parameter] = [
      .textArray(toggles.map(\.user)), .int2Array(toggles.map { Int16($0.kind.number) }),
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
        INSERT INTO notification_reviews AS v
          (recipient, type, after_time, upto_time, from_day, to_day, caused_at, trace)
        SELECT t.recipient, t.type, min(t.at), max(t.until), date_trunc('day', min(t.at), 'UTC'),
          date_trunc('day', max(t.until), 'UTC') + interval '1 day', max(t.at),
          (array_agg(t.trace ORDER BY t.at DESC))[1]
        FROM (
          SELECT e.recipient, e.type, e.at, e.trace, coalesce(
            (
              SELECT min(m.at) FROM notification_mutes m
              WHERE m.recipient = e.recipient AND m.type = e.type AND m.at > e.at
            ), 'infinity') AS until
          FROM unnest($1::text[], $2::smallint[], $3::timestamptz[], $4::text[])
            AS e (recipient, type, at, trace)
        ) t
        WHERE EXISTS (
            SELECT FROM notifications n WHERE n.recipient = t.recipient AND n.raised_at > t.at)
          OR EXISTS (
            SELECT FROM notification_actors a
            WHERE a.recipient = t.recipient AND a.type = t.type AND a.muted
              AND a.first_at > t.at AND a.first_at <= t.until)
        GROUP BY t.recipient, t.type
        ORDER BY t.recipient COLLATE "C", t.type
        \(widenReview)
        """, timeline + [.textArray(toggles.map { $0.event.trace?.description })]),
    ]
  }
}

/// The end of every `INSERT INTO notification_reviews AS v`.
let widenReview = """
  -- A review in progress starts over.
  ON CONFLICT (recipient, type) DO UPDATE SET
    after_time = least(v.after_time, EXCLUDED.after_time),
    upto_time = greatest(v.upto_time, EXCLUDED.upto_time),
    from_day = least(v.from_day, EXCLUDED.from_day),
    to_day = greatest(v.to_day, EXCLUDED.to_day),
    caused_at = greatest(v.caused_at, EXCLUDED.caused_at),
    trace = CASE WHEN EXCLUDED.caused_at < v.caused_at THEN v.trace ELSE EXCLUDED.trace END,
    subject = DEFAULT, source = DEFAULT
  """

/// The end of every `INSERT INTO notification_scoped_reviews AS v`.
let widenScopedReview = """
  -- A review in progress starts over.
  ON CONFLICT (recipient, scope, type, value) DO UPDATE SET
    after_time = least(v.after_time, EXCLUDED.after_time),
    caused_at = greatest(v.caused_at, EXCLUDED.caused_at),
    trace = CASE WHEN EXCLUDED.caused_at < v.caused_at THEN v.trace ELSE EXCLUDED.trace END,
    notification_id = DEFAULT, source = DEFAULT
  """
