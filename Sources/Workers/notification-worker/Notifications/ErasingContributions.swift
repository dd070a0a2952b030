import Events
import Handling
import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The maximum number of contributions that a piece deletes. A comment with its mentions is never split.
private let erasedMax = 500

/// Where the contributions and facts of an erased person are found.
enum ErasedContributions {
  /// To the person's own notifications.
  case received
  /// By the person to others' notifications.
  case made
  /// The person's posts, with their mentions.
  case posts
  /// Alarms of which the person is the source, but not the actor, and facts that notify nobody.
  case other

  /// SQL that selects `recipient, type, subject, source` of the next ones, with the erasure in `$1` and `$2`, at
  /// most `$3`, after the position `$4` to `$6`. A fact has the type, subject and source of its contributions, and
  /// no recipient.
  var sql: String {
    switch self {
    case .received:
      """
      SELECT a.recipient, a.type, a.subject, a.source FROM notification_actors a
      WHERE a.recipient = $1 AND (a.type, a.subject, a.source) > ($4, $5, $6) AND \(isErased)
      ORDER BY a.type, a.subject, a.source LIMIT $3
      """
    case .made:
      // Deleted entries stay in the index for a while: the position skips those of the recipients before.
      """
      SELECT a.recipient, a.type, a.subject, a.source FROM notification_actors a
      WHERE a.actor = $1 AND a.recipient >= $5 AND \(isErased)
      ORDER BY a.recipient, a.notification_id LIMIT $3
      """
    case .posts:
      """
      (
        SELECT NULL, 4, 'post:' || p.post_id, 'post:' || p.post_id FROM post_facts p
        WHERE p.author = $1 AND p.first_at IS NOT NULL AND (p.version_time <= $2 OR p.first_at <= $2) LIMIT $3
      )
      UNION ALL
      (
        SELECT NULL, 4, 'post:' || p.post_id, 'post:' || p.post_id FROM post_facts p
        WHERE p.author = $1 AND p.first_at IS NULL AND p.version_time <= $2 LIMIT $3
      )
      LIMIT $3
      """
    case .other:
      // ANY, because PostgreSQL would take `actor = $1 AND actor = post_owner` for `post_owner = $1`, and not find the
      // index of those that are equal.
      """
      (
        SELECT a.recipient, a.type, a.subject, a.source FROM notification_actors a
        WHERE a.source = $1 AND a.grouped IS NOT NULL AND a.type <> 13 AND a.actor IS DISTINCT FROM a.source
          AND \(isErased)
        LIMIT $3
      )
      UNION ALL
      (
        SELECT NULL, 0, l.post_id, l.actor FROM likes l
        WHERE l.actor = ANY (ARRAY[$1]) AND l.actor = l.post_owner AND (l.version_time <= $2 OR l.first_at <= $2) LIMIT $3
      )
      UNION ALL
      (
        SELECT NULL, 1, c.comment_id, c.comment_id FROM comments c
        WHERE c.actor = $1 AND (c.version_time <= $2 OR c.first_at <= $2) LIMIT $3
      )
      UNION ALL
      (
        SELECT NULL, 1, c.comment_id, c.comment_id FROM comments c
        WHERE c.post_owner = $1 AND NOT c.active AND (c.version_time <= $2 OR c.first_at <= $2) LIMIT $3
      )
      UNION ALL
      (
        SELECT NULL, 3, f.sender, f.message_id FROM message_facts f
        WHERE f.sender = ANY (ARRAY[$1]) AND f.sender = f.receiver AND f.version_time <= $2 LIMIT $3
      )
      LIMIT $3
      """
    }
  }
}

/// Whether the contribution `a`, which names the person, has to be deleted or to begin later. A subscriber's alarm
/// depends on the timeline, too, from which the stage before has deleted, and a reminder's alarm on when it was set.
private let isErased = """
  (a.version_time <= $2 OR a.first_at <= $2 OR a.caused_at <= $2
    OR a.type = 13 AND NOT is_subscribed(a.actor, a.recipient, a.first_at))
  """

