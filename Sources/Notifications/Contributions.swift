import Events
import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Contributions that one event each makes or withdraws: likes, follows and messages. Each row of
/// `notification_actors` is a register of its own; the recipient is part of its key.
struct Contributions {
  let type: AlarmType
  private var recipients: [String?] = []
  private var subjects: [String?] = []
  private var sources: [String?] = []
  private var actors: [String?] = []
  private var active: [Bool?] = []
  private var firstAt: [Int64?] = []
  private var notifications: [UUID?] = []
  private var posts: [String?] = []
  private var texts: [String?] = []
  private var versionTimes: [Int64?] = []
  private var versionIDs: [String?] = []
  /// Where the batch's events alone would have put the contributions: notification, recipient,
  /// subject.
  private var candidates: (ids: [UUID?], recipients: [String?], subjects: [String?]) = ([], [], [])

  init(_ type: AlarmType) {
    self.type = type
  }

  mutating func append(
    recipient: String, subject: String, source: String, actor: String, active: Bool,
    post: String? = nil, text: String = "", register: Register
  ) {
    recipients.append(recipient)
    subjects.append(subject)
    sources.append(source)
    actors.append(actor)
    self.active.append(active)
    firstAt.append(register.firstAt?.microseconds)
    notifications.append(
      register.firstAt.map {
        notificationID(recipient: recipient, type: type, subject: subject, bucket: $0.day)
      })
    posts.append(post)
    texts.append(text)
    versionTimes.append(register.newest.time.microseconds)
    versionIDs.append(register.newest.id)
    for day in register.createdOn {
      let bucket = EventTime(microseconds: day * microsecondsInDay).day
      candidates.ids.append(
        notificationID(recipient: recipient, type: type, subject: subject, bucket: bucket))
      candidates.recipients.append(recipient)
      candidates.subjects.append(subject)
    }
  }

  /// Locks the recipients, writes the contributions, recomputes their notifications.
  var statements: [Statement] {
    guard !recipients.isEmpty else { return [] }
    let people = distinct(recipients.compactMap(\.self))
    return [insertRecipients(people), lockRecipients(people), upsert, recompute(people)]
  }

  private var upsert: Statement {
    Statement(
      """
      INSERT INTO notification_actors AS a
        (recipient, type, subject, source, actor, active, muted, first_at, notification_id,
         post_id, head_text, version_time, version_id)
      SELECT e.recipient, $1, e.subject, e.source, e.actor, e.active,
        e.active AND notification_muted(e.recipient, $1, e.first_at),
        e.first_at, e.notification_id, e.post_id, left(e.text, \(headCharacters)),
        e.version_time, e.version_id
      FROM unnest(
        $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::timestamptz[],
        $8::uuid[], $9::text[], $10::text[], $11::timestamptz[], $12::text[]
      ) AS e (recipient, subject, source, actor, active, first_at, notification_id, post_id, text,
        version_time, version_id)
      ORDER BY e.recipient COLLATE "C", e.subject COLLATE "C", e.source COLLATE "C"
      \(mergeContribution)
      """,
      [
        .int2(Int16(type.code)), .textArray(recipients), .textArray(subjects),
        .textArray(sources), .textArray(actors), .boolArray(active), .timestamptzArray(firstAt),
        .uuidArray(notifications), .textArray(posts), .textArray(texts),
        .timestamptzArray(versionTimes), .textArray(versionIDs),
      ])
  }

  private func recompute(_ people: [String]) -> Statement {
    recomputeNotifications(
      recipients: people,
      touched: """
        SELECT a.notification_id, a.recipient, a.type, a.subject
        FROM unnest($2::text[], $3::text[], $4::text[]) AS e (recipient, subject, source)
        -- LIMIT is what makes this one look-up by key for each event, whatever size the planner
        -- takes the table to have.
        CROSS JOIN LATERAL (
          SELECT a.notification_id, a.recipient, a.type, a.subject
          FROM notification_actors a
          WHERE a.recipient = e.recipient AND a.type = $5 AND a.subject = e.subject
            AND a.source = e.source
          LIMIT 1
        ) a
        UNION ALL
        SELECT c.notification_id, c.recipient COLLATE "C", $5, c.subject COLLATE "C"
        FROM unnest($6::uuid[], $7::text[], $8::text[]) AS c (notification_id, recipient, subject)
        """,
      [
        .textArray(recipients), .textArray(subjects), .textArray(sources),
        .int2(Int16(type.code)), .uuidArray(candidates.ids), .textArray(candidates.recipients),
        .textArray(candidates.subjects),
      ])
  }
}

/// How much of a text a notification quotes, in code points.
let headCharacters = 256

/// The end of every `INSERT INTO notification_actors AS a`: the newer version decides what the
/// contribution says; the earliest time decides its day and with it its notification. A contribution
/// that moves to another day leaves the id of the notification it came from in `also_touched`.
let mergeContribution = """
  ON CONFLICT (recipient, type, subject, source) DO UPDATE SET
    actor = CASE WHEN \(isNewer) THEN EXCLUDED.actor ELSE a.actor END,
    active = CASE WHEN \(isNewer) THEN EXCLUDED.active ELSE a.active END,
    muted = CASE WHEN \(isNewer) THEN EXCLUDED.active ELSE a.active END
      AND notification_muted(a.recipient, a.type, least(a.first_at, EXCLUDED.first_at)),
    first_at = least(a.first_at, EXCLUDED.first_at),
    notification_id =
      CASE WHEN \(isEarlier) THEN EXCLUDED.notification_id ELSE a.notification_id END,
    also_touched =
      CASE WHEN \(isEarlier) AND EXCLUDED.notification_id <> a.notification_id
        THEN a.notification_id ELSE a.also_touched END,
    post_id = CASE WHEN \(isNewer) THEN EXCLUDED.post_id ELSE a.post_id END,
    comment_id = CASE WHEN \(isNewer) THEN EXCLUDED.comment_id ELSE a.comment_id END,
    head_text = CASE WHEN \(isNewer) THEN EXCLUDED.head_text ELSE a.head_text END,
    version_time = CASE WHEN \(isNewer) THEN EXCLUDED.version_time ELSE a.version_time END,
    version_id = CASE WHEN \(isNewer) THEN EXCLUDED.version_id ELSE a.version_id END
  WHERE \(isNewer) OR \(isEarlier)
  """

private let isNewer =
  "(EXCLUDED.version_time, EXCLUDED.version_id) > (a.version_time, a.version_id)"
private let isEarlier =
  "(EXCLUDED.first_at < a.first_at OR a.first_at IS NULL AND EXCLUDED.first_at IS NOT NULL)"
