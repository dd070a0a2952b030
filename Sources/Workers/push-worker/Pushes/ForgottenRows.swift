import Events
import Handling
import Postgres
import Pushing

/// Forgets people: deletes their devices, preferences and tokens, then what is due for them, and waits until
/// no message under way may name them. Nothing is taken away from their own devices first, because that would
/// depend on providers.
///
/// - Parameter clock: the time.
func erasureSweep(outbox: Outbox, clock: @escaping @Sendable () -> EventTime) -> ErasureSweep {
  ErasureSweep(
    worker: "push",
    // Alarms are rendered without the person first, so that no new message names them.
    after: ["alarm"],
    stages: [
      { forgetDevices([($0.id, $0.erasedAt)], outbox: outbox, now: clock()) },
      forgetTokens,
      forgetClaims,
      { forgetDue(of: $0, now: clock()) },
      // A lane may have made the person due because of a row that the stage before has deleted.
      { forgetDue(of: $0, now: clock()) },
      { awaitMessages($0, now: clock()) },
    ])
}

/// The most rows that a piece deletes.
private let pieceRows = 1000

/// Deletes the devices and preferences whose newest event is at or before their person's erasure.
///
/// - Parameter outbox: is told which devices are gone, so that earlier claims of them are not sent any more.
func forgetDevices(
  _ people: [(id: String, erasedAt: EventTime)], outbox: Outbox?, now: EventTime
) -> Work {
  let parameters: [Parameter] = [
    .textArray(people.map(\.id)), .timestamptzArray(people.map(\.erasedAt.microseconds)),
  ]
  var work = Work([planByKey(keepsPlans: true)])
  let deleted = work.add(
    Statement(
      """
      DELETE FROM push_devices d
      WHERE d.ctid = ANY (ARRAY(
        SELECT d.ctid FROM push_devices d
        JOIN unnest($1::text[], $2::timestamptz[]) AS e (user_id, erased_at)
          ON d.user_id = e.user_id AND d.version_time <= e.erased_at
        ORDER BY d.user_id, d.installation LIMIT \(pieceRows)
        FOR UPDATE OF d
      ))
      RETURNING d.user_id, d.installation
      """, parameters))
  work.add(
    Statement(
      """
      DELETE FROM push_preferences p
      WHERE p.ctid = ANY (ARRAY(
        SELECT p.ctid FROM push_preferences p
        JOIN unnest($1::text[], $2::timestamptz[]) AS e (user_id, erased_at)
          ON p.user_id = e.user_id AND p.version_time <= e.erased_at
        ORDER BY p.user_id
        FOR UPDATE OF p
      ))
      """, parameters))
  work.finish = { results in
    let keys = try results[deleted].map { DeviceKey(try $0.text(0), try $0.text(1)) }
    outbox?.noteChanges(keys, now: now)
    return Outcome(hasMore: keys.count == pieceRows)
  }
  return work
}

/// Gives each token that the person owned to the newest other device that has it, as if the person had never
/// registered it, and deletes the others.
///
/// If its former owner's device has registered another token since, no table tells that it owned this one. Then it
/// has no owner, or an older one.
private func forgetTokens(of person: ErasureSweep.Person) -> Work {
  let old = """
    SELECT t.fingerprint FROM push_tokens t
    WHERE t.user_id = $1 AND t.version_time <= $2
    ORDER BY t.fingerprint LIMIT \(pieceRows)
    """
  var work = Work([
    planByKey(keepsPlans: true),
    // Whoever registers one of them now has written their device before they ask for its lock.
    Statement("\(old) FOR UPDATE", person.parameters),
    Statement(
      """
      WITH old AS MATERIALIZED (
        SELECT t.fingerprint AS token, d.*
        FROM (\(old)) t
        LEFT JOIN LATERAL (
          SELECT d.user_id, d.installation, d.version_time, d.version_id FROM push_devices d
          WHERE d.fingerprint = t.fingerprint
          ORDER BY d.version_time DESC, d.version_id DESC LIMIT 1
        ) d ON true
      ), restored AS (
        UPDATE push_tokens t SET user_id = o.user_id, installation = o.installation,
          version_time = o.version_time, version_id = o.version_id
        FROM old o WHERE t.fingerprint = o.token AND o.user_id IS NOT NULL
      )
      DELETE FROM push_tokens t USING old o WHERE t.fingerprint = o.token AND o.user_id IS NULL
      """, person.parameters),
  ])
  let left = work.add(Statement("SELECT EXISTS (\(old))", person.parameters))
  work.finish = { results in Outcome(hasMore: try results[left].only.bool(0)) }
  return work
}

