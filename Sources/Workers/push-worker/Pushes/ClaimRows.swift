import Devices
import Events
import Foundation
import Handling
import Postgres
import Providers

/// A row of `push_claims` to write.
struct NewClaim {
  var claim: Claim
  var purpose: String
  /// The alarm's `raised_at` for which the device was alerted: see `Look`.
  var raisedAt: EventTime
  /// The stored message; nil if another row with the same claim number has it.
  var content: [UInt8]?
}

/// SQL: whether the device may show an alert of the claim `c`, or of an earlier claim of its row.
let mayShow = "(c.may_show OR c.purpose = 'alert' AND c.state IN ('claimed', 'accepted'))"

/// Upserts claims. Each replaces the earlier claim of the same alarm and device.
func writeClaims(_ claims: [NewClaim]) -> Statement {
  let messages = claims.map(\.claim.message)
  return Statement(
    """
    INSERT INTO push_claims AS c (
      user_id, installation, notification_id, claim, purpose, version, raised_at, state, content,
      badge, claimed_at, due_at, attempts, expires_at, partition)
    SELECT e.user_id, e.installation, e.notification_id, e.claim, e.purpose, e.version, e.raised_at,
      'claimed', e.content, e.badge, e.claimed_at, e.due_at, e.attempts, e.expires_at, e.partition
    FROM unnest(
      $1::text[], $2::text[], $3::uuid[], $4::bigint[], $5::text[], $6::bigint[],
      $7::timestamptz[], $8::bytea[], $9::int[], $10::timestamptz[], $11::timestamptz[], $12::int[],
      $13::timestamptz[], $14::int[]
    ) AS e (
      user_id, installation, notification_id, claim, purpose, version, raised_at, content, badge,
      claimed_at, due_at, attempts, expires_at, partition)
    ORDER BY e.user_id COLLATE "C", e.installation COLLATE "C", e.notification_id
    ON CONFLICT (user_id, installation, notification_id) DO UPDATE SET
      claim = EXCLUDED.claim, purpose = EXCLUDED.purpose, version = EXCLUDED.version,
      raised_at = EXCLUDED.raised_at, state = EXCLUDED.state, content = EXCLUDED.content,
      badge = EXCLUDED.badge, claimed_at = EXCLUDED.claimed_at, due_at = EXCLUDED.due_at,
      attempts = EXCLUDED.attempts, expires_at = EXCLUDED.expires_at,
      partition = EXCLUDED.partition, answer = NULL, answered_at = NULL, may_show = \(mayShow)
    """,
    [
      .textArray(claims.map(\.claim.device.user)),
      .textArray(claims.map(\.claim.device.installation)),
      .uuidArray(messages.map(\.notification)), .int8Array(claims.map(\.claim.number)),
      .textArray(claims.map(\.purpose)), .int8Array(messages.map(\.version)),
      .timestamptzArray(claims.map(\.raisedAt.microseconds)),
      .byteaArray(claims.map(\.content)),
      .int4Array(messages.map { $0.badge.map(Int32.init(clamping:)) }),
      .timestamptzArray(claims.map(\.claim.claimedAt.microseconds)),
      .timestamptzArray(claims.map(\.claim.dueAt.microseconds)),
      .int4Array(claims.map { Int32(clamping: $0.claim.attempt) }),
      .timestamptzArray(messages.map(\.expires.microseconds)),
      .int4Array(claims.map(\.claim.partition)),
    ])
}

/// If the clock was set back, moves these people's claims of the time before to the past: the newest claim is what a
/// device was told last. They stay in order, and count for no burst.
func setBackClaims(of people: [String], now: EventTime) -> Statement {
  Statement(
    """
    UPDATE push_claims c SET claimed_at = c.claimed_at - (l.latest - $2) - interval '1 minute'
    FROM (
      SELECT p.user_id, (
          SELECT max(k.claimed_at) FROM push_claims k WHERE k.user_id = p.user_id
        ) AS latest
      FROM unnest($1::text[]) AS p (user_id)
    ) l
    WHERE l.latest > $2 AND c.user_id = l.user_id AND c.claimed_at > $2
      -- One without an answer is due at once: see `readRepeats`.
      AND c.state <> 'claimed'
    """,
    [
      .textArray(Set(people.map { BytewiseString($0) }).sorted().map(\.string)),
      .timestamptz(now.microseconds),
    ])
}

