import Events
import Handling
import Postgres

/// The select list of statements after which notifications are recomputed: saves those of the rows
/// `t (notification_id, recipient, type, subject)` until the end of the transaction.
let rememberNotifications = """
  set_config('magpie.touched_ids', coalesce(array_agg(t.notification_id)::text, '{}'), true),
  set_config('magpie.touched_recipients', coalesce(array_agg(t.recipient)::text, '{}'), true),
  set_config('magpie.touched_types', coalesce(array_agg(t.type)::text, '{}'), true),
  set_config('magpie.touched_subjects', coalesce(array_agg(t.subject)::text, '{}'), true)
  """

/// SQL that selects what `rememberNotifications` saved, as `recomputeNotifications` expects it.
let rememberedNotifications = """
  SELECT t.notification_id, t.recipient COLLATE "C", t.type, t.subject COLLATE "C"
  FROM unnest(
    current_setting('magpie.touched_ids')::uuid[],
    current_setting('magpie.touched_recipients')::text[],
    current_setting('magpie.touched_types')::smallint[],
    current_setting('magpie.touched_subjects')::text[]
  ) AS t (notification_id, recipient, type, subject)
  """

/// Recomputes notifications from their contributions and returns their new state.
///
/// Every touched notification gets a new counter and is published, even if it is unchanged: an
/// attempt that published and then failed to commit may have left a snapshot in the log, and only a
/// later version of the true state overrides it. The next attempt may contain more records, so the
/// set of touched notifications must not depend on how a batch's events combine: an event touches
/// at least what it would have touched alone.
///
/// Rows are changed with ON CONFLICT or arrays of keys, never with a join: the planner chooses the
/// join order, and while a table is new it may scan all of it for each row of the batch.
///
/// - Parameters:
///   - recipients: recipients that the transaction has locked; `$1` in `touched`.
///   - others: SQL of type `text[]`: further recipients that it has locked.
///   - touched: SQL that selects `notification_id, recipient, type, subject` of the notifications
///     to recompute, with the parameters from `$2` on.
func recomputeNotifications(
  recipients: [String], and others: String? = nil, touched: String, _ parameters: [Parameter]
) -> Statement {
  let people = "$1::text[]" + (others.map { " || \($0)" } ?? "")
  return Statement(
    """
    -- Contributions that left their notification: it is recomputed too.
    WITH moved AS MATERIALIZED (
      SELECT a.ctid, a.recipient, a.type, a.subject, a.also_touched
      FROM notification_actors a
      WHERE a.recipient = ANY (\(people)) AND a.also_touched IS NOT NULL
    ),
    cleared AS (
      UPDATE notification_actors a SET also_touched = NULL
      WHERE a.ctid = ANY (ARRAY(SELECT m.ctid FROM moved m))
    ),
    touched AS MATERIALIZED (
      SELECT DISTINCT t.notification_id, t.recipient, t.type, t.subject
      FROM (
        \(touched)
        UNION ALL
        SELECT m.also_touched, m.recipient, m.type, m.subject FROM moved m
      ) AS t (notification_id, recipient, type, subject)
      WHERE t.notification_id IS NOT NULL
    ),
    -- The new state of each touched notification; raised_at is NULL if nothing is left to show.
    state AS MATERIALIZED (
      SELECT t.*, newest.*, coalesce(second.actor, people.second_actor) AS second_actor,
        people.actors, oldest.first_at AS oldest_at,
        CASE WHEN newest.is_grouped THEN crowd.contributions ELSE 1 END AS contribution_count,
        (SELECT max(g.generation) FROM notification_generations g) AS generation,
        nextval('notification_counter') AS counter
      FROM touched t
      JOIN notification_recipients r ON r.user_id = t.recipient
      LEFT JOIN notification_marks m
        ON m.recipient = t.recipient AND m.notification_id = t.notification_id
      LEFT JOIN LATERAL (
        SELECT a.actor, a.post_id, a.comment_id, a.head_text, a.first_at AS raised_at,
          a.image_url, a.arguments, CASE WHEN a.grouped IS NOT NULL THEN a.source END AS source,
          is_grouped(a.grouped, a.type) AS is_grouped
        FROM notification_actors a WHERE \(isShown)
        ORDER BY a.first_at DESC, a.source DESC LIMIT 1
      ) newest ON true
      LEFT JOIN LATERAL (
        SELECT a.first_at FROM notification_actors a WHERE \(isShown)
        ORDER BY a.first_at, a.source LIMIT 1
      ) oldest ON true
      LEFT JOIN notification_sizes size ON size.notification_id = t.notification_id
      CROSS JOIN LATERAL (
        SELECT newest.is_grouped AND greatest(r.deleted_all_at, m.deleted_at) > '-infinity' AND EXISTS (
          SELECT FROM notification_actors a
          WHERE a.notification_id = t.notification_id AND a.active AND NOT a.muted
            AND a.first_at <= greatest(r.deleted_all_at, m.deleted_at)
        ) AS is_cut
      ) cut
      -- Each of the following reads rows only when it is needed: its condition stands inside, where
      -- it is tested once before any row is read.
      CROSS JOIN LATERAL (
        SELECT count(*) AS contributions,
          count(*) FILTER (WHERE a.actor IS DISTINCT FROM a.source) AS others
        FROM notification_actors a WHERE cut.is_cut AND \(isShown)
      ) counted
      CROSS JOIN LATERAL (
        SELECT CASE WHEN cut.is_cut THEN counted.contributions ELSE size.contributions END
            AS contributions,
          -- NULL where people are not counted.
          CASE WHEN newest.is_grouped AND t.type <> 3
            THEN CASE WHEN cut.is_cut THEN counted.others ELSE size.others END END AS others
      ) crowd
      -- If every source is its actor, the second contribution is the second person.
      LEFT JOIN LATERAL (
        SELECT a.actor FROM notification_actors a WHERE crowd.others = 0 AND \(isShown)
        ORDER BY a.first_at DESC, a.source DESC LIMIT 1 OFFSET 1
      ) second ON true
      LEFT JOIN LATERAL (
        SELECT count(DISTINCT a.actor) AS actors,
          (array_agg(a.actor ORDER BY a.first_at DESC, a.source DESC)
            FILTER (WHERE a.actor <> newest.actor))[1] AS second_actor
        FROM (
          SELECT a.actor, a.first_at, a.source FROM notification_actors a
          WHERE crowd.others > 0 AND \(isShown)
          ORDER BY a.first_at DESC, a.source DESC LIMIT \(countedMax)
        ) a
      ) people ON crowd.others > 0
    ),
    kept AS (
      INSERT INTO notifications
        (notification_id, recipient, type, subject, bucket, actor, second_actor, actor_count,
         contribution_count, post_id, comment_id, head_text, raised_at, oldest_at, generation,
         counter, source, image_url, arguments)
      SELECT s.notification_id, s.recipient, s.type, s.subject,
        CASE WHEN s.is_grouped THEN (s.raised_at AT TIME ZONE 'UTC')::date END,
        s.actor, s.second_actor, \(actorCount), s.contribution_count, s.post_id, s.comment_id,
        s.head_text, s.raised_at, s.oldest_at, s.generation, s.counter, s.source, s.image_url,
        s.arguments
      FROM state s WHERE s.raised_at IS NOT NULL
      ORDER BY s.notification_id
      ON CONFLICT (notification_id) DO UPDATE SET
        actor = EXCLUDED.actor, second_actor = EXCLUDED.second_actor,
        actor_count = EXCLUDED.actor_count, contribution_count = EXCLUDED.contribution_count,
        post_id = EXCLUDED.post_id, comment_id = EXCLUDED.comment_id,
        head_text = EXCLUDED.head_text, raised_at = EXCLUDED.raised_at,
        oldest_at = EXCLUDED.oldest_at, generation = EXCLUDED.generation,
        counter = EXCLUDED.counter, source = EXCLUDED.source, image_url = EXCLUDED.image_url,
        arguments = EXCLUDED.arguments
    ),
    gone AS (
      DELETE FROM notifications n WHERE n.notification_id = ANY (
        ARRAY(SELECT s.notification_id FROM state s WHERE s.raised_at IS NULL))
    )
    SELECT s.notification_id::text, s.recipient, s.generation, s.counter, s.actor, s.type,
      s.subject, s.second_actor, \(actorCount), s.contribution_count, s.post_id, s.comment_id,
      s.head_text, s.raised_at, s.source, s.image_url, s.arguments::text
    FROM state s ORDER BY s.counter
    """, [.textArray(recipients)] + parameters)
}

