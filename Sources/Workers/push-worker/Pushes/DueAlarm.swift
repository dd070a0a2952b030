import Events
import Foundation
import Handling
import Kinds
import Postgres
import Providers
import Pushing

/// A due row of an alarm, with the current state of the alarm, its recipient and the recipient's
/// devices.
struct DueAlarm {
  /// An active device of the recipient, and its last claim of the alarm.
  struct Target {
    var active: ActiveDevice
    var now: DeviceNow
    /// The `raisedAt` that the device's last claim was for, whatever came of the claim.
    var lastRaisedAt: EventTime?
    /// How often the same message was sent already without being accepted.
    var attempts: Int
    /// Whether its last claim told it the alarm as it is now.
    var isTold = false
    /// When the removal expires that is tried again; nil if none is.
    var removalExpires: EventTime?
  }

  var row: DueRow
  var alarm: AlarmNow
  var message: PushMessage
  var held: Look.Hold?
  var quietUntil: EventTime?
  var burstUntil: EventTime?
  /// The locale of the catalog in which the alarm is rendered.
  var locale: String
  var targets: [Target] = []
}

/// The columns of a row of `push_due` that identify it and tell whether it has changed.
struct DueRow {
  var user: String
  var notification: UUID
  var partition: Int32
  var version: Int64
  var since: Int64
  var revision: Int64

  init(_ row: Row) throws {
    (user, notification) = (try row.text("user_id"), try row.uuid("notification_id"))
    partition = Int32(clamping: try row.int("partition"))
    (version, since) = (try row.int8("version"), try row.timestamptz("since"))
    revision = try row.int8("revision")
  }
}

/// Reads the due alarms with all that the decisions about them need: a row for each active device
/// of the recipient, or one without a device.
///
/// Reads the alarms that have been due for longest, and a fifth as many that became due last, so
/// that new alarms do not wait behind alarms that cannot be sent. With a held alarm it reads the
/// other due held alarms of the same person.
func readDueAlarms(_ partitions: Parameter, limit: Int, now: EventTime) -> Statement {
  func end(_ direction: String, _ limit: String) -> String {
    """
    (
        SELECT q.* FROM unnest($1::int[]) AS p (partition)
        CROSS JOIN LATERAL (
          SELECT q.* FROM push_due q
          WHERE q.partition = p.partition AND q.due_at <= $3 AND q.notification_id >= \(personIDEnd)
            AND \(isVisible)
          ORDER BY q.due_at \(direction), q.user_id \(direction) LIMIT \(limit)
        ) q
        ORDER BY q.due_at \(direction), q.user_id \(direction) LIMIT \(limit)
      )
    """
  }
  return Statement(
    """
    WITH due AS MATERIALIZED (
      \(end("ASC", "$2"))
      UNION \(end("DESC", "$2 / 5"))
    ), q AS MATERIALIZED (
      SELECT q.* FROM due q
      UNION
      SELECT h.* FROM (SELECT DISTINCT q.user_id FROM due q WHERE q.held IS NOT NULL) p
      CROSS JOIN LATERAL (
        SELECT h.* FROM push_due h
        WHERE h.user_id = p.user_id AND h.held IS NOT NULL AND h.due_at <= $3
          AND h.partition = ANY ($1)
        LIMIT 1000
      ) h
    ), b AS MATERIALIZED (
      -- Once for each person. A join would compare all of these rows with each other.
      SELECT q.*, max(q.first_badge) OVER (PARTITION BY q.user_id) AS badge
      FROM (
        SELECT q.*, CASE WHEN row_number() OVER (PARTITION BY q.user_id) > 1 THEN NULL
          WHEN q.has_reviews THEN badge(q.user_id)
          ELSE (SELECT s.badge FROM settled_badge(q.user_id) s) END AS first_badge
        FROM (SELECT q.*, has_reviews(q.user_id) FROM q) q
      ) q
    )
    SELECT q.user_id, q.notification_id, q.partition, q.version, q.since, q.revision, q.held,
      s.version AS row_version, s.shown, s.unread, s.image_url, a.type, a.text, \(awaitsRendering),
      a.locale, a.spans, a.deep_link, a.raised_at, q.badge, \(Wishes.columns),
      -- notification-worker publishes before it commits, so the alarm may be there first.
      a.notification_id IS NOT NULL AND NOT a.retracted AND NOT EXISTS (
        SELECT FROM notifications n
        WHERE n.notification_id = a.notification_id
          AND (n.generation, n.counter) >= (a.generation, a.counter)
      ) AS is_ahead,
      r.alerts, r.first_at, \(ActiveDevice.columns), a.raised_at >= d.active_since AS was_active,
      c.raised_at AS claimed_for, c.purpose, c.state, c.attempts, c.due_at AS waits_until,
      c.expires_at AS claim_expires, coalesce(\(mayShow), false) AS may_show,
      u.due_at AS busy_until
    FROM b q
    CROSS JOIN LATERAL (
      SELECT * FROM settled_alarm_state(q.user_id, q.notification_id) WHERE NOT q.has_reviews
      UNION ALL SELECT * FROM alarm_state(q.user_id, q.notification_id) WHERE q.has_reviews
    ) s
    LEFT JOIN rendered_alarms a ON a.notification_id = q.notification_id AND a.recipient = q.user_id
    \(Wishes.joins("$4"))
    CROSS JOIN LATERAL (
      SELECT count(DISTINCT k.notification_id) AS alerts,
        min(CASE k.purpose WHEN 'alert' THEN k.claimed_at ELSE k.raised_at END) AS first_at
      FROM push_claims k
      WHERE k.user_id = q.user_id
        AND k.claimed_at > $3 - interval '1 minute'
        -- A removal has replaced the alert.
        AND (k.purpose = 'alert' OR k.purpose = 'removal' AND k.raised_at > $3 - interval '1 minute')
        -- Not those of the time before the clock was set back.
        AND k.claimed_at <= $5
    ) r
    LEFT JOIN LATERAL (\(ActiveDevice.rows) OFFSET 0) d ON true
    LEFT JOIN LATERAL (
      SELECT c.* FROM push_claims c
      WHERE c.user_id = q.user_id AND c.installation = d.installation
        AND c.notification_id = q.notification_id
      -- By the key, even if the planner believes that the table is empty.
      LIMIT 1
    ) c ON true
    LEFT JOIN LATERAL (
      SELECT max(k.due_at) AS due_at FROM push_claims k
      WHERE k.user_id = q.user_id AND k.installation = d.installation AND k.state = 'claimed'
        AND k.content IS NOT NULL
    ) u ON true
    ORDER BY q.due_at, q.user_id, q.notification_id, d.installation
    """,
    [
      partitions, .int8(Int64(limit)), .timestamptz(now.microseconds), .int2(digestNumber),
      .timestamptz(now.microseconds + Outbox.simultaneousMicroseconds),
    ])
}

