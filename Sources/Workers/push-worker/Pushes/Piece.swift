import Events
import Foundation
import Handling
import Postgres
import Providers
import Pushing

/// The decisions of one transaction about what is due, and the statements that write them.
struct Piece {
  /// A row of `push_due` that is evaluated again later.
  struct Again {
    var row: DueRow
    var at: EventTime
    var hold: Look.Hold?
  }

  /// The key of a row of `push_due`.
  struct DueKey: Hashable {
    var user: BytewiseString
    /// The alarm's id; ``UUID/zero`` for a person whose badge is to be evaluated.
    var notification: UUID
  }

  /// A row of `push_due` that is made due.
  struct Due {
    var partition: Int32
    var at: EventTime
  }

  let places: Places
  let surroundings: Surroundings
  /// The most due alarms that it reads.
  let rows: Int
  private(set) var toSend: [Claim] = []
  var written: [NewClaim] = []
  var ends: [ClaimEnd] = []
  var repeats: [Claim] = []
  var closed: [DueRow] = []
  var again: [Again] = []
  var people: [DuePerson] = []
  /// Rows to make due: alarms that devices may show although they are read or hidden, and people of
  /// whom a device may show another badge, which no message about an alarm tells it.
  private var madeDue: [DueKey: Due] = [:]
  /// The devices for which this piece has claimed a message.
  private var claimed: Set<DeviceKey> = []
  private struct PersonScope: Hashable {
    var user: BytewiseString
    var scope: Outbox.Scope
  }
  /// When to ask again, if the rate or the breaker did not permit a message.
  private var turns: [PersonScope: EventTime] = [:]
  private var sentAgain = 0
  /// How many rows are postponed because their scope has its share of the places.
  var crowded = 0

  init(_ places: Places, _ surroundings: Surroundings, rows: Int) {
    (self.places, self.surroundings, self.rows) = (places, surroundings, rows)
  }

  var now: EventTime { surroundings.now }

  /// How many due rows are closed or postponed.
  var moved: Int { closed.count + again.count }

  func isClaimed(_ key: DeviceKey) -> Bool { claimed.contains(key) }

  /// Takes a place, and one message of the scope's rate, for a message to the device.
  mutating func admit(_ active: ActiveDevice) -> Outbox.Admission {
    let key = DeviceKey(active.device)
    // At the latest: the device's answer makes what waits for it due earlier.
    guard !claimed.contains(key) else {
      return .later(surroundings.time(after: surroundings.bounds.answerSeconds * 1_000_000))
    }
    // One turn for all of a person's devices: when it comes, as many are told as the rate permits.
    let scope = PersonScope(user: key.user, scope: active.outboxScope)
    if let turn = turns[scope] { return .later(turn) }
    let admission = places.take(active.outboxScope, now: now)
    switch admission {
    case .admitted: claimed.insert(key)
    case .later(let turn): turns[scope] = turn
    case .full, .scopeFull: break
    }
    return admission
  }

  /// Adds a claim, which is sent after the commit.
  mutating func add(
    _ message: PushMessage, to active: ActiveDevice, raisedAt: EventTime, attempt: Int,
    partition: Int32
  ) -> Claim {
    let claim = active.claim(message, attempt: attempt, partition: partition, surroundings)
    let content = message.stored
    // Send the message as it is stored: it may have been shortened, and a repetition reads it from
    // the row.
    guard let kept = PushMessage(stored: content) else { return claim }
    var sent = claim
    sent.message = kept
    toSend.append(sent)
    written.append(
      NewClaim(
        claim: sent, purpose: kept.purpose.rawValue, raisedAt: raisedAt, content: content))
    return sent
  }

  /// Whether it makes rows due now.
  var makesDue: Bool { madeDue.values.contains { $0.at <= now } }

  /// Makes an alarm or a person due.
  ///
  /// - Parameter time: nil for now.
  mutating func makeDue(_ key: DueKey, _ partition: Int32, at time: EventTime? = nil) {
    let time = min(time ?? now, madeDue[key]?.at ?? time ?? now)
    madeDue[key] = Due(partition: partition, at: time)
  }

