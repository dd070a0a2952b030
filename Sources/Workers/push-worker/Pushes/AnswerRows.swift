import Events
import Postgres
import Providers

/// The state that an answer, or the lane, gives to a claim's row.
struct ClaimEnd {
  enum State: String { case waiting, accepted, gone, refused, expired }

  var user: String
  var installation: String
  var claim: Int64
  var state: State
  /// The provider's reason, or one of ours.
  var answer: String
  var at: EventTime
  /// For `waiting`: when the alarm is evaluated again.
  var dueAt: EventTime?
}

extension ClaimEnd {
  /// SQL: the answers after which an alert may be visible although no provider accepted it: it was read, its
  /// kind silenced, its device removed or quiet hours began before it could be sent again, or a webhook's server
  /// did not answer.
  static let maybeArrived = "'read', 'silenced', 'removed', 'quiet', 'no-answer'"

  /// - Parameters:
  ///   - openUntil: when the breaker of the claim's scope closes, if it is open.
  ///   - spread: in 0..<1, at random.
  /// - Returns: nil if the claim stays as it is.
  init?(_ answered: Answered, openUntil: EventTime?, spread: Double) {
    let claim = answered.claim
    func end(_ state: State, _ answer: String, after delay: Duration? = nil) -> ClaimEnd {
      var due = delay.map { EventTime(microseconds: answered.at.microseconds + $0.microseconds) }
      if let known = due, let openUntil, openUntil > known {
        // Spread over ten seconds, so that not all of them return at once when the breaker closes.
        due = EventTime(microseconds: openUntil.microseconds + Int64(spread * 10_000_000))
      }
      let isExpired = due.map { $0 >= claim.message.expires } ?? false
      return ClaimEnd(
        user: claim.device.user, installation: claim.device.installation, claim: claim.number,
        state: isExpired ? .expired : state, answer: answer, at: answered.at,
        dueAt: isExpired ? nil : due)
    }
    func delay(_ demanded: Duration) -> Duration {
      Retry.delay(attempt: claim.attempt, demanded: demanded, spread: spread)
    }
    switch answered.outcome {
    case .answer(.accepted): self = end(.accepted, "accepted")
    case .answer(.tokenGone): self = end(.gone, "token-gone")
    case .answer(.refused(let reason)): self = end(.refused, reason)
    case .answer(.retry(let reason, let after)): self = end(.waiting, reason, after: delay(after))
    case .answer(.providerBroken(let reason, let after)):
      self = end(.waiting, reason, after: delay(after))
    case .unsendable(.expired): self = end(.expired, "expired")
    case .unsendable(let reason): self = end(.refused, reason.rawValue)
    case .unanswered, .unsent: return nil
    }
  }
}