/// SQL: whether the alarm of the row `q`, whose state is `s`, is hidden only until it is rendered without
/// somebody who is being erased. Meanwhile it stays on devices.
let awaitsRendering =
  "NOT s.shown AND alarm_awaits_rendering(q.user_id, q.notification_id) AS awaits_rendering"

/// The number of the kind of the digest itself, which is never held back for a digest.
let digestNumber: Int16 = 43

/// The due alarms of ``readDueAlarms(_:limit:now:)``, in order.
func dueAlarms(_ rows: Rows, _ surroundings: Surroundings) throws -> [DueAlarm] {
  var due: [DueAlarm] = []
  for row in rows {
    let known = try DueRow(row)
    if due.last?.row.user.hasSameBytes(as: known.user) != true
      || due.last?.row.notification != known.notification
    {
      due.append(try DueAlarm(row, known, surroundings))
    }
    guard let target = try due[due.count - 1].target(row, surroundings) else { continue }
    due[due.count - 1].targets.append(target)
  }
  return due
}

extension DueAlarm {
  fileprivate init(_ row: Row, _ due: DueRow, _ surroundings: Surroundings) throws {
    self.row = due
    let raised = EventTime(
      microseconds: try row.timestamptzOrNil("raised_at") ?? surroundings.now.microseconds)
    alarm = AlarmNow(
      eventVersion: due.version, since: EventTime(microseconds: due.since),
      // notification-worker has not committed what this alarm was rendered from. A version below
      // those of all events makes `Look` wait for it.
      version: try row.bool("is_ahead") ? -1 : row.int8("row_version"),
      isShown: try row.bool("shown"),
      isUnread: try row.boolOrNil("unread") ?? false,
      awaitsRendering: try row.bool("awaits_rendering"), isWanted: try !row.bool("unwanted"),
      raisedAt: raised)
    message = try PushMessage(row, due, raised: raised, surroundings)
    locale = try row.textOrNil("locale") ?? ""
    held = try row.textOrNil("held").flatMap(Look.Hold.init(rawValue:))
    quietUntil = try Pushes.quietUntil(row, user: due.user, surroundings)
    if try row.int("alerts") >= surroundings.bounds.alertsAMinute,
      let first = try row.timestamptzOrNil("first_at")
    {
      burstUntil = EventTime(microseconds: min(first, surroundings.now.microseconds) + 60_000_000)
    }
  }

