import Events
import Postgres

// Two baselines for likes. Each transaction is sent in one round trip.

/// A worker's batch limit. The size matters because a notification is written once per transaction.
private let likesInTransaction = 5_000

/// Writes the same rows as notification-worker, into the same tables with the same indexes, with
/// hand-written SQL that may assume what the worker may not: that all events are new likes of one
/// day, none removed, in time order, that there are no mutes or deletions, and that nothing runs
/// concurrently. So it takes no locks, needs no triggers, reads nothing back, publishes nothing,
/// and adds the batch's counts. Notification ids are computed beforehand.
func secondsForEqualRows(_ events: [Event], _ stack: BenchStack) throws -> Double {
  try stack.connection.script("CREATE SCHEMA bound")
  for (table, _) in comparedTables {
    let options = try stack.connection.query(
      "SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = $1::text::regclass",
      [.text(table)]
    ).only.textOrNil(0)
    // LIKE does not copy triggers.
    try stack.connection.script(
      "CREATE TABLE bound.\(table) (LIKE \(table) INCLUDING ALL)"
        + (options.map { " WITH (\($0))" } ?? ""))
  }
  try stack.connection.script("SET search_path = bound, public")
  defer { try? stack.connection.script("RESET search_path") }
  let batches = likeBatches(events)
  try stack.settle()
  let started = ContinuousClock.now
  for batch in batches {
    _ = try stack.connection.pipeline(
      [Statement("BEGIN")] + equalRows.map { Statement($0, batch) } + [Statement("COMMIT")])
  }
  return seconds(since: started)
}

/// Writes only the likes: one of the worker's tables.
func secondsForLikesAlone(_ events: [Event], _ stack: BenchStack) throws -> Double {
  try stack.connection.script("CREATE TABLE bench_likes (LIKE likes INCLUDING INDEXES)")
  let batches = likeBatches(events)
  try stack.settle()
  let started = ContinuousClock.now
  for batch in batches {
    try stack.connection.query(
      equalRows[0].replacing("INTO likes", with: "INTO bench_likes"), batch)
  }
  return seconds(since: started)
}

/// The tables that likes are written to, with the columns that the likes determine.
private let comparedTables = [
  ("likes", "*"), ("post_counts", "*"), ("notification_recipients", "*"),
  ("notification_sizes", "*"), ("notification_actors", "*"),
  (
    "notifications",
    """
    notification_id, recipient, type, subject, bucket, actor, second_actor, actor_count,
    contribution_count, post_id, comment_id, head_text, raised_at, oldest_at
    """
  ),
]

/// Throws unless the baseline's rows equal the worker's, except for notification versions.
func compareWithBound(_ stack: BenchStack) throws {
  for (table, columns) in comparedTables {
    let differing = try stack.connection.query(
      """
      SELECT count(*) FROM (
        (SELECT \(columns) FROM public.\(table) EXCEPT SELECT \(columns) FROM bound.\(table))
        UNION ALL
        (SELECT \(columns) FROM bound.\(table) EXCEPT SELECT \(columns) FROM public.\(table))
      ) d
      """
    ).only.int(0)
    guard differing == 0 else {
      throw BenchError(
        description: "the baseline wrote different rows than the worker: \(differing) of \(table)")
    }
  }
}

/// Posts, actors, owners, times, ids, notifications.
private func likeBatches(_ events: [Event]) -> [[Parameter]] {
  let ids = events.map { event in
    guard case .likeCreated(let like) = event.payload else { return "" }
    return NotificationID.uuid(
      recipient: like.postOwner, kind: AlarmType.like.code, subject: like.post, day: event.time.day)
  }
  return stride(from: 0, to: events.count, by: likesInTransaction).map { first in
    let range = first..<min(first + likesInTransaction, events.count)
    let likes = events[range].compactMap { event in
      if case .likeCreated(let like) = event.payload { like } else { nil }
    }
    return [
      .textArray(likes.map(\.post)), .textArray(likes.map(\.actor)),
      .textArray(likes.map(\.postOwner)),
      .timestamptzArray(events[range].map(\.time.microseconds)),
      .textArray(events[range].map(\.id)), .textArray(Array(ids[range])),
    ]
  }
}

private let batch = """
  unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[])
    AS i (post, actor, owner, time, id, notification)
  """

/// Each statement gets all parameters and references all of them.
private let equalRows = [
  """
  INSERT INTO likes AS l (
    post_id, actor, post_owner, active, first_at, version_time, version_id)
  SELECT post, actor, owner, true, time, time, id FROM \(batch)
  ORDER BY post COLLATE "C", actor COLLATE "C"
  ON CONFLICT (post_id, actor) DO UPDATE
    SET version_time = excluded.version_time, version_id = excluded.version_id
    WHERE (l.version_time, l.version_id) < (excluded.version_time, excluded.version_id)
  """,
  """
  INSERT INTO post_counts AS c (post_id, likes)
  SELECT post, count(*) FROM \(batch) GROUP BY post ORDER BY post COLLATE "C"
  ON CONFLICT (post_id) DO UPDATE SET likes = c.likes + excluded.likes
  """,
  """
  INSERT INTO notification_recipients (user_id)
  SELECT DISTINCT owner COLLATE "C" FROM \(batch) ORDER BY 1
  ON CONFLICT DO NOTHING
  """,
  """
  INSERT INTO notification_actors AS a (
    recipient, type, subject, source, actor, active, muted, first_at, notification_id, post_id,
    head_text, version_time, version_id)
  SELECT owner, 0, post, actor, actor, true, false, time, notification::uuid, post, '', time, id
  FROM \(batch)
  ORDER BY owner COLLATE "C", post COLLATE "C", actor COLLATE "C"
  ON CONFLICT (recipient, type, subject, source) DO UPDATE
    SET version_time = excluded.version_time, version_id = excluded.version_id
    WHERE (a.version_time, a.version_id) < (excluded.version_time, excluded.version_id)
  """,
  """
  INSERT INTO notification_sizes AS s (notification_id, contributions)
  SELECT notification::uuid, count(*) FROM \(batch) GROUP BY 1 ORDER BY 1
  ON CONFLICT (notification_id) DO UPDATE SET contributions = s.contributions + excluded.contributions
  """,
  """
  INSERT INTO notifications AS n (
    notification_id, recipient, type, subject, bucket, actor, second_actor, actor_count,
    contribution_count, post_id, head_text, raised_at, oldest_at, generation, counter)
  SELECT notification::uuid, owner, 0, post, (min(time) AT TIME ZONE 'UTC')::date,
    (array_agg(actor ORDER BY time DESC))[1], (array_agg(actor ORDER BY time DESC))[2], count(*),
    count(*), post, '', max(time), min(time), 1, nextval('notification_counter')
  FROM \(batch) GROUP BY notification, owner, post ORDER BY 1
  ON CONFLICT (notification_id) DO UPDATE SET
    actor = excluded.actor, second_actor = coalesce(excluded.second_actor, n.actor),
    actor_count = n.actor_count + excluded.actor_count,
    contribution_count = n.contribution_count + excluded.contribution_count,
    raised_at = excluded.raised_at, counter = excluded.counter
  """,
]
