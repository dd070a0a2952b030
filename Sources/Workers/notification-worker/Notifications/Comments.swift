import Events
import Handling
import Postgres

/// `comment.*`: stores the fact for the post's comments and numbers; creates a notification for the
/// post's owner and one for each person mentioned. An owner who is also mentioned gets only the
/// first; nobody is notified of their own comments.
func commentsWork(_ events: [Event]) throws -> Work {
  var facts = Registers<Key>()
  var candidates = Candidates()
  for event in events {
    switch event.payload {
    case .commentCreated(let data):
      facts.add(event, key: Key(data.comment), creates: true)
      if !data.postOwner.hasSameBytes(as: data.actor) {
        candidates.add(
          recipient: data.postOwner, type: .comment, source: data.comment, at: event.time)
      }
      for mention in data.mentions
      where !mention.hasSameBytes(as: data.actor) && !mention.hasSameBytes(as: data.postOwner) {
        candidates.add(recipient: mention, type: .mention, source: data.comment, at: event.time)
      }
    case .commentRemoved(let data):
      facts.add(event, key: Key(data.comment), creates: false)
    default: continue
    }
  }
  try candidates.check(events)
  let rows = zip(facts.keys, facts.values).map { CommentRow($0.first.string, $1) }
  let comments = rows.map(\.comment)
  let people = candidates.recipients
  let stored: [Parameter] = [
    .textArray(comments), .textArray(comments.map { "comment:\($0)" }),
  ]
  return notificationWork(
    [
      lockPostCounts(distinct(rows.map(\.post))),
      upsertComments(rows),
      lockRecipients(
        people,
        existing: """
          SELECT a.recipient FROM notification_actors a
          WHERE a.type = 1 AND a.subject = ANY ($2::text[]) AND a.active
          UNION
          SELECT a.recipient FROM notification_actors a
          WHERE a.type = 4 AND a.subject = ANY ($3::text[]) AND a.active
          """, stored),
      deriveContributions(candidates, stored),
    ],
    recomputation: recomputeNotifications(recipients: people, touched: rememberedNotifications, []),
    events)
}

/// The state of a comment after its newest event.
private struct CommentRow {
  var comment: String
  var post: String
  var owner: String
  var actor: String
  var text = ""
  var mentions: [String] = []
  var active = false
  var register: Register

  init(_ comment: String, _ register: Register) {
    self.comment = comment
    self.register = register
    owner = register.newest.key
    switch register.newest.payload {
    case .commentCreated(let data):
      (post, actor, text, mentions, active) =
        (data.post, data.actor, data.text, data.mentions, true)
    case .commentRemoved(let data): (post, actor) = (data.post, data.actor)
    default: (post, actor) = ("", "")
    }
  }
}

/// Writes every comment of the batch, and locks those that stay unchanged as well, because the
/// contributions are derived from them.
private func upsertComments(_ rows: [CommentRow]) -> Statement {
  Statement(
    """
    INSERT INTO comments AS c
      (comment_id, post_id, post_owner, actor, text, mentions, active, first_at, version_time,
       version_id)
    SELECT e.comment_id, e.post_id, e.post_owner, e.actor, e.text, e.mentions::text[], e.active,
      e.first_at, e.version_time, e.version_id
    FROM unnest(
      $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[],
      $8::timestamptz[], $9::timestamptz[], $10::text[]
    ) AS e (comment_id, post_id, post_owner, actor, text, mentions, active, first_at,
      version_time, version_id)
    ORDER BY e.comment_id COLLATE "C"
    ON CONFLICT (comment_id) DO UPDATE SET
      post_id = CASE WHEN \(isNewer) THEN EXCLUDED.post_id ELSE c.post_id END,
      post_owner = CASE WHEN \(isNewer) THEN EXCLUDED.post_owner ELSE c.post_owner END,
      actor = CASE WHEN \(isNewer) THEN EXCLUDED.actor ELSE c.actor END,
      text = CASE WHEN \(isNewer) THEN EXCLUDED.text ELSE c.text END,
      mentions = CASE WHEN \(isNewer) THEN EXCLUDED.mentions ELSE c.mentions END,
      active = CASE WHEN \(isNewer) THEN EXCLUDED.active ELSE c.active END,
      first_at = least(c.first_at, EXCLUDED.first_at),
      version_time = CASE WHEN \(isNewer) THEN EXCLUDED.version_time ELSE c.version_time END,
      version_id = CASE WHEN \(isNewer) THEN EXCLUDED.version_id ELSE c.version_id END
    """,
    [
      .textArray(rows.map(\.comment)), .textArray(rows.map(\.post)),
      .textArray(rows.map(\.owner)), .textArray(rows.map(\.actor)),
      .textArray(rows.map(\.text)), .textArray(rows.map { arrayLiteral($0.mentions) }),
      .boolArray(rows.map(\.active)),
      .timestamptzArray(rows.map(\.register.firstAt?.microseconds)),
      .timestamptzArray(rows.map(\.register.newest.time.microseconds)),
      .textArray(rows.map(\.register.newest.id)),
    ])
}

