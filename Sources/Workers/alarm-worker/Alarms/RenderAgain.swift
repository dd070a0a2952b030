import AlarmText
import Foundation
import Handling
import Postgres

/// The backlog: takes a bounded number of alarms whose readers' locale or actors' nicknames
/// changed, and renders them with the current profiles.
///
/// - Parameter limit: the maximum number of alarms in one transaction; if more people than this are
///   pending, one alarm each.
func renderAgainWork(engine: AlarmTextEngine, limit: Int32 = 500) -> Work {
  var work = Work()
  let taken = work.add(
    Statement("SELECT * FROM take_pending_renders($1)", [.int4(limit)]))
  // Rows that another lane has locked do not count as more work for this one.
  let remaining = work.add(
    Statement(
      """
      SELECT count(*)
      FROM (SELECT FROM pending_renders ORDER BY turn LIMIT 1 FOR UPDATE SKIP LOCKED) AS more
      """))
  work.finish = { results in
    var ids: [UUID] = []
    var rendered: [RenderedAlarm] = []
    for row in results[taken] {
      let content = AlarmContent(
        code: try AlarmCode(named: row.int("type")),
        actor: try row.textOrNil("actor"),
        secondActor: try row.textOrNil("second_actor"),
        actorCount: try row.int8("actor_count"),
        contributionCount: try row.int8("contribution_count"),
        headText: try row.text("head_text"),
        arguments: try row.textOrNil("arguments").map(jsonMembers) ?? [:])
      ids.append(try row.uuid("notification_id"))
      rendered.append(
        try content.rendered(
          by: engine, locale: row.text("recipient_locale"), actor: row.textOrNil("actor_nickname"),
          secondActor: row.textOrNil("second_actor_nickname")))
    }
    return Outcome(
      statements: ids.isEmpty ? [] : [rewriteAlarms(ids, rendered)],
      counts: ["alarms_rendered_again": ids.count],
      hasMore: try results[remaining].only.int(0) > 0)
  }
  return work
}

/// Replaces the renderings of locked alarms. Unchanged renderings are not written.
private func rewriteAlarms(_ ids: [UUID], _ rendered: [RenderedAlarm]) -> Statement {
  Statement(
    """
    UPDATE alarms a SET
      locale = e.locale, text = e.text, segments = e.segments, spans = e.spans,
      legacy_message = e.legacy_message, legacy_head_text = e.legacy_head_text,
      legacy_from_nick_name = e.legacy_from_nick_name
    FROM unnest(
      $1::uuid[], $2::text[], $3::text[], $4::jsonb[], $5::jsonb[], $6::text[], $7::text[],
      $8::text[]
    ) AS e (
      notification_id, locale, text, segments, spans, legacy_message, legacy_head_text,
      legacy_from_nick_name
    )
    WHERE a.notification_id = e.notification_id
      AND (a.locale, a.text, a.segments, a.legacy_message)
        IS DISTINCT FROM (e.locale, e.text, e.segments, e.legacy_message)
    """, [.uuidArray(ids)] + renderingParameters(rendered))
}
