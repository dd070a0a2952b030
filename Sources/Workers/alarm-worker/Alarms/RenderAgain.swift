import AlarmText
import Events
import Foundation
import Handling
import Postgres

/// The backlog: takes a bounded number of alarms whose readers' locale or actors' nicknames
/// changed, or which `publish_alarms()` queued, and renders them with the current profiles.
///
/// Publishes each of them under a new version, even an unchanged one: an attempt that published and
/// then failed may have left another rendering in the log, and only a later version of the true
/// state overrides it.
///
/// An alarm of a kind that the registry no longer has keeps its text, and does not delay the others.
///
/// - Parameter limit: the maximum number of alarms in one transaction; if more people than this are
///   pending, one alarm each.
func renderAgainWork(
  engine: AlarmTextEngine, limit: Int32 = 500, isPublishing: Bool = true
) -> Work {
  var work = Work()
  let taken = work.add(
    Statement("SELECT * FROM take_alarms_to_publish($1)", [.int4(limit)]))
  // Rows that another lane has locked do not count as more work for this one.
  let remaining = work.add(
    Statement(
      """
      SELECT (
        SELECT count(*)
        FROM (SELECT FROM pending_renders ORDER BY turn LIMIT 1 FOR UPDATE SKIP LOCKED) AS more
      ) + (
        SELECT count(*) FROM (SELECT FROM pending_publications FOR UPDATE SKIP LOCKED) AS more
      ), now()
      """))
  work.finish = { results in
    let alarms: [Alarm] = try results[taken].compactMap { row in
      let content = try Snapshot(row).content
      if let content, engine.kind(content.code) == nil { return nil }
      return try Alarm(
        row,
        rendered: try content?.rendered(
          by: engine, locale: row.textOrNil("recipient_locale") ?? "",
          actor: row.textOrNil("actor_nickname"),
          secondActor: row.textOrNil("second_actor_nickname")))
    }
    let status = try results[remaining].only
    let now = EventTime(microseconds: try status.timestamptz(1))
    var outcome = Outcome(
      statements: alarms.isEmpty ? [] : [rewriteAlarms(alarms, isPublishing: isPublishing)],
      counts: [
        "alarms_rendered_again": alarms.count,
        "alarms_of_unknown_kinds": results[taken].count - alarms.count,
      ], hasMore: try status.int(0) > 0)
    if isPublishing, !alarms.isEmpty {
      outcome.eventsFromResults = { try alarmEvents(alarms, written: $0[0], now: now) }
    }
    return outcome
  }
  return work
}

/// Replaces the renderings of locked alarms. Returns the id and the new version of each.
private func rewriteAlarms(_ alarms: [Alarm], isPublishing: Bool) -> Statement {
  Statement(
    """
    UPDATE alarms a SET
      locale = e.locale, text = e.text, layout = e.layout::int[], \(emptyingFormerColumns),
      version = \(nextVersion(isPublishing: isPublishing))
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[])
      AS e (notification_id, locale, text, layout)
    WHERE a.notification_id = e.notification_id
    RETURNING a.notification_id, a.version
    """, [.uuidArray(alarms.map(\.snapshot.id))] + renderingParameters(alarms.map(\.rendered)))
}
