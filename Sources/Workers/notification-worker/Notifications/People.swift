import Events
import Handling
import Postgres

/// The maximum number of contributions that a batch of blocks recomputes within its transaction.
private let blockedContributionsMax = 1_000

/// `person.*`: a block hides each of two people's contributions from the other, of any time; muting
/// hides the later ones of one person. Both only set `muted`, so what they hide can come back.
///
/// Pages of posts, comments, messages and people read `person_blocks` themselves.
func peopleWork(_ events: [Event]) throws -> Work {
  var blocks = Registers<Key>()
  var silences = Silences()
  for event in events {
    switch event.payload {
    case .personBlocked(let data):
      blocks.add(event, key: Key(data.user, data.person), creates: true)
    case .personUnblocked(let data):
      blocks.add(event, key: Key(data.user, data.person), creates: false)
    case .personMuted(let data):
      silences.add(
        data.user, .actor(data.person), event, isOff: true,
        until: data.until.isEmpty ? nil : try EventTime(rfc3339: data.until))
    case .personUnmuted(let data):
      silences.add(data.user, .actor(data.person), event, isOff: false)
    default: continue
    }
  }
  let people = distinct(
    silences.people + blocks.keys.flatMap { [$0.first.string, $0.second.string] })
  let statements = [lockRecipients(people)] + silences.statements
  guard !blocks.keys.isEmpty else {
    return notificationWork(statements, recomputation: nil, events)
  }
  return notificationWork(
    statements + [upsertBlocks(blocks)] + hideContributions(blocks),
    recomputation: recomputeNotifications(recipients: people, touched: rememberedNotifications, []),
    events)
}

private func upsertBlocks(_ blocks: Registers<Key>) -> Statement {
  Statement(
    """
    INSERT INTO person_blocks AS b (blocker, blocked, active, version_time, version_id)
    SELECT * FROM unnest($1::text[], $2::text[], $3::boolean[], $4::timestamptz[], $5::text[])
      AS e (blocker, blocked, active, version_time, version_id)
    WHERE e.blocker <> e.blocked
    ON CONFLICT (blocker, blocked) DO UPDATE SET
      active = EXCLUDED.active, version_time = EXCLUDED.version_time,
      version_id = EXCLUDED.version_id
    WHERE (EXCLUDED.version_time, EXCLUDED.version_id) > (b.version_time, b.version_id)
    """,
    [
      .textArray(blocks.keys.map(\.first.string)), .textArray(blocks.keys.map(\.second.string)),
      .boolArray(
        blocks.values.map {
          if case .personBlocked = $0.newest.payload { true } else { false }
        }),
      .timestamptzArray(blocks.values.map(\.newest.time.microseconds)),
      .textArray(blocks.values.map(\.newest.id)),
    ])
}

/// Sets `muted` of what each of two people contributed to the other's notifications. Pairs with many
/// contributions are put under review instead. All people are locked.
private func hideContributions(_ blocks: Registers<Key>) -> [Statement] {
  let pairs = blocks.keys.map { ($0.first.string, $0.second.string) }
  let pairing: [Parameter] = [
    .textArray(pairs.map(\.0) + pairs.map(\.1)), .textArray(pairs.map(\.1) + pairs.map(\.0)),
  ]
  // A pair is wide if the contributions of the pairs up to it are more than a transaction should
  // recompute.
  let counted = """
    SELECT p.recipient, p.actor,
      p.found > 0 AND sum(p.found) OVER (ORDER BY p.number) > \(blockedContributionsMax) AS is_wide
    FROM (
      SELECT e.recipient COLLATE "C" AS recipient, e.actor COLLATE "C" AS actor, e.number,
        (
          SELECT count(*) FROM (
            SELECT FROM notification_actors a
            WHERE a.actor = e.actor AND a.recipient = e.recipient
            LIMIT \(blockedContributionsMax + 1)
          ) AS found
        ) AS found
      FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS e (recipient, actor, number)
    ) p
    """
  let times = blocks.values.map(\.newest.time.microseconds)
  let traces = blocks.values.map { $0.newest.trace?.description }
  return [
    Statement(
      """
      INSERT INTO notification_scoped_reviews AS v
        (recipient, scope, type, value, after_time, caused_at, trace)
      SELECT p.recipient, 'actor', -1, p.actor, '-infinity', max(c.at),
        (array_agg(c.trace ORDER BY c.at DESC))[1]
      FROM (\(counted)) p
      JOIN unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[])
        AS c (recipient, actor, at, trace)
        ON c.recipient = p.recipient AND c.actor = p.actor
      WHERE p.is_wide
      GROUP BY p.recipient, p.actor
      ORDER BY p.recipient, p.actor
      \(widenScopedReview)
      """,
      pairing + [.timestamptzArray(times + times), .textArray(traces + traces)]),
    Statement(
      """
      WITH pairs AS MATERIALIZED (\(counted)),
      piece AS MATERIALIZED (
        SELECT a.ctid AS place, a.notification_id, a.recipient, a.type, a.subject, a.muted,
          a.active
            AND contribution_muted(a.recipient, a.type, a.subject, a.actor, a.first_at)
            AS is_muted
        FROM pairs p
        CROSS JOIN LATERAL (
          SELECT a.ctid, a.* FROM notification_actors a
          WHERE NOT p.is_wide AND a.actor = p.actor AND a.recipient = p.recipient
        ) a
      ),
      changed AS (
        UPDATE notification_actors a SET muted = NOT a.muted
        WHERE a.ctid = ANY (ARRAY(SELECT p.place FROM piece p WHERE p.muted <> p.is_muted))
      )
      SELECT \(rememberNotifications)
      FROM (
        SELECT DISTINCT p.notification_id, p.recipient, p.type, p.subject FROM piece p
        WHERE p.notification_id IS NOT NULL
      ) t
      """, pairing),
  ]
}