/// Deletes a piece of the contributions, with the facts from which they follow, and recomputes their notifications.
/// All that a comment or post has caused is deleted with it.
///
/// A newer event stays. What it replaced is unknown then, so the fact begins with it: `first_at` is its time, and
/// the notification is that of its day.
///
/// Locks facts, then recipients, as a batch of events does.
func eraseContributions(_ found: ErasedContributions, _ person: ErasureSweep.Person) throws -> Work
{
  var work = Work([planByKey(keepsPlans: true)])
  let piece = work.add(findPiece(found, person))
  work.add(
    Statement(
      """
      SELECT set_config('magpie.erased_posts', coalesce(array_agg(p.post_id)::text, '{}'), true)
      FROM (
        SELECT unnest(current_setting('magpie.erased_liked')::text[]) COLLATE "C"
        UNION
        SELECT c.post_id FROM comments c
        WHERE c.comment_id = ANY (\(erasedComments)) AND $1 IN (c.actor, c.post_owner)
      ) AS p (post_id)
      """, [.text(person.id)]))
  work.add(lockPostCounts(selected: "current_setting('magpie.erased_posts')::text[]"))
  for (table, key, ids) in [
    ("comments", "comment_id", erasedComments),
    ("post_facts", "post_id", texts),
    ("message_facts", "message_id", "current_setting('magpie.erased_messages')::text[]"),
  ] {
    work.add(
      Statement(
        "SELECT FROM \(table) f WHERE f.\(key) = ANY (\(ids)) ORDER BY f.\(key) FOR UPDATE"))
  }
  // The trigger of post_facts takes this lock.
  work.add(Statement("SELECT lock_subscriptions(ARRAY[$1], false)", [.text(person.id)]))
  let collection = work.add(collectContributions(person))
  let beside = work.lock(erasedRecipients, inSweepOf: person)
  let later = work.add(
    Statement(
      """
      SELECT a.recipient, a.type, a.subject, a.source, a.grouped, a.version_time
      FROM (\(collected)) k CROSS JOIN LATERAL (\(stored)) a
      WHERE a.active AND a.first_at <= $2 AND a.version_time > $2
      """, person.parameters))
  work.finish = { results in
    let row = try results[piece].only
    guard try row.int(0) > 0 else { return Outcome() }
    if try results[beside].only.bool(0) { return Outcome(hasMore: true) }
    // The facts and the position have to wait until few withdrawn mentions are left.
    if try results[collection].only.bool(0) {
      return Outcome(
        hasMore: true, further: deletion(of: [], person, position: person.position, later: []))
    }
    let position = try [row.text(2), row.text(3), row.text(4)].joined(separator: separator)
    return Outcome(
      hasMore: try row.bool(1),
      further: deletion(
        of: facts(of: person), person, position: position,
        later: try results[later].map(Later.init)))
  }
  return work
}

private let erasedComments = "current_setting('magpie.erased_comments')::text[]"
private let texts = "current_setting('magpie.erased_texts')::text[]"
private let erasedRecipients = "current_setting('magpie.erased_recipients')::text[]"
/// Ids contain no control characters.
private let separator = "\u{1}"

/// The keys that `collectContributions` saved.
private let collected = """
  SELECT k.recipient COLLATE "C" AS recipient, k.type, k.subject COLLATE "C" AS subject,
    k.source COLLATE "C" AS source
  FROM unnest(
    \(erasedRecipients), current_setting('magpie.erased_types')::smallint[],
    current_setting('magpie.erased_subjects')::text[], current_setting('magpie.erased_sources')::text[]
  ) AS k (recipient, type, subject, source)
  """

/// The contribution with the key `k`.
private let stored = """
  SELECT a.ctid AS place, a.* FROM notification_actors a
  WHERE a.recipient = k.recipient AND a.type = k.type AND a.subject = k.subject AND a.source = k.source
  LIMIT 1
  """