/// Reads the due claims that have no answer, with the current state of their alarms and devices. If the
/// clock was set back, claims of the time before count as due.
///
/// - Parameter answerSeconds: the time from a claim to its first repetition.
func readRepeats(
  _ partitions: Parameter, limit: Int, answerSeconds: Int64, now: EventTime
) -> Statement {
  let latest = now.microseconds + Outbox.simultaneousMicroseconds
  return Statement(
    """
    SELECT q.user_id, q.installation, q.notification_id, q.claim, q.purpose, q.raised_at, q.content,
      q.claimed_at, q.attempts, q.partition, q.version, s.shown, s.unread, badge(q.user_id) AS badge,
      \(awaitsRendering),
      q.version IS DISTINCT FROM a.version AND \(isAnybodyForgotten) AS is_doubtful,
      \(Wishes.columns), \(ActiveDevice.columns)
    FROM (
      SELECT c.* FROM unnest($1::int[]) AS p (partition)
      CROSS JOIN LATERAL (
        (
          SELECT c.* FROM push_claims c
          WHERE c.partition = p.partition AND c.state = 'claimed' AND c.content IS NOT NULL
            AND c.due_at <= $3
          ORDER BY c.due_at LIMIT $2
        )
        UNION ALL
        SELECT c.* FROM (
          -- Only these can be of the future. Otherwise few are due that late.
          SELECT c.* FROM push_claims c
          WHERE c.partition = p.partition AND c.state = 'claimed' AND c.content IS NOT NULL
            AND c.due_at > $6
          ORDER BY c.due_at DESC LIMIT 100
        ) c
        WHERE c.claimed_at > $5
      ) c
      ORDER BY c.due_at LIMIT $2
    ) q
    CROSS JOIN LATERAL alarm_state(q.user_id, q.notification_id) s
    LEFT JOIN alarms a ON a.notification_id = q.notification_id AND a.recipient = q.user_id
    \(Wishes.joins("$4"))
    LEFT JOIN LATERAL (
      \(ActiveDevice.rows) AND d.installation = q.installation OFFSET 0
    ) d ON true
    """,
    [
      partitions, .int8(Int64(limit)), .timestamptz(now.microseconds), .int2(digestNumber),
      .timestamptz(latest), .timestamptz(latest + answerSeconds * 1_000_000),
    ])
}

/// Writes the next due times, and the attempts, of claims that are sent again or postponed.
func repeatClaims(_ claims: [Claim]) -> Statement {
  Statement(
    """
    UPDATE push_claims c SET due_at = e.due_at, attempts = e.attempts, claimed_at = e.claimed_at,
      -- There was no answer to the attempt before.
      may_show = c.may_show OR c.purpose = 'alert'
    FROM unnest(
      $1::text[], $2::text[], $3::uuid[], $4::bigint[], $5::timestamptz[], $6::int[], $7::timestamptz[]
    ) AS e (user_id, installation, notification_id, claim, due_at, attempts, claimed_at)
    WHERE c.user_id = e.user_id AND c.installation = e.installation
      AND c.notification_id = e.notification_id AND c.claim = e.claim AND c.state = 'claimed'
    """,
    [
      .textArray(claims.map(\.device.user)), .textArray(claims.map(\.device.installation)),
      .uuidArray(claims.map(\.message.notification)), .int8Array(claims.map(\.number)),
      .timestamptzArray(claims.map(\.dueAt.microseconds)),
      .int4Array(claims.map { Int32(clamping: $0.attempt) }),
      .timestamptzArray(claims.map(\.claimedAt.microseconds)),
    ])
}

/// Deletes claims that expired more than 30 days ago, which no device shows any more; at most 100
/// of each partition.
func deleteOldClaims(_ partitions: Parameter, now: EventTime) -> Statement {
  Statement(
    """
    DELETE FROM push_claims c
    USING unnest($1::int[]) AS p (partition)
    CROSS JOIN LATERAL (
      SELECT c.ctid FROM push_claims c
      WHERE c.partition = p.partition AND c.state <> 'claimed'
        AND c.expires_at < $2 - interval '30 days'
      ORDER BY c.expires_at LIMIT 100
      FOR UPDATE SKIP LOCKED
    ) o
    WHERE c.ctid = o.ctid
    """, [partitions, .timestamptz(now.microseconds)])
}

/// A row of `push_active_devices`, as a statement reads it.
struct ActiveDevice {
  var device: Device
  var scope: String
  var fingerprint: [UInt8]
  var sealedToken: [UInt8]

  /// SQL: the active devices of the person of the row `q`. To be followed by OFFSET 0: otherwise the planner may read all
  /// devices of everybody and compare them with each row, because it believes that nobody has more than one.
  static let rows = "SELECT d.* FROM push_active_devices d WHERE d.user_id = q.user_id"

  /// SQL: the columns of `push_active_devices d` that `ActiveDevice(row)` reads.
  static let columns =
    "d.installation AS active, d.provider, d.app, d.scope, d.fingerprint, d.sealed_token"

  /// Nil if there is no active device.
  init?(_ row: Row) throws {
    guard let installation = try row.textOrNil("active"),
      let provider = PushProvider(rawValue: try row.text("provider"))
    else { return nil }
    device = Device(
      user: try row.text("user_id"), installation: installation, provider: provider,
      app: try row.text("app"))
    scope = try row.text("scope")
    (fingerprint, sealedToken) = (try row.bytea("fingerprint"), try row.bytea("sealed_token"))
  }

  var outboxScope: Outbox.Scope { Outbox.Scope(provider: device.provider, name: scope) }

  /// A new claim to send the message to the device.
  func claim(
    _ message: PushMessage, attempt: Int, partition: Int32, _ surroundings: Surroundings
  ) -> Claim {
    Claim(
      number: Claim.newNumber(), device: device, partition: partition, scope: scope,
      fingerprint: fingerprint, sealedToken: sealedToken, message: message,
      claimedAt: surroundings.now, preparedAt: surroundings.now,
      dueAt: surroundings.time(after: surroundings.bounds.answerSeconds * 1_000_000),
      attempt: attempt)
  }
}
