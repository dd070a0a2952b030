import AlarmText
import Handling
import Postgres

/// Writes alarms that are newer than the stored ones. A retraction keeps only its version. Returns
/// the id and the new version of each row that it writes.
func writeAlarms(_ alarms: [Alarm], isPublishing: Bool) throws -> Statement {
  let version = nextVersion(isPublishing: isPublishing)
  let snapshots = alarms.map(\.snapshot)
  let contents = snapshots.map(\.content)
  return Statement(
    """
    INSERT INTO alarms AS a (
      notification_id, recipient, generation, counter, retracted, type, actor, second_actor,
      actor_count, contribution_count, post_id, comment_id, head_text, raised_at, deep_link,
      badge_icon, highlight_style, image_url, arguments, locale, text, layout, version
    )
    SELECT e.notification_id, e.recipient, e.generation, e.counter, e.type IS NULL, e.type, e.actor,
      e.second_actor, e.actor_count, e.contribution_count, e.post_id, e.comment_id, e.head_text,
      e.raised_at, e.deep_link, e.badge_icon, e.highlight_style, e.image_url, e.arguments, e.locale,
      e.text, e.layout::int[], \(version)
    FROM unnest(
      $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
      $8::smallint[], $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::text[],
      $14::text[], $15::text[], $16::timestamptz[], $17::text[], $18::text[], $19::text[],
      $20::text[], $21::jsonb[]
    ) AS e (
      notification_id, locale, text, layout, recipient, generation, counter, type, actor,
      second_actor, actor_count, contribution_count, post_id, comment_id, head_text, raised_at,
      deep_link, badge_icon, highlight_style, image_url, arguments
    )
    ORDER BY e.notification_id
    ON CONFLICT (notification_id) DO UPDATE SET
      recipient = EXCLUDED.recipient, generation = EXCLUDED.generation,
      counter = EXCLUDED.counter, retracted = EXCLUDED.retracted, type = EXCLUDED.type,
      actor = EXCLUDED.actor, second_actor = EXCLUDED.second_actor,
      actor_count = EXCLUDED.actor_count, contribution_count = EXCLUDED.contribution_count,
      post_id = EXCLUDED.post_id, comment_id = EXCLUDED.comment_id,
      head_text = EXCLUDED.head_text, raised_at = EXCLUDED.raised_at,
      deep_link = EXCLUDED.deep_link, badge_icon = EXCLUDED.badge_icon,
      highlight_style = EXCLUDED.highlight_style, image_url = EXCLUDED.image_url,
      arguments = EXCLUDED.arguments, locale = EXCLUDED.locale,
      text = EXCLUDED.text, layout = EXCLUDED.layout, \(emptyingFormerColumns),
      last_raised_at = CASE WHEN EXCLUDED.retracted THEN coalesce(a.raised_at, a.last_raised_at) END,
      -- Not EXCLUDED.version, which was drawn before the row was locked.
      version = \(version)
    WHERE (a.generation, a.counter) < (EXCLUDED.generation, EXCLUDED.counter)
    RETURNING a.notification_id, a.version
    """,
    [.uuidArray(snapshots.map(\.id))] + renderingParameters(alarms.map(\.rendered)) + [
      .textArray(snapshots.map(\.recipient)),
      .int8Array(snapshots.map(\.generation)),
      .int8Array(snapshots.map(\.counter)),
      .int2Array(contents.map { $0.map { Int16($0.code.number) } }),
      .textArray(contents.map { $0?.actor }),
      .textArray(contents.map { $0?.secondActor }),
      .int8Array(contents.map { $0?.actorCount }),
      .int8Array(contents.map { $0?.contributionCount }),
      .textArray(snapshots.map(\.post)),
      .textArray(snapshots.map(\.comment)),
      .textArray(contents.map { $0?.headText }),
      .timestamptzArray(snapshots.map(\.raisedAt)),
      .textArray(alarms.map(\.deepLink)),
      .textArray(alarms.map(\.badgeIcon)),
      .textArray(alarms.map(\.highlightStyle)),
      .textArray(snapshots.map(\.imageURL)),
      .jsonbArray(
        try contents.map { content in
          guard let content, !content.arguments.isEmpty else { return nil }
          return try jsonObject(content.arguments)
        }),
    ])
}

/// The SQL expression for the version of an alarm that is being written. Evaluated while the row is
/// locked, so that a later content has a greater version.
func nextVersion(isPublishing: Bool) -> String {
  isPublishing ? "nextval('alarm_versions')" : "0"
}

/// Removes what a worker of an older version wrote, which readers would prefer to the layout.
let emptyingFormerColumns =
  "segments = NULL, spans = NULL, legacy_message = NULL, legacy_head_text = NULL, legacy_from_nick_name = NULL"

/// The columns that depend on profiles: locale, text, layout.
func renderingParameters(_ rendered: [RenderedAlarm?]) -> [Parameter] {
  [
    .textArray(rendered.map { $0?.locale }),
    .textArray(rendered.map { $0?.text }),
    .textArray(rendered.map { $0.map(layout) }),
  ]
}

/// Where the parts of an alarm's text are: the column `layout`, which migration 37 describes, as an
/// array literal.
func layout(_ alarm: RenderedAlarm) -> String {
  var parts = ""
  var spans = alarm.spans[...]
  var start = 0
  for segment in alarm.segments {
    let length = segment.text.unicodeScalars.count
    let part: Int? =
      switch segment.kind {
      case .text: nil
      case .actor: segment.isOther ? 1 : 0
      case .count: 2
      case .head: 3
      case .argument: 4
      }
    if let part, let span = spans.popFirst() {
      parts += ",\(part),\(start),\(length),\(span.start),\(span.length)"
    }
    start += length
  }
  let headStart = start - alarm.legacy.headText.unicodeScalars.count
  let sentenceEnd =
    alarm.legacy.fromNickName.isEmpty
    ? headStart : alarm.legacy.message.unicodeScalars.count - "<>".count
  return "{\(sentenceEnd),\(headStart)\(parts)}"
}
