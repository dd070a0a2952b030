import Events
import Handling
import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Contributions that a single event creates or withdraws: likes, follows and messages. Each row of
/// `notification_actors` is a register of its own; the recipient is part of its key.
///
/// The recipient is not part of the key of a like or message, so a contribution of theirs is active
/// only while its newest event is also the fact's newest. The earlier statement that wrote the fact
/// saves the contributions of its previous version in `magpie.overruled_…`.
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
  /// The notifications to which the batch's events alone would assign the contributions:
  /// notification, recipient, subject; each once.
  private var candidates: (ids: [UUID?], recipients: [String?], subjects: [String?]) = ([], [], [])
  private var known: [Candidate: UUID] = [:]

  private struct Candidate: Hashable {
    var notification: Key
    var day: Int64
  }

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
        candidate(recipient: recipient, subject: subject, day: $0.microseconds / microsecondsInDay)
      })
    posts.append(post)
    texts.append(text)
    versionTimes.append(register.newest.time.microseconds)
    versionIDs.append(register.newest.id)
    for day in register.createdOn {
      _ = candidate(recipient: recipient, subject: subject, day: day)
    }
  }

  /// The id of a day's notification, which is recorded as touched by the batch. Many contributions
  /// share one notification, so its id is computed once.
  private mutating func candidate(recipient: String, subject: String, day: Int64) -> UUID {
    let key = Candidate(notification: Key(recipient, subject), day: day)
    if let known = known[key] { return known }
    let id = notificationID(
      recipient: recipient, type: type, subject: subject,
      bucket: EventTime(microseconds: day * microsecondsInDay).day)
    known[key] = id
    candidates.ids.append(id)
    candidates.recipients.append(recipient)
    candidates.subjects.append(subject)
    return id
  }

  /// Locks the recipients, writes the contributions, recomputes their notifications.
  func work(after statements: [Statement] = [], _ events: [Event]) -> Work {
    let people = distinct(recipients.compactMap(\.self))
    let locked = lockRecipients(
      people, existing: hasFact ? "SELECT unnest(\(overruledRecipients))" : nil)
    return notificationWork(
      statements + [insertRecipients(people), locked, write(people)]
        + (hasFact ? [withdrawOverruled()] : []),
      recomputation: recompute(people), events)
  }

  /// Whether the fact's events name the recipient, instead of the recipient being part of its key.
  private var hasFact: Bool { winner != nil }

  /// SQL: true if the event `e` is the newest of its fact. The same as `contribution_stands` of
  /// migration 0011 for one row, but inlined, because a function call per like costs more than the
  /// look-up.
  private var winner: String? {
    switch type {
    case .like:
      """
      SELECT true FROM likes f
              WHERE f.post_id = e.subject AND f.actor = e.source AND f.active
                AND f.post_owner = e.recipient AND f.version_time = e.version_time
                AND f.version_id = e.version_id
              LIMIT 1
      """
    case .message:
      """
      SELECT true FROM message_facts f
              WHERE f.message_id = e.source AND f.receiver = e.recipient
                AND f.sender = e.subject AND f.version_time = e.version_time
                AND f.version_id = e.version_id
              LIMIT 1
      """
    case .comment, .follow, .mention, .post: nil
    }
  }

  /// Withdraws contributions that the fact's newest event no longer supports.
  private func withdrawOverruled() -> Statement {
    Statement(
      """
      UPDATE notification_actors a SET
        active = false, muted = false, also_touched = a.notification_id
      WHERE a.ctid = ANY (ARRAY(
        SELECT o.ctid
        FROM unnest(
          \(overruledRecipients), current_setting('magpie.overruled_subjects')::text[],
          current_setting('magpie.overruled_sources')::text[]
        ) AS k (recipient, subject, source)
        CROSS JOIN LATERAL (
          SELECT c.ctid FROM notification_actors c
          WHERE c.recipient = k.recipient AND c.type = $1 AND c.subject = k.subject
            AND c.source = k.source AND c.active
          LIMIT 1
        ) o))
      """, [.int2(Int16(type.code))])
  }

  /// Merges the batch's registers into the table's, as `mergeContribution` does, but reads first:
  /// the recipients are locked, so the snapshot is current and new rows need no ON CONFLICT. Saves
  /// the previous notifications of contributions in `magpie.touched_…` when they differ from the
  /// batch's.
  private func write(_ people: [String]) -> Statement {
    let stands = winner.map { "(e.active AND coalesce((\($0)), false))" } ?? "e.active"
    return Statement(
      """
      -- The recipients who have ever muted this type.
      WITH muters AS MATERIALIZED (
        SELECT DISTINCT m.recipient FROM notification_mutes m
        WHERE m.recipient = ANY ($13::text[]) AND m.type = $1
      ),
      -- The batch's contributions, compared with the stored ones.
      merged AS MATERIALIZED (
        SELECT e.*, old.is_known, old.notification_id AS old_id,
          (e.version_time, e.version_id) > (old.version_time, old.version_id) AS is_newer,
          e.first_at < old.first_at OR old.first_at IS NULL AND e.first_at IS NOT NULL
            AS is_earlier,
          e.recipient IN (SELECT recipient FROM muters) AS may_be_muted
        FROM (
          SELECT e.recipient, e.subject, e.source, e.actor, \(stands) AS active, e.first_at,
            e.notification_id, e.post_id, e.text, e.version_time, e.version_id
          FROM unnest(
            $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::timestamptz[],
            $8::uuid[], $9::text[], $10::text[], $11::timestamptz[], $12::text[]
          ) AS e (recipient, subject, source, actor, active, first_at, notification_id, post_id,
            text, version_time, version_id)
          ORDER BY e.recipient COLLATE "C", e.subject COLLATE "C", e.source COLLATE "C"
        ) e
        -- LIMIT forces one look-up by key per event, whatever table size the planner assumes.
        LEFT JOIN LATERAL (
          SELECT true AS is_known, a.notification_id, a.first_at, a.version_time, a.version_id
          FROM notification_actors a
          WHERE a.recipient = e.recipient AND a.type = $1 AND a.subject = e.subject
            AND a.source = e.source
          LIMIT 1
        ) old ON true
      ),
      added AS (
        INSERT INTO notification_actors
          (recipient, type, subject, source, actor, active, muted, first_at, notification_id,
           post_id, head_text, version_time, version_id)
        SELECT e.recipient, $1, e.subject, e.source, e.actor, e.active,
          e.active AND e.may_be_muted AND notification_muted(e.recipient, $1, e.first_at),
          e.first_at, e.notification_id, e.post_id, left(e.text, \(headCharacters)),
          e.version_time, e.version_id
        FROM merged e WHERE e.is_known IS NULL
      ),
      -- ON CONFLICT although every row conflicts: the planner would join an UPDATE, and while the
      -- table is new it may scan all of it for each row of the batch.
      changed AS (
        INSERT INTO notification_actors AS a
          (recipient, type, subject, source, actor, active, muted, first_at, notification_id,
           post_id, head_text, version_time, version_id)
        SELECT e.recipient, $1, e.subject, e.source, e.actor, e.active, false, e.first_at,
          e.notification_id, e.post_id, left(e.text, \(headCharacters)), e.version_time, e.version_id
        FROM merged e WHERE e.is_known AND (e.is_newer OR e.is_earlier)
        \(mergeContribution)
      )
      SELECT
        set_config('magpie.touched_ids', coalesce(array_agg(m.old_id)::text, '{}'), true),
        set_config('magpie.touched_recipients', coalesce(array_agg(m.recipient)::text, '{}'), true),
        set_config('magpie.touched_subjects', coalesce(array_agg(m.subject)::text, '{}'), true)
      FROM (
        SELECT DISTINCT e.old_id, e.recipient, e.subject FROM merged e
        WHERE e.old_id <> e.notification_id OR e.old_id IS NOT NULL AND e.notification_id IS NULL
      ) m
      """,
      [
        .int2(Int16(type.code)), .textArray(recipients), .textArray(subjects),
        .textArray(sources), .textArray(actors), .boolArray(active), .timestamptzArray(firstAt),
        .uuidArray(notifications), .textArray(posts), .textArray(texts),
        .timestamptzArray(versionTimes), .textArray(versionIDs), .textArray(people),
      ])
  }

  private func recompute(_ people: [String]) -> Statement {
    recomputeNotifications(
      recipients: people, and: hasFact ? overruledRecipients : nil,
      touched: """
        SELECT c.notification_id, c.recipient COLLATE "C", $2, c.subject COLLATE "C"
        FROM unnest($3::uuid[], $4::text[], $5::text[]) AS c (notification_id, recipient, subject)
        UNION ALL
        SELECT o.notification_id, o.recipient COLLATE "C", $2, o.subject COLLATE "C"
        FROM unnest(
          current_setting('magpie.touched_ids')::uuid[],
          current_setting('magpie.touched_recipients')::text[],
          current_setting('magpie.touched_subjects')::text[]
        ) AS o (notification_id, recipient, subject)
        """,
      [
        .int2(Int16(type.code)), .uuidArray(candidates.ids), .textArray(candidates.recipients),
        .textArray(candidates.subjects),
      ])
  }
}

private let overruledRecipients = "current_setting('magpie.overruled_recipients')::text[]"

/// The select list of statements that write facts: saves the contributions of the facts' previous
/// versions, from rows `o (recipient, subject, source)`, in `magpie.overruled_…`.
let rememberOverruled = """
  SELECT
    set_config('magpie.overruled_recipients', coalesce(array_agg(o.recipient)::text, '{}'), true),
    set_config('magpie.overruled_subjects', coalesce(array_agg(o.subject)::text, '{}'), true),
    set_config('magpie.overruled_sources', coalesce(array_agg(o.source)::text, '{}'), true)
  """

/// The maximum length of a quoted text in a notification, in code points.
let headCharacters = 256

/// The end of every `INSERT INTO notification_actors AS a`: the newer version decides the content;
/// the earliest time decides the day and with it the notification. A contribution that moves to
/// another day keeps the id of its previous notification in `also_touched`.
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