/// Finds the piece, and saves its facts: liked posts, comments, posts, messages. Returns the number of contributions
/// and facts, whether there may be more, and the position of the last.
private func findPiece(_ found: ErasedContributions, _ person: ErasureSweep.Person) -> Statement {
  let position = person.position.split(separator: separator, omittingEmptySubsequences: false)
    .map(String.init)
  let (type, subject, source) =
    position.count == 3 ? (Int16(position[0]) ?? -1, position[1], position[2]) : (-1, "", "")
  return Statement(
    """
    WITH found AS MATERIALIZED (
      SELECT row_number() OVER () AS place, f.recipient, f.type::smallint, f.subject, f.source,
        CASE WHEN f.type = 1 THEN f.subject
          WHEN f.type = 4 AND starts_with(f.subject, 'comment:') THEN substr(f.subject, 9) END AS comment_id,
        CASE WHEN f.type = 4 AND starts_with(f.subject, 'post:') THEN substr(f.subject, 6) END AS post_id
      FROM (\(found.sql)) AS f (recipient, type, subject, source)
    ),
    -- The number of contributions up to each: a comment or post of the person goes with all its mentions.
    weighed AS MATERIALIZED (
      SELECT f.*, sum(1 + coalesce(t.mentions, 0)) OVER (ORDER BY f.place) AS load
      FROM found f
      LEFT JOIN LATERAL (
        SELECT cardinality(c.mentions) AS mentions FROM comments c
        WHERE c.comment_id = f.comment_id AND $1 IN (c.actor, c.post_owner)
        UNION ALL
        SELECT cardinality(p.mentions) FROM post_facts p WHERE p.post_id = f.post_id AND p.author = $1
      ) t ON true
    ),
    piece AS MATERIALIZED (SELECT w.* FROM weighed w WHERE w.load <= $3 OR w.place = 1)
    SELECT count(*), (SELECT count(*) FROM found) = $3 OR count(*) < (SELECT count(*) FROM found),
      \(found.positionColumns),
      set_config('magpie.erased_liked',
        coalesce(array_agg(DISTINCT p.subject) FILTER (WHERE p.type = 0)::text, '{}'), true),
      set_config('magpie.erased_like_posts',
        coalesce(array_agg(p.subject ORDER BY p.place) FILTER (WHERE p.type = 0)::text, '{}'), true),
      set_config('magpie.erased_like_actors',
        coalesce(array_agg(p.source ORDER BY p.place) FILTER (WHERE p.type = 0)::text, '{}'), true),
      set_config('magpie.erased_comments',
        coalesce(array_agg(DISTINCT p.comment_id) FILTER (WHERE p.comment_id IS NOT NULL)::text, '{}'), true),
      set_config('magpie.erased_texts',
        coalesce(array_agg(DISTINCT p.post_id) FILTER (WHERE p.post_id IS NOT NULL)::text, '{}'), true),
      set_config('magpie.erased_messages',
        coalesce(array_agg(DISTINCT p.source) FILTER (WHERE p.type = 3)::text, '{}'), true),
      set_config('magpie.erased_recipients',
        coalesce(array_agg(p.recipient ORDER BY p.place) FILTER (WHERE p.recipient IS NOT NULL)::text, '{}'), true),
      set_config('magpie.erased_types',
        coalesce(array_agg(p.type ORDER BY p.place) FILTER (WHERE p.recipient IS NOT NULL)::text, '{}'), true),
      set_config('magpie.erased_subjects',
        coalesce(array_agg(p.subject ORDER BY p.place) FILTER (WHERE p.recipient IS NOT NULL)::text, '{}'), true),
      set_config('magpie.erased_sources',
        coalesce(array_agg(p.source ORDER BY p.place) FILTER (WHERE p.recipient IS NOT NULL)::text, '{}'), true)
    FROM piece p
    """,
    person.parameters + [.int8(Int64(erasedMax)), .int2(type), .text(subject), .text(source)])
}

extension ErasedContributions {
  /// The position of the piece's last row as three texts, from `piece p`.
  fileprivate var positionColumns: String {
    func last(_ column: String) -> String {
      "coalesce((array_agg(\(column) ORDER BY p.place DESC))[1], '')"
    }
    return switch self {
    case .received:
      [last("p.type::text"), last("p.subject"), last("p.source")].joined(separator: ", ")
    case .made: "'-1', \(last("p.recipient")), ''"
    case .posts, .other: "'-1', '', ''"
    }
  }
}