/// Whether the contribution `a` is visible in the notification `t`, given the deletion marks.
private let isShown = """
  a.notification_id = t.notification_id AND a.active AND NOT a.muted
    AND a.first_at > greatest(r.deleted_all_at, m.deleted_at)
  """

/// The newest contributions of a notification among which people are counted, if not every
/// contribution is another person. Also in migration 0015.
private let countedMax = 1_000

/// Of likes and follows every contribution is another person. A day's messages have one sender.
private let actorCount = """
  CASE WHEN s.actor IS NULL THEN 0 WHEN NOT s.is_grouped OR s.type = 3 THEN 1
    ELSE coalesce(s.actors, s.contribution_count) END
  """

/// The snapshots to publish, from the rows of `recomputeNotifications`.
///
/// The time of a change is that of the event that causes it, not the notification's `raised_at`: an
/// unlike today changes a notification raised last week.
func snapshots(_ rows: Rows, causes: Causes) throws -> Outcome {
  var events: [Event] = []
  events.reserveCapacity(rows.count)
  var retracted = 0
  for row in rows {
    let (id, recipient) = (try row.text(0), try row.text(1))
    let (generation, counter) = (try row.int8(2), try row.int8(3))
    let type = try row.int(5)
    let subject = try row.text(6)
    let cause = causes.cause(
      notification: id, recipient: recipient, type: type, subject: subject)
    guard let raisedAt = try row.timestamptzOrNil(13) else {
      retracted += 1
      events.append(
        retraction(
          notification: id, recipient: recipient, generation: generation, counter: counter,
          cause: cause))
      continue
    }
    let snapshot = try NotificationChanged.with {
      $0.notification = id
      $0.recipient = recipient
      $0.type = Int32(type)
      $0.subject = subject
      $0.actor = try row.textOrNil(4) ?? ""
      $0.secondActor = try row.textOrNil(7) ?? ""
      $0.actorCount = try row.int8(8)
      $0.contributionCount = try row.int8(9)
      $0.post = try row.textOrNil(10) ?? ""
      $0.comment = try row.textOrNil(11) ?? ""
      $0.headText = try row.text(12)
      $0.raisedAt = raisedAt
      $0.source = try row.textOrNil(14) ?? ""
      $0.imageURL = try row.textOrNil(15) ?? ""
      $0.arguments = try row.textOrNil(16).map(jsonMembers) ?? [:]
      $0.generation = generation
      $0.counter = counter
    }
    events.append(change(id, generation, counter, cause, .notificationChanged(snapshot)))
  }
  return Outcome(
    events: events,
    counts: ["notifications_changed": rows.count - retracted, "notifications_retracted": retracted])
}