/// Records how claims have ended. A claim that is recorded already, or was replaced by a later one,
/// is not touched. The alarms of waiting claims become due at the claims' times, those of claims that found the token
/// gone now, at most twice; those of one
/// message are held for a while, so that they become one message again (`Outbox.heldMicroseconds`), and those that wait
/// for the end of quiet hours until then. Due rows of these people that waited for a device become
/// due now, at most 8 for each person: no claim is under way for longer than a minute, so what is due later waits for something else.
///
/// - Parameter now: the time at which those rows become due.
func recordEnds(_ ends: [ClaimEnd], now: EventTime) -> Statement {
  Statement(
    """
    WITH ended AS (
      UPDATE push_claims c SET
        state = e.state, answer = e.answer, answered_at = e.answered_at, due_at = e.due_at,
        content = NULL,
        may_show = CASE
          -- A token that is gone may have been replaced by a newer one. Not for ever: the provider's time may be wrong. From the third attempt on, it waits for a new registration.
          WHEN c.purpose = 'removal'
          THEN c.may_show AND (e.state = 'waiting' OR e.state = 'gone' AND c.attempts < 10)
          -- It may have arrived without an answer. A 5xx that names no error of the provider may be that of a gateway
          -- before a server that has taken it.
          ELSE c.may_show OR c.purpose = 'alert'
            AND (e.state = 'expired' OR e.answer IN (\(ClaimEnd.maybeArrived)) OR e.answer LIKE 'http-5%')
        END
      FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[],
        $7::timestamptz[]
      ) AS e (user_id, installation, claim, state, answer, answered_at, due_at)
      WHERE c.user_id = e.user_id AND c.installation = e.installation AND c.claim = e.claim
        AND c.state = 'claimed'
      RETURNING c.user_id, c.installation, c.notification_id, c.partition, c.claim, e.answer,
        c.purpose IN ('alert', 'part') AS is_alert,
        CASE
          -- The device may have been registered again since. Not a badge, whose attempts are not counted then.
          WHEN e.state = 'gone' AND c.purpose <> 'badge' AND c.attempts < 3 THEN $8
          ELSE e.due_at
        END AS due_at
    ), woken AS (
      UPDATE push_due q SET due_at = $8, revision = q.revision + 1
      -- By the row's place: see the statements of `Piece`.
      WHERE q.ctid = ANY (ARRAY(
        SELECT w.ctid
        FROM (SELECT DISTINCT user_id FROM ended ORDER BY user_id) e
        -- A device has one claim at a time, so few of many can be claimed now. In the order of `readDueAlarms`: those
        -- that the ended claim told, if they are due again, find all that is left to remove.
        CROSS JOIN LATERAL (
          SELECT w.ctid FROM push_due w
          WHERE w.user_id = e.user_id AND w.held IS NULL AND w.due_at > $8
            AND (w.due_at <= $8 + interval '1 minute' OR w.notification_id < \(personIDEnd))
            AND NOT EXISTS (
              SELECT FROM ended f
              WHERE f.user_id = w.user_id AND f.notification_id = w.notification_id
                AND f.due_at IS NOT NULL)
          ORDER BY w.due_at, w.notification_id LIMIT 8
          -- Nearly all who change a row make it due, too. Otherwise it is evaluated when it was due.
          FOR UPDATE SKIP LOCKED
        ) w
      ))
    )
    INSERT INTO push_due AS q (user_id, notification_id, partition, due_at, since, held)
    SELECT e.user_id, e.notification_id, max(e.partition), min(e.due_at), $8,
      CASE WHEN bool_or(e.answer = 'quiet') THEN 'quiet'
        -- For longer, a newer event of one of them must not wait.
        WHEN bool_or(e.is_alert AND e.alarms > 1)
          AND min(e.due_at) <= $8 + \(Outbox.heldMicroseconds) * interval '1 microsecond'
        THEN 'burst' END
    FROM (
      SELECT e.*, count(*) OVER (PARTITION BY e.user_id, e.installation, e.claim) AS alarms
      FROM ended e
    ) e
    WHERE e.due_at IS NOT NULL
    GROUP BY e.user_id, e.notification_id
    ORDER BY e.user_id, e.notification_id
    ON CONFLICT (user_id, notification_id) DO UPDATE SET
      due_at = least(q.due_at, EXCLUDED.due_at), revision = q.revision + 1,
      held = CASE WHEN EXCLUDED.due_at < q.due_at THEN EXCLUDED.held ELSE q.held END
    """,
    [
      .textArray(ends.map(\.user)), .textArray(ends.map(\.installation)),
      .int8Array(ends.map(\.claim)), .textArray(ends.map(\.state.rawValue)),
      .textArray(ends.map(\.answer)), .timestamptzArray(ends.map(\.at.microseconds)),
      .timestamptzArray(ends.map { $0.dueAt?.microseconds }), .timestamptz(now.microseconds),
    ])
}

/// Records the times since when tokens are gone, as providers report it. A token that was
/// registered later stays active.
///
/// Locks the tokens in the order of their fingerprints in one statement and updates them in the
/// next, so that two lanes cannot deadlock.
func recordGone(_ answers: [Answered]) -> [Statement] {
  var gone: [[UInt8]: Int64] = [:]
  for answered in answers {
    guard case .answer(.tokenGone(let since)) = answered.outcome else { continue }
    // Without a time, since the device was read, which is before the request was made.
    let time = (since ?? answered.claim.preparedAt).microseconds
    gone[answered.claim.fingerprint] = max(gone[answered.claim.fingerprint] ?? .min, time)
  }
  guard !gone.isEmpty else { return [] }
  return [
    Statement(
      """
      SELECT FROM push_tokens t WHERE t.fingerprint = ANY ($1) ORDER BY t.fingerprint FOR UPDATE
      """, [.byteaArray(Array(gone.keys))]),
    Statement(
      """
      UPDATE push_tokens t SET gone_since = greatest(t.gone_since, e.since)
      FROM unnest($1::bytea[], $2::timestamptz[]) AS e (fingerprint, since)
      WHERE t.fingerprint = e.fingerprint
      """, [.byteaArray(Array(gone.keys)), .timestamptzArray(Array(gone.values))]),
  ]
}
