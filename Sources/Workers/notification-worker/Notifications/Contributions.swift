import Events
import Handling
import Kinds
import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Contributions that a single event creates or withdraws: likes, follows, messages and the alarms
/// that `alarm.raised` raises. Each row of `notification_actors` is a register of its own; the
/// recipient is part of its key.
///
/// The recipient is not part of the key of a like or message, so a contribution of theirs is active
/// only while its newest event is also the fact's newest. The earlier statement that wrote the fact
/// saves the contributions of its previous version in `magpie.overruled_…`.
struct Contributions {
  /// The kind of a like, follow or message; nil for alarms that were raised, of any kinds.
  private let type: AlarmType?
  private var kinds: [Int16?] = []
  private var recipients: [String?] = []
  private var subjects: [String?] = []
  private var sources: [String?] = []
  private var actors: [String?] = []
  /// Of alarms that were raised; empty for the other kinds.
  private var raised:
    (grouped: [Bool?], imageURLs: [String?], arguments: [String?], causedAt: [Int64?]) = (
      [], [], [], []
    )
  private var active: [Bool?] = []
  private var firstAt: [Int64?] = []
  private var notifications: [UUID?] = []
  private var posts: [String?] = []
  private var texts: [String?] = []
  private var versionTimes: [Int64?] = []
  private var versionIDs: [String?] = []
  /// The notifications to which the batch's events alone would assign the contributions:
  /// notification, recipient, kind, subject; each once.
  private var candidates:
    (ids: [UUID?], recipients: [String?], kinds: [Int16?], subjects: [String?]) = ([], [], [], [])
  private var known: [Candidate: UUID] = [:]

  private struct Candidate: Hashable {
    var notification: Key
    var kind: Int16
    /// Nil if the kind is not grouped.
    var day: Int64?
  }

  /// Likes, follows or messages.
  init(_ type: AlarmType) { self.type = type }

  /// Alarms that were raised.
  init() { type = nil }

  /// Adds an alarm that was raised or withdrawn.
  ///
  /// - Parameter data: nil if the newest event withdraws the alarm.
  mutating func append(
    _ kind: AlarmKind, recipient: String, subject: String, source: String, data: AlarmRaised?,
    register: Register
  ) throws {
    raised.grouped.append(kind.isGrouped)
    raised.imageURLs.append(data?.imageURL)
    // An empty value is an absent one.
    raised.arguments.append(
      try data.map { try jsonObject($0.arguments.filter { !$0.value.isEmpty }) })
    let causedAt = register.newest.causedAt
    raised.causedAt.append(causedAt < register.newest.time ? causedAt.microseconds : nil)
    append(
      kind: Int16(kind.code.number), isGrouped: kind.isGrouped, recipient: recipient,
      subject: subject, source: source, actor: data.flatMap { $0.actor.isEmpty ? nil : $0.actor },
      active: data.map { !$0.actor.hasSameBytes(as: recipient) } ?? false,
      text: data?.headText ?? "", register: register)
  }

  /// Adds a like, follow or message.
  mutating func append(
    recipient: String, subject: String, source: String, actor: String, active: Bool,
    post: String? = nil, text: String = "", register: Register
  ) {
    append(
      kind: Int16(type?.code ?? 0), isGrouped: true, recipient: recipient, subject: subject,
      source: source, actor: actor, active: active, post: post, text: text, register: register)
  }

  private mutating func append(
    kind: Int16, isGrouped: Bool, recipient: String, subject: String, source: String,
    actor: String?, active: Bool, post: String? = nil, text: String, register: Register
  ) {
    func id(_ day: Int64) -> UUID {
      candidate(
        kind, day: isGrouped ? day : nil, recipient: recipient, subject: subject, source: source)
    }
    kinds.append(kind)
    recipients.append(recipient)
    subjects.append(subject)
    sources.append(source)
    actors.append(actor)
    self.active.append(active)
    firstAt.append(register.firstAt?.microseconds)
    notifications.append(register.firstAt.map { id($0.microseconds / microsecondsInDay) })
    posts.append(post)
    texts.append(text)
    versionTimes.append(register.newest.time.microseconds)
    versionIDs.append(register.newest.id)
    for day in register.createdOn { _ = id(day) }
  }

  /// The id of a notification, which is recorded as touched by the batch. Many contributions share
  /// one notification, so its id is computed once.
  private mutating func candidate(
    _ kind: Int16, day: Int64?, recipient: String, subject: String, source: String
  ) -> UUID {
    let key = Candidate(
      notification: Key(recipient, subject, day == nil ? source : ""), kind: kind, day: day)
    if let known = known[key] { return known }
    let id = notificationID(
      recipient: recipient, kind: Int(kind), subject: subject,
      bucket: day.map { EventTime(microseconds: $0 * microsecondsInDay).day } ?? "",
      source: day == nil ? source : nil)
    known[key] = id
    candidates.ids.append(id)
    candidates.recipients.append(recipient)
    candidates.kinds.append(kind)
    candidates.subjects.append(subject)
    return id
  }

