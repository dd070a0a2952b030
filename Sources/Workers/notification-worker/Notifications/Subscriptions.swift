import Events
import Handling
import Postgres

/// `author.subscribed` and `.unsubscribed`: writes the timeline that decides who is notified of a post.
///
/// An event that arrives before the posts it applies to costs a few probes and one row. If it arrives
/// later, those posts are queued (`subscribersWork`).
func subscriptionsWork(_ events: [Event]) -> Work {
  let toggles = events.compactMap { event -> Toggle? in
    switch event.payload {
    case .authorSubscribed(let data): Toggle(data.author, data.subscriber, event, true)
    case .authorUnsubscribed(let data): Toggle(data.author, data.subscriber, event, false)
    default: nil
    }
  }
  let people = distinct(toggles.lazy.map(\.subscriber))
  let columns: [Parameter] = [
    .textArray(toggles.map(\.author)), .textArray(toggles.map(\.subscriber)),
    .timestamptzArray(toggles.map(\.event.time.microseconds)), .textArray(toggles.map(\.event.id)),
  ]
  return Work([
    planByKey(keepsPlans: true),
    Statement(
      "SELECT lock_subscriptions($1::text[], true)",
      [.textArray(distinct(toggles.lazy.map(\.author)))]),
    // Before the timeline is written, so that duplicates queue nothing. Subscriptions of the same
    // batch do not shorten the time that each one queues.
    Statement(
      """
      INSERT INTO subscription_work AS w
        (author, subscriber, from_time, upto_time, after_time, caused_at, trace)
      SELECT t.author, t.subscriber, min(t.at), max(t.until), min(t.at), max(t.at),
        (array_agg(t.trace ORDER BY t.at DESC))[1]
      FROM (
        SELECT e.author, e.subscriber, e.at, e.trace, coalesce(
          (
            SELECT min(s.at) FROM author_subscriptions s
            WHERE s.author = e.author AND s.subscriber = e.subscriber AND s.at > e.at
          ), 'infinity') AS until
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[])
          AS e (author, subscriber, at, event_id, trace)
        WHERE NOT EXISTS (
          SELECT FROM author_subscriptions s
          WHERE s.author = e.author AND s.subscriber = e.subscriber AND s.at = e.at
            AND s.event_id = e.event_id)
      ) t
      -- Also of deleted posts: before a failover lost its commits, the subscription may have preceded
      -- the deletion.
      WHERE EXISTS (
        SELECT FROM post_facts p
        WHERE p.author = t.author AND p.first_at >= t.at AND p.first_at < t.until)
      GROUP BY t.author, t.subscriber
      ORDER BY t.author COLLATE "C", t.subscriber COLLATE "C"
      -- Work in progress starts over.
      ON CONFLICT (author, post_id, subscriber) DO UPDATE SET
        from_time = least(w.from_time, EXCLUDED.from_time),
        upto_time = greatest(w.upto_time, EXCLUDED.upto_time),
        after_time = least(w.from_time, EXCLUDED.from_time), after_post = DEFAULT,
        caused_at = greatest(w.caused_at, EXCLUDED.caused_at),
        trace = CASE WHEN EXCLUDED.caused_at < w.caused_at THEN w.trace ELSE EXCLUDED.trace END
      """, columns + [.textArray(toggles.map { $0.event.trace?.description })]),
    Statement(
      """
      INSERT INTO author_subscriptions (author, subscriber, at, event_id, subscribed)
      SELECT * FROM unnest(
        $1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::boolean[])
      ON CONFLICT DO NOTHING
      """, columns + [.boolArray(toggles.map(\.isSubscribed))]),
    // The backlog locks subscribers' rows and never waits, so it cannot create them. Locked, so that no sweep
    // deletes the row of a person who came back.
    lockRecipients(people),
  ])
}

private struct Toggle {
  var author: String
  var subscriber: String
  var event: Event
  var isSubscribed: Bool

  init(_ author: String, _ subscriber: String, _ event: Event, _ isSubscribed: Bool) {
    (self.author, self.subscriber, self.event) = (author, subscriber, event)
    self.isSubscribed = isSubscribed
  }
}
