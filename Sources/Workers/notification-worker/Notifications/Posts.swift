import Events
import Handling
import Postgres

/// `post.*`: creates a notification for each person whom a post mentions. An edit that drops the
/// mention or a deletion of the post withdraws it. Likes and comments of a deleted post stay.
///
/// If the author has subscribers, a trigger queues the post for them (`subscribersWork`).
func postsWork(_ events: [Event]) throws -> Work {
  var facts = Registers<Key>()
  var candidates = Candidates()
  for event in events {
    switch event.payload {
    case .postPublished(let data):
      facts.add(event, key: Key(data.post), creates: true)
      for mention in data.mentions where !mention.hasSameBytes(as: data.author) {
        candidates.add(recipient: mention, type: .mention, source: data.post, at: event.time)
      }
    case .postDeleted(let data):
      facts.add(event, key: Key(data.post), creates: false)
    default: continue
    }
  }
  try candidates.check(events)
  let people = candidates.recipients
  let subjects = facts.keys.map { "post:\($0.first.string)" }
  let stored: [Parameter] = [.textArray(subjects)]
  return notificationWork(
    [
      lockPostsAndSubscriptions(facts, events),
      upsertPosts(facts),
      queueCombinedPosts(facts, events),
      traceQueuedPosts(facts),
      lockRecipients(
        people,
        existing: """
          SELECT a.recipient FROM notification_actors a
          WHERE a.type = 4 AND a.subject = ANY ($2::text[]) AND a.active
          """, stored),
      deriveContributions(candidates, stored),
    ].compactMap(\.self),
    recomputation: recomputeNotifications(recipients: people, touched: rememberedNotifications, []),
    events)
}

/// Locks the stored posts of the batch, then the subscriptions to all authors that its triggers may lock. Each trigger
/// locks its own in order, but the triggers after each other do not.
private func lockPostsAndSubscriptions(_ facts: Registers<Key>, _ events: [Event]) -> Statement {
  Statement(
    """
    SELECT lock_subscriptions($2::text[] || ARRAY(
      SELECT p.author FROM post_facts p WHERE p.post_id = ANY ($1) ORDER BY p.post_id FOR UPDATE), false)
    """,
    [
      .textArray(facts.keys.map(\.first.string)),
      .textArray(distinct(events.map(\.key))),
    ])
}

/// Writes every post of the batch, and locks those that stay unchanged as well.
private func upsertPosts(_ facts: Registers<Key>) -> Statement {
  let posts = facts.values.map { register -> (String, String, [String], Bool) in
    guard case .postPublished(let data) = register.newest.payload else { return ("", "", [], true) }
    return (data.title.isEmpty ? data.caption : data.title, data.imageURL, data.mentions, false)
  }
  return Statement(
    """
    INSERT INTO post_facts AS p
      (post_id, author, head_text, image_url, mentions, deleted, first_at, version_time,
       version_id)
    SELECT e.post_id, e.author, left(e.text, \(Limits.headCharacters)), e.image_url, e.mentions::text[],
      e.deleted, e.first_at, e.version_time, e.version_id
    FROM unnest(
      $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[],
      $7::timestamptz[], $8::timestamptz[], $9::text[]
    ) AS e (post_id, author, text, image_url, mentions, deleted, first_at, version_time, version_id)
    ORDER BY e.post_id COLLATE "C"
    ON CONFLICT (post_id) DO UPDATE SET
      author = CASE WHEN \(isNewer) THEN EXCLUDED.author ELSE p.author END,
      head_text = CASE WHEN \(isNewer) THEN EXCLUDED.head_text ELSE p.head_text END,
      image_url = CASE WHEN \(isNewer) THEN EXCLUDED.image_url ELSE p.image_url END,
      mentions = CASE WHEN \(isNewer) THEN EXCLUDED.mentions ELSE p.mentions END,
      deleted = CASE WHEN \(isNewer) THEN EXCLUDED.deleted ELSE p.deleted END,
      first_at = least(p.first_at, EXCLUDED.first_at),
      version_time = CASE WHEN \(isNewer) THEN EXCLUDED.version_time ELSE p.version_time END,
      version_id = CASE WHEN \(isNewer) THEN EXCLUDED.version_id ELSE p.version_id END
    """,
    [
      .textArray(facts.keys.map(\.first.string)), .textArray(facts.values.map(\.newest.key)),
      .textArray(posts.map(\.0)), .textArray(posts.map(\.1)),
      .textArray(posts.map { arrayLiteral($0.2) }), .boolArray(posts.map(\.3)),
      .timestamptzArray(facts.values.map(\.firstAt?.microseconds)),
      .timestamptzArray(facts.values.map(\.newest.time.microseconds)),
      .textArray(facts.values.map(\.newest.id)),
    ])
}