  /// Locks the recipients, writes the contributions, recomputes their notifications.
  func work(after statements: [Statement] = [], _ events: [Event]) -> Work {
    let people = distinct(recipients.compactMap(\.self))
    let locked = lockRecipients(
      people, existing: hasFact ? "SELECT unnest(\(overruledRecipients))" : nil)
    return notificationWork(
      statements + [locked, write(people)]
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
    case .comment, .follow, .mention, .post, nil: nil
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
      """, [.int2(Int16(type?.code ?? 0))])
  }

  /// Merges the batch's registers into the table's, as `mergeContribution` does, but reads first:
  /// the recipients are locked, so the snapshot is current and new rows need no ON CONFLICT. Saves
  /// the previous notifications of contributions (`rememberNotifications`) when they differ from the
  /// batch's.
  private func write(_ people: [String]) -> Statement {
    let stands = winner.map { "(e.active AND coalesce((\($0)), false))" } ?? "e.active"
    return Statement(
      """
      WITH muters AS MATERIALIZED (\(muters("$13::text[]"))),
      -- The batch's contributions, compared with the stored ones.
      merged AS MATERIALIZED (
        SELECT e.*, old.is_known, old.notification_id AS old_id,
          (e.version_time, e.version_id) > (old.version_time, old.version_id) AS is_newer,
          e.first_at < old.first_at OR old.first_at IS NULL AND e.first_at IS NOT NULL
            AS is_earlier,
          e.recipient IN (SELECT recipient FROM muters) AS may_be_muted
        FROM (
          SELECT e.recipient, e.type, e.subject, e.source, e.actor, \(stands) AS active, e.first_at,
            e.notification_id, e.post_id, e.text, e.version_time, e.version_id\(more("e."))
          FROM unnest(
            $1::smallint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::timestamptz[],
            $8::uuid[], $9::text[], $10::text[], $11::timestamptz[], $12::text[]\(moreArrays)
          ) AS e (type, recipient, subject, source, actor, active, first_at, notification_id,
            post_id, text, version_time, version_id\(more("")))
          ORDER BY e.recipient COLLATE "C", e.type, e.subject COLLATE "C", e.source COLLATE "C"
        ) e
        -- LIMIT forces one look-up by key per event, whatever table size the planner assumes.
        LEFT JOIN LATERAL (
          SELECT true AS is_known, a.notification_id, a.first_at, a.version_time, a.version_id
          FROM notification_actors a
          WHERE a.recipient = e.recipient AND a.type = e.type AND a.subject = e.subject
            AND a.source = e.source
          LIMIT 1
        ) old ON true
      ),
      added AS (
        INSERT INTO notification_actors
          (recipient, type, subject, source, actor, active, muted, first_at, notification_id,
           post_id, head_text, version_time, version_id\(more("")))
        SELECT e.recipient, e.type, e.subject, e.source, e.actor, e.active,
          e.active AND e.may_be_muted
            AND contribution_muted(e.recipient, e.type, e.subject, e.actor, e.first_at),
          e.first_at, e.notification_id, e.post_id, left(e.text, \(Limits.headCharacters)),
          e.version_time, e.version_id\(more("e."))
        FROM merged e WHERE e.is_known IS NULL
      ),
      -- ON CONFLICT although every row conflicts: the planner would join an UPDATE, and while the
      -- table is new it may scan all of it for each row of the batch.
      changed AS (
        INSERT INTO notification_actors AS a
          (recipient, type, subject, source, actor, active, muted, first_at, notification_id,
           post_id, head_text, version_time, version_id\(more("")))
        SELECT e.recipient, e.type, e.subject, e.source, e.actor, e.active, e.may_be_muted,
          e.first_at, e.notification_id, e.post_id, left(e.text, \(Limits.headCharacters)),
          e.version_time, e.version_id\(more("e."))
        FROM merged e WHERE e.is_known AND (e.is_newer OR e.is_earlier)
        \(mergeContribution(mayBeMuted: "EXCLUDED.muted"))
      )
      SELECT \(rememberNotifications)
      FROM (
        SELECT DISTINCT e.old_id AS notification_id, e.recipient, e.type, e.subject FROM merged e
        WHERE e.old_id <> e.notification_id OR e.old_id IS NOT NULL AND e.notification_id IS NULL
      ) t
      """,
      [
        .int2Array(kinds), .textArray(recipients), .textArray(subjects),
        .textArray(sources), .textArray(actors), .boolArray(active), .timestamptzArray(firstAt),
        .uuidArray(notifications), .textArray(posts), .textArray(texts),
        .timestamptzArray(versionTimes), .textArray(versionIDs), .textArray(people),
      ]
        + (type != nil
          ? []
          : [
            .boolArray(raised.grouped), .textArray(raised.imageURLs), .jsonbArray(raised.arguments),
            .timestamptzArray(raised.causedAt),
          ]))
  }

  /// The columns that only alarms that were raised have, so that the others do not pay for them.
  private func more(_ prefix: String) -> String {
    type != nil
      ? ""
      : ["grouped", "image_url", "arguments", "caused_at"].map { ", \(prefix)\($0)" }.joined()
  }

  private var moreArrays: String {
    type != nil ? "" : ", $14::boolean[], $15::text[], $16::jsonb[], $17::timestamptz[]"
  }

  private func recompute(_ people: [String]) -> Statement {
    recomputeNotifications(
      recipients: people, and: hasFact ? overruledRecipients : nil,
      touched: """
        SELECT c.notification_id, c.recipient COLLATE "C", c.type, c.subject COLLATE "C"
        FROM unnest($2::uuid[], $3::text[], $4::smallint[], $5::text[])
          AS c (notification_id, recipient, type, subject)
        UNION ALL
        \(rememberedNotifications)
        """,
      [
        .uuidArray(candidates.ids), .textArray(candidates.recipients),
        .int2Array(candidates.kinds), .textArray(candidates.subjects),
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

/// The end of every `INSERT INTO notification_actors AS a`: the newer version decides the content;
/// the earliest time decides the day and with it the notification. A contribution that moves to
/// another day keeps the id of its previous notification in `also_touched`.
///
/// - Parameter mayBeMuted: SQL: false if the recipient mutes nothing.
func mergeContribution(mayBeMuted: String = "true") -> String {
  """
  ON CONFLICT (recipient, type, subject, source) DO UPDATE SET
    actor = CASE WHEN \(isNewer) THEN EXCLUDED.actor ELSE a.actor END,
    active = CASE WHEN \(isNewer) THEN EXCLUDED.active ELSE a.active END,
    muted = CASE WHEN \(isNewer) THEN EXCLUDED.active ELSE a.active END
      AND \(mayBeMuted)
      AND contribution_muted(
        a.recipient, a.type, a.subject,
        CASE WHEN \(isNewer) THEN EXCLUDED.actor ELSE a.actor END,
        least(a.first_at, EXCLUDED.first_at)),
    first_at = least(a.first_at, EXCLUDED.first_at),
    notification_id =
      CASE WHEN \(isEarlier) THEN EXCLUDED.notification_id ELSE a.notification_id END,
    -- The flag goes with the id. A withdrawal that comes first decides neither.
    grouped = CASE WHEN \(isEarlier) THEN EXCLUDED.grouped ELSE a.grouped END,
    also_touched =
      CASE WHEN \(isEarlier) AND EXCLUDED.notification_id <> a.notification_id
        THEN a.notification_id ELSE a.also_touched END,
    post_id = CASE WHEN \(isNewer) THEN EXCLUDED.post_id ELSE a.post_id END,
    comment_id = CASE WHEN \(isNewer) THEN EXCLUDED.comment_id ELSE a.comment_id END,
    head_text = CASE WHEN \(isNewer) THEN EXCLUDED.head_text ELSE a.head_text END,
    image_url = CASE WHEN \(isNewer) THEN EXCLUDED.image_url ELSE a.image_url END,
    arguments = CASE WHEN \(isNewer) THEN EXCLUDED.arguments ELSE a.arguments END,
    caused_at = CASE WHEN \(isNewer) THEN EXCLUDED.caused_at ELSE a.caused_at END,
    version_time = CASE WHEN \(isNewer) THEN EXCLUDED.version_time ELSE a.version_time END,
    version_id = CASE WHEN \(isNewer) THEN EXCLUDED.version_id ELSE a.version_id END
  WHERE \(isNewer) OR \(isEarlier)
  """
}

/// SQL that selects as `recipient` those who may mute anything; the contributions of all others are
/// not muted.
///
/// - Parameter people: SQL of type `text[]`.
func muters(_ people: String) -> String {
  """
  SELECT p.recipient FROM (SELECT DISTINCT unnest(\(people)) COLLATE "C") AS p (recipient)
  -- OFFSET, so that each is a look-up for each person: who is blocked by a million people has as many rows.
  WHERE EXISTS (SELECT FROM notification_mutes m WHERE m.recipient = p.recipient OFFSET 0)
    OR EXISTS (SELECT FROM notification_silences s WHERE s.recipient = p.recipient OFFSET 0)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocker = p.recipient AND b.active OFFSET 0)
    OR EXISTS (SELECT FROM person_blocks b WHERE b.blocked = p.recipient AND b.active OFFSET 0)
  """
}

private let isNewer =
  "(EXCLUDED.version_time, EXCLUDED.version_id) > (a.version_time, a.version_id)"
private let isEarlier =
  "(EXCLUDED.first_at < a.first_at OR a.first_at IS NULL AND EXCLUDED.first_at IS NOT NULL)"