/// Deletes claims of alarms that were raised at or before the erasure, and those on devices that are gone. A
/// claim that is being sent is not sent again, and its answer finds no row.
private func forgetClaims(of person: ErasureSweep.Person) -> Work {
  let isOld = """
    r.user_id = $1 AND (r.raised_at <= $2 OR NOT EXISTS (
      SELECT FROM push_devices d WHERE d.user_id = $1 AND d.installation = r.installation))
    """
  return deletion(from: "push_claims", isOld, isOver: isOld, person.parameters)
}

/// Deletes what is due for a person without devices; of a person who has registered one since, what is due
/// for alarms that do not exist any more.
private func forgetDue(of person: ErasureSweep.Person, now: EventTime) -> Work {
  let hasNoDevice = "NOT EXISTS (SELECT FROM push_devices d WHERE d.user_id = $1)"
  let isOld = """
    r.user_id = $1 AND (\(hasNoDevice) OR r.notification_id >= \(personIDEnd) AND NOT EXISTS (
      SELECT FROM alarms a WHERE a.notification_id = r.notification_id AND a.recipient = $1))
    """
  return deletion(
    from: "push_due", isOld,
    // The event of a new alarm may come before its row: see `Look`.
    isOver: "\(isOld) AND (r.since <= $2 OR \(hasNoDevice))",
    [.text(person.id), .timestamptz(now.microseconds - Look.phantomMicroseconds)])
}

/// Deletes rows that no other transaction has locked, and waits for the others.
///
/// - Parameters:
///   - isOld: SQL: which rows `r` must go before the stage is done.
///   - isOver: SQL: which of them may go now.
private func deletion(
  from table: String, _ isOld: String, isOver: String, _ parameters: [Parameter]
) -> Work {
  var work = Work([planByKey(keepsPlans: true)])
  let deleted = work.add(
    Statement(
      """
      WITH deleted AS (
        DELETE FROM \(table) q
        WHERE q.ctid = ANY (ARRAY(
          SELECT r.ctid FROM \(table) r WHERE \(isOver) LIMIT \(pieceRows) FOR UPDATE SKIP LOCKED))
        RETURNING 1
      )
      SELECT count(*) FROM deleted
      """, parameters))
  let left = work.add(
    Statement("SELECT EXISTS (SELECT FROM \(table) r WHERE \(isOld))", parameters))
  work.finish = { results in
    var outcome = Outcome(hasMore: try results[left].only.bool(0))
    outcome.isWaiting = try outcome.hasMore && results[deleted].only.int(0) == 0
    return outcome
  }
  return work
}

// MARK: Messages to others

/// SQL: whether messages may name somebody who is being forgotten. Those that show another version of their alarm than the
/// current one are not sent again as they are: see `Piece.repeatClaim(_:)`.
let isAnybodyForgotten = "(has_erasing() OR EXISTS (SELECT FROM push_erasures))"

/// Waits until all alerts have ended that were under way when the stage began and show another version of their alarm
/// than the current one: alarm-worker has rendered every alarm again that named the person.
private func awaitMessages(_ person: ErasureSweep.Person, now: EventTime) -> Work {
  let isUnderWay = "c.state = 'claimed' AND c.content IS NOT NULL AND c.purpose = 'alert'"
  var work = Work([planByKey(keepsPlans: true)])
  guard !person.position.isEmpty else {
    let claims = work.add(
      Statement(
        """
        SELECT string_agg(c.claim::text, ',') FROM push_claims c
        WHERE \(isUnderWay) AND NOT EXISTS (
          SELECT FROM alarms a
          WHERE a.notification_id = c.notification_id AND a.recipient = c.user_id
            AND a.version = c.version AND NOT a.retracted)
        """))
    work.finish = { results in
      guard let claims = try results[claims].only.textOrNil(0) else { return Outcome() }
      return Outcome(statements: [person.moved(to: claims)], hasMore: true)
    }
    return work
  }
  // Compared by a hash table, not by a join: both are thousands of claims when a provider does not answer.
  let isAwaited = """
    \(isUnderWay) AND (c.claim IN (SELECT unnest(string_to_array($1, ','))::bigint)) IS TRUE
    """
  // No request takes as long as a minute.
  work.add(
    Statement(
      """
      UPDATE push_claims q SET due_at = $2
      WHERE q.ctid = ANY (ARRAY(
        SELECT c.ctid FROM push_claims c WHERE \(isAwaited) AND c.due_at > $2
        LIMIT \(pieceRows) FOR UPDATE SKIP LOCKED))
      """, [.text(person.position), .timestamptz(now.microseconds + 60_000_000)]))
  let left = work.add(
    Statement(
      "SELECT EXISTS (SELECT FROM push_claims c WHERE \(isAwaited))", [.text(person.position)]))
  work.finish = { results in
    var outcome = Outcome(hasMore: try results[left].only.bool(0))
    outcome.isWaiting = outcome.hasMore
    return outcome
  }
  return work
}