/// Adds to the saved keys all contributions of the person's own comments and posts, which are locked, unless more
/// withdrawn mentions have to be deleted than one piece may: then saves only as many of these, and returns true. Edits
/// leave any number of them.
private func collectContributions(_ person: ErasureSweep.Person) -> Statement {
  Statement(
    """
    WITH own_comments AS MATERIALIZED (
      SELECT c.comment_id FROM comments c
      WHERE c.comment_id = ANY (\(erasedComments)) AND $1 IN (c.actor, c.post_owner)
    ),
    own_posts AS MATERIALIZED (
      SELECT p.post_id FROM post_facts p WHERE p.post_id = ANY (\(texts)) AND p.author = $1
    ),
    own_texts AS MATERIALIZED (
      SELECT 'comment:' || c.comment_id AS subject FROM own_comments c
      UNION ALL
      SELECT 'post:' || p.post_id FROM own_posts p
    ),
    withdrawn AS MATERIALIZED (
      SELECT a.recipient, a.type, a.subject, a.source FROM notification_actors a
      WHERE a.type = 4 AND a.subject = ANY (ARRAY(SELECT o.subject FROM own_texts o)) AND NOT a.active
        AND \(isErased)
      LIMIT $3
    ),
    keys AS MATERIALIZED (
      SELECT w.* FROM withdrawn w
      UNION
      SELECT k.* FROM (
        \(collected)
        UNION ALL
        SELECT a.recipient, a.type, a.subject, a.source FROM notification_actors a
        WHERE a.type = 1 AND a.subject = ANY (ARRAY(SELECT c.comment_id FROM own_comments c))
        UNION ALL
        SELECT a.recipient, a.type, a.subject, a.source FROM notification_actors a
        WHERE a.type = 4 AND a.subject = ANY (ARRAY(SELECT o.subject FROM own_texts o)) AND a.active
      ) k
      WHERE (SELECT count(*) FROM withdrawn) < $3
    )
    SELECT (SELECT count(*) FROM withdrawn) = $3,
      set_config('magpie.erased_recipients', coalesce(array_agg(k.recipient)::text, '{}'), true),
      set_config('magpie.erased_types', coalesce(array_agg(k.type)::text, '{}'), true),
      set_config('magpie.erased_subjects', coalesce(array_agg(k.subject)::text, '{}'), true),
      set_config('magpie.erased_sources', coalesce(array_agg(k.source)::text, '{}'), true)
    FROM keys k
    """, person.parameters + [.int8(Int64(erasedMax))])
}

/// A contribution whose newest event is later than the erasure, and whose first is not.
private struct Later {
  var recipient: String
  var kind: Int16
  var subject: String
  var source: String
  /// Its notification from now on.
  var notification: UUID

  init(_ row: Row) throws {
    let type = try row.int(1)
    (recipient, kind, subject) = (try row.text(0), Int16(type), try row.text(2))
    source = try row.text(3)
    let grouped = try row.boolOrNil(4)
    let isGrouped = grouped ?? [0, 2, 3].contains(type)
    notification = notificationID(
      recipient: recipient, kind: type, subject: subject,
      bucket: isGrouped ? EventTime(microseconds: try row.timestamptz(5)).day : "",
      source: grouped == false ? source : nil)
  }
}

/// The second half of a piece: everything is locked.
private func deletion(
  of facts: [Statement], _ person: ErasureSweep.Person, position: String, later: [Later]
) -> Work {
  var work = Work(facts)
  let touched = work.add(deleteContributions(person, later))
  let recomputed = work.add(
    recomputeNotifications(
      recipients: [], and: erasedRecipients, touched: rememberedNotifications, []))
  for statement in [
    Statement(
      """
      DELETE FROM notification_sizes s
      WHERE s.notification_id = ANY (current_setting('magpie.touched_ids')::uuid[]) AND s.contributions = 0
      """),
    Statement(
      """
      DELETE FROM post_counts c
      WHERE c.post_id = ANY (current_setting('magpie.erased_posts')::text[]) AND (c.likes, c.comments) = (0, 0)
      """),
    person.moved(to: position),
    Statement(
      sweepAgain(
        "SELECT r FROM unnest(\(erasedRecipients)) AS r WHERE r <> $1", worker: "notification",
        from: recipientStage),
      [.text(person.id)]),
  ] { work.add(statement) }
  work.finish = { results in
    var outcome = try snapshots(
      results[recomputed], causes: Causes([], otherwise: person.changesAt))
    // Consumers forget what the person was notified of until then by themselves. An event would tell them about the
    // person again.
    let later = Set(try results[touched].only.text(0).split(separator: ",").map(String.init))
    outcome.events.removeAll { event in
      guard event.key.hasSameBytes(as: person.id) else { return false }
      return switch event.payload {
      case .notificationChanged(let data):
        data.raisedAt <= person.erasedAt.microseconds && !later.contains(data.notification)
      case .notificationRetracted(let data): !later.contains(data.notification)
      default: false
      }
    }
    return outcome
  }
  return work
}