  /// Makes a person due, whose badge may have changed or be in doubt.
  mutating func makePersonDue(_ user: String, _ partition: Int32, at time: EventTime? = nil) {
    makeDue(DueKey(user: BytewiseString(user), notification: .zero), partition, at: time)
  }

  /// Sends a claim without an answer again, unless it has expired, its device is not active any
  /// more, its alarm was read or withdrawn, or the person does not want alerts of it now. For an
  /// alarm that was read or withdrawn, claims a removal instead; for other messages that are not sent
  /// again, makes the person due, whose badge is in doubt.
  mutating func repeatClaim(_ row: Row) throws {
    let (user, installation) = (try row.text("user_id"), try row.text("installation"))
    let (number, now) = (try row.int8("claim"), now)
    func end(_ state: ClaimEnd.State, _ answer: String, dueAt: EventTime? = nil) -> ClaimEnd {
      ClaimEnd(
        user: user, installation: installation, claim: number, state: state, answer: answer,
        at: now, dueAt: dueAt)
    }
    guard let active = try ActiveDevice(row) else { return ends.append(end(.gone, "removed")) }
    guard let message = PushMessage(stored: try row.bytea("content")) else {
      return ends.append(end(.refused, "malformed"))
    }
    let isAlert = message.purpose == .alert
    let partition = Int32(clamping: try row.int("partition"))
    // Its badge is told alone: nobody knows whether the message has arrived.
    func giveUp(_ end: ClaimEnd) {
      ends.append(end)
      if message.purpose != .badge { makePersonDue(user, partition) }
    }
    guard now < message.expires else { return giveUp(end(.expired, "expired")) }
    let isUnread = try row.bool("shown") && row.boolOrNil("unread") ?? false
    let isUndecided = try row.bool("awaits_rendering")
    let isRead = isAlert && !isUnread && !isUndecided
    guard try !isAlert || !isUndecided && !row.bool("is_doubtful") else {
      // The alarm is evaluated again, without whoever is being forgotten.
      return ends.append(end(.waiting, isRead ? "read" : "no-answer", dueAt: now))
    }
    if isAlert, !isRead {
      // The alert may have arrived: see `ClaimEnd.maybeArrived`.
      guard try !row.bool("unwanted") else { return giveUp(end(.refused, "silenced")) }
      if let until = try quietUntil(row, user: user, surroundings) {
        return giveUp(end(.waiting, "quiet", dueAt: until))
      }
    }
    var claim = active.claim(
      message, attempt: try row.int("attempts"), partition: partition, surroundings)
    claim.number = number
    // Not of the future, after the clock was set back: it would be repeated at once each time.
    claim.claimedAt = min(EventTime(microseconds: try row.timestamptz("claimed_at")), now)
    let soon = surroundings.time(after: 1_000_000)
    switch admit(active) {
    case .admitted: break
    case .later(let time):
      claim.dueAt = max(time, soon)
      return repeats.append(claim)
    case .full, .scopeFull:
      claim.dueAt = soon
      return repeats.append(claim)
    }
    guard !isRead else {
      // A removal is right whether the alert arrived or not. The other alarms of the claim become
      // due.
      ends.append(end(.waiting, "read", dueAt: now))
      let raisedAt = EventTime(microseconds: try row.timestamptz("raised_at"))
      _ = add(
        removal(of: message, badge: try row.int("badge"), for: active), to: active,
        raisedAt: raisedAt, attempt: 1, partition: partition)
      return
    }
    claim.attempt += 1
    // While the device has a claim it gets nothing else, so this wait is a minute or so at most. The breaker
    // spares a provider that does not answer.
    let delay = Retry.delay(
      attempt: min(claim.attempt, 7), demanded: .seconds(surroundings.bounds.answerSeconds),
      spread: .random(in: 0..<1))
    claim.dueAt = surroundings.time(after: delay.microseconds)
    toSend.append(claim)
    sentAgain += 1
    repeats.append(claim)
  }

  /// The removal of what an alert shows. It has a time to live of its own, because a notification
  /// stays visible after its alert has expired.
  func removal(of alert: PushMessage, badge: Int?, for active: ActiveDevice) -> PushMessage {
    PushMessage(
      purpose: .removal, notification: alert.notification, version: alert.version,
      kind: alert.kind, badge: badge, created: alert.created, expires: silentExpiry(active))
  }