  /// Nil if the row has no device.
  fileprivate func target(_ row: Row, _ surroundings: Surroundings) throws -> Target? {
    guard let active = try ActiveDevice(row) else { return nil }
    let (purpose, state) = (try row.textOrNil("purpose"), try row.textOrNil("state"))
    let isAlert = purpose == "alert" || purpose == "part"
    let isWaiting = state == "waiting"
    // An overdue claim is still under way: it is sent again before anything else. At the latest: the device's
    // answer makes the alarm due earlier. A claim of the time before the clock was set back is due much later.
    let latest = surroundings.time(after: surroundings.bounds.answerSeconds * 1_000_000)
    let busy = try row.timestamptzOrNil("busy_until").map {
      min(max($0, surroundings.now.microseconds + 1_000_000), latest.microseconds)
    }
    let waiting = isWaiting ? try row.timestamptzOrNil("waits_until") : nil
    let claimed = try row.timestamptzOrNil("claimed_for")
    let claimExpires = try row.timestamptzOrNil("claim_expires")
    let seconds = surroundings.bounds.timeToLiveSeconds(active.device.provider)
    // An alert can be claimed again if the provider did not accept it, or if it was sent to a token
    // that is gone: the device has registered another one since.
    let isUnfinished = isWaiting || state == "gone"
    // The last raise was undone, and the one before has rung already.
    let hasRung = try row.bool("may_show") && (claimed ?? .min) > alarm.raisedAt.microseconds
    let isOpen = isAlert && isUnfinished && !hasRung
    let isRinging = alarm.isShown && alarm.isUnread
    let isSame =
      isUnfinished && isAlert == isRinging
      && (!isAlert || claimed == alarm.raisedAt.microseconds)
    return Target(
      active: active,
      now: DeviceNow(
        installation: active.device.installation,
        claimedFor: isOpen ? nil : claimed.map { EventTime(microseconds: $0) },
        mayShow: try row.bool("may_show") || purpose == "removal" && isWaiting,
        wasActive: try isOpen || row.boolOrNil("was_active") ?? false,
        waitsUntil: [busy, waiting].compactMap(\.self).max().map { EventTime(microseconds: $0) },
        expires: EventTime(microseconds: alarm.raisedAt.microseconds + seconds * 1_000_000)),
      lastRaisedAt: claimed.map { EventTime(microseconds: $0) },
      attempts: isSame ? try row.intOrNil("attempts") ?? 0 : 0,
      isTold: (state == "claimed" || state == "accepted")
        && isAlert == isRinging
        && (!isAlert || claimed == alarm.raisedAt.microseconds),
      removalExpires: isWaiting && !isAlert
        ? claimExpires.map { EventTime(microseconds: $0) } : nil)
  }
}

extension PushBounds {
  /// The time to live at a provider: at least four days for webhooks, whose receivers may be down
  /// for days ("Deliverability and reliability" of their specification).
  func timeToLiveSeconds(_ provider: PushProvider) -> Int64 {
    provider == .webhook ? max(timeToLiveSeconds, 4 * 86_400) : timeToLiveSeconds
  }
}

extension PushMessage {
  /// The alarm's alert. Its `expires` is set later, for each device.
  fileprivate init(
    _ row: Row, _ due: DueRow, raised: EventTime, _ surroundings: Surroundings
  ) throws {
    struct Text: Decodable {
      var kind: String
      var start: Int
      var length: Int
    }
    let code = try row.intOrNil("type").flatMap { AlarmCode($0) }
    let kind = code.flatMap { surroundings.engine.registry[$0] }
    let spans: [Text] = try row.textOrNil("spans").map { try value($0) } ?? []
    let image = try row.textOrNil("image_url") ?? ""
    self.init(
      notification: due.notification, version: try row.int8("row_version"),
      kind: code?.description ?? "", body: try row.textOrNil("text") ?? "",
      spans: spans.map { Span(kind: $0.kind, start: $0.start, length: $0.length) },
      image: image.isEmpty ? nil : image, deepLink: try row.textOrNil("deep_link"),
      thread: kind?.name, sound: kind?.interruption == .passive ? nil : "default",
      badge: try row.int("badge"), interruption: kind?.interruption ?? .active, created: raised,
      expires: raised)
  }
}