/// Statements that delete facts of the person, and mentions of the person from others' comments and posts.
private func facts(of person: ErasureSweep.Person) -> [Statement] {
  let likes = """
    FROM unnest(
      current_setting('magpie.erased_like_posts')::text[], current_setting('magpie.erased_like_actors')::text[]
    ) AS k (post_id, actor)
    CROSS JOIN LATERAL (
      SELECT l.ctid, l.* FROM likes l WHERE l.post_id = k.post_id AND l.actor = k.actor LIMIT 1
    ) l
    WHERE $1 IN (l.actor, l.post_owner)
    """
  let comment = "c.comment_id = ANY (\(erasedComments)) AND $1 IN (c.actor, c.post_owner)"
  let post = "p.post_id = ANY (\(texts)) AND p.author = $1"
  return [
    planByKey(keepsPlans: true),
    Statement(
      "DELETE FROM likes d WHERE d.ctid = ANY (ARRAY(SELECT l.ctid \(likes) AND l.version_time <= $2))",
      person.parameters),
    Statement(
      """
      UPDATE likes d SET first_at = CASE WHEN d.active THEN d.version_time END
      WHERE d.ctid = ANY (ARRAY(SELECT l.ctid \(likes) AND l.version_time > $2 AND l.first_at <= $2))
      """, person.parameters),
    Statement(
      "DELETE FROM comments c WHERE \(comment) AND c.version_time <= $2", person.parameters),
    Statement(
      """
      UPDATE comments c SET first_at = CASE WHEN c.active THEN c.version_time END
      WHERE \(comment) AND c.first_at <= $2
      """, person.parameters),
    Statement(
      """
      UPDATE comments c SET mentions = array_remove(c.mentions, $1)
      WHERE c.comment_id = ANY (\(erasedComments)) AND c.version_time <= $2 AND $1 = ANY (c.mentions)
      """, person.parameters),
    Statement("DELETE FROM post_facts p WHERE \(post) AND p.version_time <= $2", person.parameters),
    Statement(
      """
      UPDATE post_facts p SET first_at = CASE WHEN NOT p.deleted THEN p.version_time END
      WHERE \(post) AND p.first_at <= $2
      """, person.parameters),
    Statement(
      """
      UPDATE post_facts p SET mentions = array_remove(p.mentions, $1)
      WHERE p.post_id = ANY (\(texts)) AND p.version_time <= $2 AND $1 = ANY (p.mentions)
      """, person.parameters),
    Statement(
      """
      DELETE FROM message_facts f
      WHERE f.message_id = ANY (current_setting('magpie.erased_messages')::text[])
        AND f.version_time <= $2 AND $1 IN (f.receiver, f.sender)
      """, person.parameters),
  ]
}

/// Deletes the saved contributions, and lets those that a later event keeps begin with it. Saves the notifications to
/// recompute, and returns the ids of the person's own ones that consumers do not forget by themselves: those that
/// something after the erasure has raised.
private func deleteContributions(_ person: ErasureSweep.Person, _ later: [Later]) -> Statement {
  Statement(
    """
    WITH later AS MATERIALIZED (
      SELECT * FROM unnest($3::text[], $4::smallint[], $5::text[], $6::text[], $7::uuid[])
        AS l (recipient, type, subject, source, notification_id)
    ),
    piece AS MATERIALIZED (
      SELECT a.*, l.notification_id AS later_id,
        a.version_time <= $2 OR coalesce(a.caused_at <= $2, false) OR a.type = 13 OR a.type IN (1, 4) AND NOT a.active AS is_gone
      FROM (\(collected)) k
      CROSS JOIN LATERAL (\(stored)) a
      LEFT JOIN later l ON l.recipient = a.recipient AND l.type = a.type AND l.subject = a.subject
        AND l.source = a.source
      WHERE \(isErased)
    ),
    gone AS (
      DELETE FROM notification_actors a
      WHERE a.ctid = ANY (ARRAY(SELECT p.place FROM piece p WHERE p.is_gone))
    ),
    kept AS (
      UPDATE notification_actors a SET
        first_at = CASE WHEN p.active THEN p.version_time END, notification_id = p.later_id,
        muted = p.active
          AND contribution_muted(p.recipient, p.type, p.subject, p.actor, p.version_time)
      FROM piece p
      WHERE a.ctid = p.place AND NOT p.is_gone
    )
    SELECT
      coalesce(string_agg(t.notification_id::text, ',') FILTER (WHERE t.recipient = $1 AND EXISTS (
        SELECT FROM notifications n
        WHERE n.notification_id = t.notification_id AND n.raised_at > $2)), ''),
      \(rememberNotifications)
    FROM (
      SELECT p.notification_id, p.recipient, p.type, p.subject FROM piece p
      WHERE p.notification_id IS NOT NULL
      UNION
      SELECT l.notification_id, l.recipient COLLATE "C", l.type, l.subject COLLATE "C" FROM later l
    ) t
    """,
    person.parameters + [
      .textArray(later.map(\.recipient)), .int2Array(later.map(\.kind)),
      .textArray(later.map(\.subject)), .textArray(later.map(\.source)),
      .uuidArray(later.map(\.notification)),
    ])
}