/// Queues posts of which the batch has several events for the subscribers of all their authors. The
/// trigger sees only the last state, but an attempt that applied the events one by one, and whose commits
/// a failover lost, has published the states between.
private func queueCombinedPosts(_ facts: Registers<Key>, _ events: [Event]) -> Statement? {
  guard facts.keys.count < events.count else { return nil }
  let authors = Dictionary(grouping: events, by: post).mapValues { $0.map(\.key) }
  let queued = zip(facts.keys, facts.values).flatMap { key, register in
    let all = authors[key] ?? []
    return (all.count > 1 ? distinct(all) : []).map {
      (author: $0, post: key.first.string, at: register.newest.time.microseconds)
    }
  }
  guard !queued.isEmpty else { return nil }
  return Statement(
    "SELECT queue_posts($1::text[], $2::text[], $3::timestamptz[])",
    [
      .textArray(queued.map(\.author)), .textArray(queued.map(\.post)),
      .timestamptzArray(queued.map(\.at)),
    ])
}

/// The post that the event is about.
private func post(_ event: Event) -> Key? {
  switch event.payload {
  case .postPublished(let data): Key(data.post)
  case .postDeleted(let data): Key(data.post)
  default: nil
  }
}

/// Adds the traces of the batch's events to the rows that the trigger of `post_facts` has queued for the
/// subscribers.
private func traceQueuedPosts(_ facts: Registers<Key>) -> Statement? {
  let traced = zip(facts.keys, facts.values).compactMap { key, register in
    register.newest.trace.map { (post: key.first.string, event: register.newest, trace: $0) }
  }
  guard !traced.isEmpty else { return nil }
  return Statement(
    """
    UPDATE subscription_work w SET trace = e.trace
    FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[])
      AS e (author, post_id, caused_at, trace)
    WHERE w.author = e.author AND w.post_id = e.post_id AND w.subscriber = ''
      AND w.caused_at = e.caused_at AND w.trace IS NULL
    """,
    [
      .textArray(traced.map(\.event.key)), .textArray(traced.map(\.post)),
      .timestamptzArray(traced.map(\.event.time.microseconds)),
      .textArray(traced.map(\.trace.description)),
    ])
}

private let isNewer =
  "(EXCLUDED.version_time, EXCLUDED.version_id) > (p.version_time, p.version_id)"

/// Updates the mentions of the batch's posts, new and active ones, to match the stored posts, as for
/// comments. The posts and all recipients are locked.
private func deriveContributions(_ candidates: Candidates, _ stored: [Parameter]) -> Statement {
  Statement(
    """
    -- The mentions to write: the batch's and the active ones of these posts.
    WITH keys AS (
      SELECT k.recipient, k.post_id, min(k.first_at) AS first_at,
        (array_agg(k.notification_id) FILTER (WHERE k.notification_id IS NOT NULL))[1]
          AS notification_id
      FROM (
        SELECT e.recipient COLLATE "C", e.post_id COLLATE "C", e.first_at, e.notification_id
        FROM unnest($2::text[], $3::smallint[], $4::text[], $5::timestamptz[], $6::uuid[])
          AS e (recipient, type, post_id, first_at, notification_id)
        UNION ALL
        SELECT a.recipient, substr(a.subject, length('post:') + 1), NULL, a.notification_id
        FROM notification_actors a WHERE a.type = 4 AND a.subject = ANY ($1::text[]) AND a.active
      ) AS k (recipient, post_id, first_at, notification_id)
      GROUP BY k.recipient, k.post_id
    ),
    muters AS MATERIALIZED (\(muters("ARRAY(SELECT k.recipient FROM keys k)"))),
    written AS (
      INSERT INTO notification_actors AS a
        (recipient, type, subject, source, actor, active, muted, first_at, notification_id, post_id,
         head_text, version_time, version_id)
      SELECT k.recipient, 4, 'post:' || k.post_id, 'post:' || k.post_id, p.author, w.active,
        w.active AND k.recipient IN (SELECT m.recipient FROM muters m)
          AND contribution_muted(
            k.recipient, 4::smallint, 'post:' || k.post_id, p.author, k.first_at),
        k.first_at,
        k.notification_id, k.post_id, p.head_text, p.version_time, p.version_id
      FROM keys k
      JOIN post_facts p ON p.post_id = k.post_id
      CROSS JOIN LATERAL (
        SELECT NOT p.deleted AND k.recipient <> p.author AND k.recipient = ANY (p.mentions) AS active
      ) w
      ORDER BY k.recipient, k.post_id
      \(mergeContribution())
    )
    SELECT \(rememberNotifications)
    FROM (
      SELECT k.notification_id, k.recipient, 4 AS type, 'post:' || k.post_id AS subject FROM keys k
    ) t
    """, stored + candidates.parameters { _, post in "post:\(post)" })
}
