import Events
import Handling
import Postgres

/// `like.*`: stores the fact (post, actor), which the post's numbers count, and, unless an author
/// likes their own post, a contribution to the notification of the post's likes of that day.
///
/// The post's owner is not part of the like's key. If events disagree about the owner, the newest
/// decides who is notified, and the previous recipient's contribution is withdrawn. The events may
/// be in different partitions, so two lanes may process them concurrently; the lock on the post's
/// counts serializes them.
func likesWork(_ events: [Event]) -> Work {
  var facts = Registers<Key>()
  var registers = Registers<Key>()
  for event in events {
    let actor: String
    let post: String
    let owner: String
    let creates: Bool
    switch event.payload {
    case .likeCreated(let data):
      (actor, post, owner, creates) = (data.actor, data.post, data.postOwner, true)
    case .likeRemoved(let data):
      (actor, post, owner, creates) = (data.actor, data.post, data.postOwner, false)
    default: continue
    }
    facts.add(event, key: Key(post, actor), creates: creates)
    if !owner.hasSameBytes(as: actor) {
      registers.add(event, key: Key(owner, post, actor), creates: creates)
    }
  }
  var contributions = Contributions(.like)
  for (key, register) in zip(registers.keys, registers.values) {
    let (post, actor) = (key.second.string, key.third.string)
    contributions.append(
      recipient: key.first.string, subject: post, source: actor, actor: actor,
      active: isLiked(register.newest), post: post, register: register)
  }
  let posts = distinct(facts.keys.lazy.map(\.first.string))
  return contributions.work(
    after: [lockPostCounts(posts), upsertLikes(facts)], events)
}

private func isLiked(_ event: Event) -> Bool {
  if case .likeCreated = event.payload { true } else { false }
}

/// The post counts are locked, so no other transaction writes likes of these posts, and this
/// statement's snapshot is current.
private func upsertLikes(_ facts: Registers<Key>) -> Statement {
  let events = facts.values.map(\.newest)
  return Statement(
    """
    WITH e AS MATERIALIZED (
      SELECT * FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::boolean[], $5::timestamptz[], $6::timestamptz[],
        $7::text[]
      ) AS e (post_id, actor, post_owner, active, first_at, version_time, version_id)
    ),
    written AS (
      INSERT INTO likes AS l
        (post_id, actor, post_owner, active, first_at, version_time, version_id)
      SELECT e.post_id, e.actor, e.post_owner, e.active, e.first_at, e.version_time, e.version_id
      FROM e
      ORDER BY e.post_id COLLATE "C", e.actor COLLATE "C"
      ON CONFLICT (post_id, actor) DO UPDATE SET
        post_owner = CASE WHEN \(isNewer) THEN EXCLUDED.post_owner ELSE l.post_owner END,
        active = CASE WHEN \(isNewer) THEN EXCLUDED.active ELSE l.active END,
        first_at = least(l.first_at, EXCLUDED.first_at),
        version_time = CASE WHEN \(isNewer) THEN EXCLUDED.version_time ELSE l.version_time END,
        version_id = CASE WHEN \(isNewer) THEN EXCLUDED.version_id ELSE l.version_id END
      WHERE \(isNewer)
        OR EXCLUDED.first_at < l.first_at OR l.first_at IS NULL AND EXCLUDED.first_at IS NOT NULL
    )
    \(rememberOverruled)
    -- The contributions of older versions with another owner.
    FROM (
      SELECT l.post_owner, e.post_id, e.actor
      FROM e
      CROSS JOIN LATERAL (
        SELECT l.post_owner FROM likes l
        WHERE l.post_id = e.post_id AND l.actor = e.actor
          AND l.post_owner NOT IN (e.post_owner, l.actor)
          AND (l.version_time, l.version_id) < (e.version_time, e.version_id)
        LIMIT 1
      ) l
    ) AS o (recipient, subject, source)
    """,
    [
      .textArray(facts.keys.map(\.first.string)), .textArray(facts.keys.map(\.second.string)),
      .textArray(events.map(\.key)), .boolArray(events.map(isLiked)),
      .timestamptzArray(facts.values.map(\.firstAt?.microseconds)),
      .timestamptzArray(events.map(\.time.microseconds)), .textArray(events.map(\.id)),
    ])
}

private let isNewer =
  "(EXCLUDED.version_time, EXCLUDED.version_id) > (l.version_time, l.version_id)"