/// An event that retracts a notification.
func retraction(
  notification: String, recipient: String, generation: Int64, counter: Int64, cause: Cause
) -> Event {
  change(
    notification, generation, counter, cause,
    .notificationRetracted(
      .with {
        $0.notification = notification
        $0.recipient = recipient
        $0.generation = generation
        $0.counter = counter
      }))
}

private func change(
  _ notification: String, _ generation: Int64, _ counter: Int64, _ cause: Cause,
  _ payload: Payload
) -> Event {
  Event(
    id: "\(notification):\(generation):\(counter)", source: "magpie/notification-worker",
    time: cause.time, payload: payload, trace: cause.trace)
}

/// The maximum number of notifications that several events touch in one transaction. A post or comment touches as many
/// as it mentions people.
private let touchedMax = 20_000

/// Throws `BatchTooLarge` if several events touch more notifications than they may.
func checkTouched(_ count: Int, events: Int) throws {
  if count > touchedMax, events > 1 { throw BatchTooLarge(halving: events) }
}

/// Runs the statements, then recomputes the notifications and publishes them.
///
/// - Parameters:
///   - recomputation: a `recomputeNotifications`; nil if no notification can have changed.
///   - events: what caused the changes.
///
/// The work throws `BatchTooLarge` if it touches more notifications than several events may.
func notificationWork(
  _ statements: [Statement], recomputation: Statement?, _ events: [Event]
) -> Work {
  var work = Work([planByKey(keepsPlans: true)] + statements)
  guard let recomputation else { return work }
  let recomputed = work.add(recomputation)
  work.finish = { results in
    let rows = results[recomputed]
    try checkTouched(rows.count, events: events.count)
    return try snapshots(rows, causes: Causes(events))
  }
  return work
}
