import Events
import Handling
import Kinds
import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Publishes the notifications again that erased events alone would have touched.
///
/// A transaction that applied one of these events and failed after publishing has left a snapshot in the log that
/// names the erased person, under a version above those committed. The next attempt does not apply the event, and the
/// sweep does not find its contribution, because it was rolled back. So the true state is published under a later
/// version here, as the event itself would do (decision 0004).
///
/// This suffices. An event touches its own contribution's notification, computed here from the event alone, and those
/// that are stored of the same like, comment, post or message: it may have withdrawn them by naming somebody else.
/// Pieces of the backlog that failed are repeated by their queue's rows, for which the sweep waits. Notifications of
/// the erased person are not touched: consumers keep them out themselves.
func afterErasedWork(_ events: [ErasedEvent], kinds: AlarmKinds) -> Work {
  var touched: [Touched] = []
  for erased in events {
    touched += notifications(of: erased.event, kinds).filter { !erased.isErased($0.recipient) }
  }
  let facts = StoredFacts(of: events.map(\.event))
  guard !touched.isEmpty || !facts.isEmpty else { return Work() }
  let people = distinct(touched.map(\.recipient))
  let others = "current_setting('magpie.touched_recipients')::text[]"
  var work = Work([
    planByKey(keepsPlans: true), facts.rememberTouched,
    // Before the people themselves, as sweeps lock them.
    Statement(
      """
      SELECT FROM notification_erasures q WHERE q.user_id = ANY ($1::text[] || \(others))
      ORDER BY q.user_id FOR UPDATE
      """, [.textArray(people)]),
    lockRecipients(people, existing: "SELECT unnest(\(others))"),
  ])
  let recomputed = work.add(
    recomputeNotifications(
      recipients: people,
      touched: """
        SELECT t.notification_id, t.recipient COLLATE "C", t.type, t.subject COLLATE "C"
        FROM unnest($2::uuid[], $3::text[], $4::smallint[], $5::text[])
          AS t (notification_id, recipient, type, subject)
        UNION ALL
        \(rememberedNotifications)
        """,
      [
        .uuidArray(touched.map(\.id)), .textArray(touched.map(\.recipient)),
        .int2Array(touched.map { Int16($0.kind) }), .textArray(touched.map(\.subject)),
      ]))
  work.add(
    Statement(
      sweepAgain(
        "SELECT unnest($1::text[] || \(others))", worker: "notification", from: recipientStage),
      [.textArray(people)]))
  work.finish = { results in
    try checkTouched(results[recomputed].count, events: events.count)
    return try snapshots(results[recomputed], causes: Causes([], otherwise: .now))
  }
  return work
}

/// The facts whose events these are, by the ids of their rows.
private struct StoredFacts {
  private var likes: [(post: String, actor: String)] = []
  private var comments: [String] = []
  private var posts: [String] = []
  private var messages: [String] = []

  init(of events: [Event]) {
    for event in events {
      switch event.payload {
      case .likeCreated(let data): likes.append((data.post, data.actor))
      case .likeRemoved(let data): likes.append((data.post, data.actor))
      case .commentCreated(let data): comments.append(data.comment)
      case .commentRemoved(let data): comments.append(data.comment)
      case .postPublished(let data): posts.append(data.post)
      case .postDeleted(let data): posts.append(data.post)
      case .messageSent(let data): messages.append(data.message)
      default: continue
      }
    }
  }

  var isEmpty: Bool { likes.isEmpty && comments.isEmpty && posts.isEmpty && messages.isEmpty }

  /// Saves the notifications of the contributions that are in force, but for those that a sweep deletes from their
  /// recipient.
  var rememberTouched: Statement {
    func contribution(_ recipient: String, _ type: Int, _ subject: String, _ source: String)
      -> String
    {
      """
      CROSS JOIN LATERAL (
        SELECT a.notification_id, a.recipient, a.type, a.subject, a.first_at FROM notification_actors a
        WHERE a.recipient = \(recipient) AND a.type = \(type) AND a.subject = \(subject)
          AND a.source = \(source) AND a.active
        LIMIT 1
      ) a
      """
    }
    let like = contribution("l.post_owner", 0, "l.post_id", "l.actor")
    let message = contribution("f.receiver", 3, "f.sender", "f.message_id")
    return Statement(
      """
      SELECT \(rememberNotifications)
      FROM (
        SELECT a.* FROM unnest($1::text[], $2::text[]) AS k (post_id, actor)
        JOIN likes l ON l.post_id = k.post_id AND l.actor = k.actor
        \(like)
        UNION
        SELECT a.* FROM message_facts f \(message)
        WHERE f.message_id = ANY ($3)
        UNION
        SELECT a.notification_id, a.recipient, a.type, a.subject, a.first_at FROM notification_actors a
        WHERE a.type = 1 AND a.subject = ANY ($4) AND a.active
        UNION
        SELECT a.notification_id, a.recipient, a.type, a.subject, a.first_at FROM notification_actors a
        WHERE a.type = 4 AND a.subject = ANY ($5) AND a.active
      ) t
      WHERE NOT EXISTS (
        SELECT FROM erasures e WHERE e.user_id = t.recipient AND t.first_at <= e.erased_at)
      """,
      [
        .textArray(likes.map(\.post)), .textArray(likes.map(\.actor)), .textArray(messages),
        .textArray(comments),
        .textArray(comments.map { "comment:\($0)" } + posts.map { "post:\($0)" }),
      ])
  }
}

private struct Touched {
  var recipient: String
  var kind: Int
  var subject: String
  var id: UUID

  /// - Parameters:
  ///   - day: of a kind that is grouped.
  ///   - source: of a raised kind that is not.
  init(
    _ recipient: String, _ kind: Int, _ subject: String, day: EventTime? = nil,
    source: String? = nil
  ) {
    (self.recipient, self.kind, self.subject) = (recipient, kind, subject)
    id = notificationID(
      recipient: recipient, kind: kind, subject: subject, bucket: day?.day ?? "", source: source)
  }

  init(_ recipient: String, _ type: AlarmType, _ subject: String, day: EventTime? = nil) {
    self.init(recipient, type.code, subject, day: day)
  }
}

/// The notifications to which the event alone would contribute, but for those of subscribers, which the backlog
/// writes.
private func notifications(of event: Event, _ kinds: AlarmKinds) -> [Touched] {
  switch event.payload {
  case .likeCreated(let data): [Touched(data.postOwner, .like, data.post, day: event.time)]
  case .followCreated(let data): [Touched(data.followee, .follow, "", day: event.time)]
  case .messageSent(let data): [Touched(data.receiver, .message, data.sender, day: event.time)]
  case .commentCreated(let data):
    [Touched(data.postOwner, .comment, data.comment)]
      + data.mentions.map { Touched($0, .mention, "comment:\(data.comment)") }
  case .postPublished(let data): data.mentions.map { Touched($0, .mention, "post:\(data.post)") }
  case .alarmRaised(let data):
    kinds.kind(data.kind).map { kind in
      [
        Touched(
          data.recipient, kind.code.number, data.subject, day: kind.isGrouped ? event.time : nil,
          source: kind.isGrouped ? nil : data.source)
      ]
    } ?? []
  default: []
  }
}