  /// When a removal or a badge expires whose first attempt is claimed now.
  func silentExpiry(_ active: ActiveDevice) -> EventTime {
    let seconds = surroundings.bounds.timeToLiveSeconds(active.device.provider)
    return surroundings.time(after: seconds * 1_000_000)
  }

  var counts: [String: Int] {
    [
      "pushes_due": moved, "pushes_claimed": toSend.count - sentAgain,
      "pushes_repeated": sentAgain, "pushes_expired": ends.count { $0.state == .expired },
    ]
  }

  var statements: [Statement] {
    var statements: [Statement] = []
    if !ends.isEmpty { statements.append(recordEnds(ends, now: now)) }
    if !closed.isEmpty { statements.append(closeRows(closed)) }
    if !again.isEmpty { statements.append(postponeRows(again)) }
    if !madeDue.isEmpty { statements.append(writeDue(madeDue, now: now)) }
    let claims = repeats + written.map(\.claim)
    if !claims.isEmpty { statements.append(setBackClaims(of: claims.map(\.device.user), now: now)) }
    if !repeats.isEmpty { statements.append(repeatClaims(repeats)) }
    if !written.isEmpty { statements.append(writeClaims(written)) }
    return statements
  }
}

// `push_due` is empty most of the time, and the planner's statistics say so even when it is not.
// These statements find rows only by primary key and by ctid, so that the planner has no other
// choice. Otherwise it would read all due rows for each row to write.
//
// They do not wait for rows that another transaction has locked, because it may lock them in another
// order. Whoever else changes a row gives it a new revision, so it would not be closed or postponed in
// any case. If the change is rolled back, the row is evaluated once more.

private func parameters(_ rows: [DueRow]) -> [Parameter] {
  [
    .textArray(rows.map(\.user)), .uuidArray(rows.map(\.notification)),
    .timestamptzArray(rows.map(\.since)), .int8Array(rows.map(\.revision)),
  ]
}

/// Deletes due rows that have not changed since they were read. A row that has changed stays, and
/// is evaluated again.
private func closeRows(_ rows: [DueRow]) -> Statement {
  Statement(
    """
    DELETE FROM push_due q
    WHERE q.ctid = ANY (ARRAY(
      SELECT d.ctid
      FROM unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::bigint[])
        AS e (user_id, id, since, revision)
      CROSS JOIN LATERAL (
        SELECT d.ctid FROM push_due d
        WHERE d.user_id = e.user_id AND d.notification_id = e.id AND d.since = e.since
          AND d.revision = e.revision
        LIMIT 1
        FOR UPDATE SKIP LOCKED
      ) d
    ))
    """, parameters(rows))
}

/// Moves due rows that have not changed since they were read. A deleted row is not inserted again.
private func postponeRows(_ again: [Piece.Again]) -> Statement {
  let rows = again.map(\.row)
  return Statement(
    """
    INSERT INTO push_due AS q (
      user_id, notification_id, since, revision, due_at, held, partition, version)
    SELECT e.* FROM (
      SELECT * FROM unnest(
        $1::text[], $2::uuid[], $3::timestamptz[], $4::bigint[], $5::timestamptz[], $6::text[],
        $7::int[], $8::bigint[]
      ) AS e (user_id, notification_id, since, revision, due_at, held, partition, version)
      ORDER BY e.user_id COLLATE "C", e.notification_id
    ) e
    CROSS JOIN LATERAL (
      SELECT FROM push_due d
      WHERE d.user_id = e.user_id AND d.notification_id = e.notification_id
      LIMIT 1
      FOR UPDATE SKIP LOCKED
    ) d
    ON CONFLICT (user_id, notification_id) DO UPDATE SET
      due_at = EXCLUDED.due_at, held = EXCLUDED.held
    WHERE q.since = EXCLUDED.since AND q.revision = EXCLUDED.revision
    """,
    parameters(rows) + [
      .timestamptzArray(again.map(\.at.microseconds)), .textArray(again.map(\.hold?.rawValue)),
      .int4Array(rows.map(\.partition)), .int8Array(rows.map(\.version)),
    ])
}