private let isNewer =
  "(EXCLUDED.version_time, EXCLUDED.version_id) > (c.version_time, c.version_id)"

/// Updates the contributions of the batch's comments, new and active ones, to match the stored
/// comments. The comments and all recipients are locked. Withdrawn ones stay so unless an event of the
/// batch names them again: an edit does not cost everybody whom the comment ever mentioned.
private func deriveContributions(_ candidates: Candidates, _ stored: [Parameter]) -> Statement {
  Statement(
    """
    -- The contributions to write: the batch's and the active ones of these comments.
    WITH keys AS (
      SELECT k.recipient, k.type, k.comment_id, min(k.first_at) AS first_at,
        (array_agg(k.notification_id) FILTER (WHERE k.notification_id IS NOT NULL))[1]
          AS notification_id
      FROM (
        SELECT e.recipient COLLATE "C", e.type, e.comment_id COLLATE "C", e.first_at,
          e.notification_id
        FROM unnest($3::text[], $4::smallint[], $5::text[], $6::timestamptz[], $7::uuid[])
          AS e (recipient, type, comment_id, first_at, notification_id)
        UNION ALL
        SELECT a.recipient, a.type, a.subject, NULL, a.notification_id
        FROM notification_actors a WHERE a.type = 1 AND a.subject = ANY ($1::text[]) AND a.active
        UNION ALL
        SELECT a.recipient, a.type, substr(a.subject, length('comment:') + 1), NULL, a.notification_id
        FROM notification_actors a WHERE a.type = 4 AND a.subject = ANY ($2::text[]) AND a.active
      ) AS k (recipient, type, comment_id, first_at, notification_id)
      GROUP BY k.recipient, k.type, k.comment_id
    ),
    -- Their state according to the stored comment.
    wanted AS (
      SELECT k.*, CASE k.type WHEN 1 THEN '' ELSE 'comment:' END || k.comment_id AS subject,
        c.actor, c.post_id, c.text, c.version_time, c.version_id,
        c.active AND k.recipient <> c.actor AND CASE k.type
          WHEN 1 THEN k.recipient = c.post_owner
          ELSE k.recipient <> c.post_owner AND k.recipient = ANY (c.mentions)
        END AS active
      FROM keys k JOIN comments c ON c.comment_id = k.comment_id
    ),
    muters AS MATERIALIZED (\(muters("ARRAY(SELECT k.recipient FROM keys k)"))),
    written AS (
      INSERT INTO notification_actors AS a
        (recipient, type, subject, source, actor, active, muted, first_at, notification_id, post_id,
         comment_id, head_text, version_time, version_id)
      SELECT w.recipient, w.type, w.subject, w.subject, w.actor, w.active,
        w.active AND w.recipient IN (SELECT m.recipient FROM muters m)
          AND contribution_muted(w.recipient, w.type, w.subject, w.actor, w.first_at),
        w.first_at,
        w.notification_id, w.post_id, w.comment_id, left(w.text, \(Limits.headCharacters)),
        w.version_time, w.version_id
      FROM wanted w
      ORDER BY w.recipient, w.type, w.subject
      \(mergeContribution())
    )
    SELECT \(rememberNotifications) FROM wanted t
    """,
    stored
      + candidates.parameters { type, comment in
        type == .comment ? comment : "comment:\(comment)"
      })
}
