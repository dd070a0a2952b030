import Events
import Kafka
import Postgres
import Reminders

/// Reads screens from PostgreSQL, optionally from a snapshot that contains the results of given
/// records.
struct Reader: Sendable {
  let pool: ConnectionPool
  let admin: Admin
  let topicPrefix: String
  /// The maximum time to wait for records to be applied.
  let waitLimit: Duration
  /// How long Kafka is asked for at least, in a gateway that does not wait.
  private static let momentMin = Duration.milliseconds(100)
  private let published = PublishedChanges()
  /// One task at a time notes a moment, so that moments are noted in their order.
  private let noting = Turns(1)

  /// Reads the body of a screen from one snapshot that contains the results of the records at
  /// `positions`.
  ///
  /// - Returns: nil if there is nothing to show, such as a post that the viewer may not see.
  /// - Throws: ``Problem``.
  func body(
    _ screen: Screen, _ statement: Statement, viewer: String, after positions: [Position]
  ) async throws -> String? {
    var barrier = Barrier(positions, groups: screen.groups)
    let deadline = ContinuousClock.now + waitLimit
    if screen.showsAlarms, barrier.hasNotifications {
      barrier.bounds.formUnion(try await changes(of: barrier, viewer: viewer, until: deadline))
    }
    guard let rows = try await rows(statement, viewer: viewer, behind: barrier, until: deadline),
      let row = rows.first
    else { return nil }
    return try row.textOrNil(0)
  }

  /// Reads the bodies of several screens from one snapshot; nil for those with nothing to show. Together they may take
  /// as long as one statement, because they keep a connection from others for that time.
  ///
  /// - Throws: a ``PostgresError`` with the index of the screen that failed, or for which no time was left; or
  ///   ``Problem``.
  func bodies(_ statements: [Statement], of viewer: String) async throws -> [String?] {
    for _ in 0..<5 {
      let results = try await pool.read(of: viewer) { connection in
        let limit = Self.timeLeft(of: connection.statementTimeoutMilliseconds)
        do {
          return try oneSnapshot(statements.flatMap { [limit, $0] }, on: connection)
        } catch var error as PostgresError {
          error.statementIndex = error.statementIndex.map { $0 / 2 }
          throw error
        }
      }
      if let results {
        return try statements.indices.map { try results[2 * $0 + 1].first?.textOrNil(0) }
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw Problem(.databaseUnavailable, "Tables are being exchanged.")
  }

  /// Limits the transaction's next statement to what is left of this time since the transaction began. No limit if it
  /// is 0.
  private static func timeLeft(of milliseconds: Int) -> Statement {
    Statement(
      """
      SELECT set_config(
        'statement_timeout',
        greatest($1 - ceil(extract(epoch FROM clock_timestamp() - now()) * 1000), 1)::bigint::text,
        true)
      WHERE $1 > 0
      """, [.int8(Int64(milliseconds))])
  }

  /// Reads the author of a post that the viewer may see, or on which they have left what `own`
  /// names.
  ///
  /// - Parameter comment: the id of the comment, if `own` is one.
  /// - Throws: ``Problem``.
  func author(
    of post: String, viewer: String, own: Action.Own?, comment: String?,
    after positions: [Position]
  ) async throws -> String {
    let barrier = Barrier(positions, groups: [.fanout, .notification])
    let seen = "SELECT author_id FROM post($1, $2)"
    let (sql, more): (String, [Parameter]) =
      switch own {
      case nil: (seen, [])
      case .post:
        // One that is deleted already, for a repeated request.
        (
          """
          \(seen) UNION ALL
          SELECT u.user_id FROM posts p JOIN users u ON u.user_key = p.author
          WHERE u.user_id = $1 AND p.post_id = $2
          """, []
        )
      case .like:
        ("\(seen) UNION ALL SELECT post_owner FROM likes WHERE actor = $1 AND post_id = $2", [])
      case .comment:
        (
          """
          \(seen) UNION ALL
          SELECT post_owner FROM comments WHERE actor = $1 AND post_id = $2 AND comment_id = $3
          """, [.text(comment)]
        )
      }
    let rows = try await rows(
      Statement(sql, [.text(viewer), .text(post)] + more), viewer: viewer, behind: barrier,
      until: .now + waitLimit)
    guard let author = try rows?.first?.text(0), !FormerPerson.has(id: author) else {
      throw Problem(.notFound, "The viewer sees no such post.", field: "post")
    }
    return author
  }

  /// Refuses a reminder beyond those that a person may have to come. If PostgreSQL cannot be read, the event is accepted:
  /// reminder-worker decides, and a reminder can be set while PostgreSQL is away.
  ///
  /// - Throws: ``Problem``.
  func checkQuota(of event: Event, viewer: String, after positions: [Position]) async throws {
    guard let statement = reminderQuotaReached(by: event, at: .now) else { return }
    func ask(_ barrier: Barrier) async throws -> Bool {
      try await rows(statement, viewer: viewer, behind: barrier, until: .now + waitLimit)?
        .first?.bool(0) ?? false
    }
    let isReached: Bool
    do {
      isReached = try await ask(Barrier(positions, groups: [.reminder]))
    } catch let problem as Problem where problem.code == .notAppliedYet {
      // Otherwise a position that is never reached would be a way around the limit.
      isReached = try await ask(Barrier([], groups: []))
    } catch let problem as Problem where problem.code == .overloaded {
      throw problem
    } catch {
      return
    }
    guard isReached else { return }
    throw Problem(
      .quotaReached, "The viewer has \(liveRemindersMax) reminders and cycles to come already.")
  }

  /// Reads the authors of those posts that the viewer may see.
  func authors(
    of posts: [String], viewer: String
  ) async throws -> [(post: String, author: String)] {
    let statement = Statement(
      "SELECT p.post_id, p.author_id FROM unnest($2::text[]) watched, post($1, watched) p",
      [.text(viewer), .textArray(posts)])
    return try await pool.read(of: viewer) { connection in
      try connection.query(statement).map { (try $0.text(0), try $0.text(1)) }
    }
  }

  /// The progress of these workers: the offset after the last record that each has applied. Workers
  /// that have not stored an offset yet are missing.
  func nextOffsets(
    _ sources: [UnappliedHints.Source]
  ) async throws -> [(UnappliedHints.Source, Int64)] {
    let statement = Statement(
      """
      SELECT c.next_offset, s.number
      FROM unnest($1::text[], $2::text[], $3::int[])
        WITH ORDINALITY AS s (consumer_group, topic, partition, number)
      JOIN consumer_offsets c
        ON c.consumer_group = s.consumer_group COLLATE "C" AND c.topic = s.topic COLLATE "C"
          AND c.partition = s.partition
      """,
      [
        .textArray(sources.map { $0.group.name(prefix: topicPrefix) }),
        .textArray(sources.map { $0.topic.name(prefix: topicPrefix) }),
        .int4Array(sources.map(\.partition)),
      ])
    return try await pool.read { connection in
      try connection.query(statement).map { row in
        (sources[Int(try row.int8(1)) - 1], try row.int8(0))
      }
    }
  }

  /// Runs the statement in the first snapshot that contains the results of all records in
  /// `barrier`.
  private func rows(
    _ statement: Statement?, viewer: String, behind barrier: Barrier,
    until deadline: ContinuousClock.Instant
  ) async throws -> Rows? {
    var pause = Duration.milliseconds(5)
    while true {
      let attempt = try await pool.read(of: viewer) { connection in
        try read(statement, behind: barrier, on: connection)
      }
      if attempt.isApplied { return attempt.rows }
      guard .now + pause < deadline else {
        throw Problem(
          .notAppliedYet, "The workers did not apply the position within \(waitLimit).",
          field: "Magpie-After")
      }
      try await Task.sleep(for: pause)
      pause = min(pause * 2, .milliseconds(80))
    }
  }

  private func read(
    _ statement: Statement?, behind barrier: Barrier, on connection: Connection
  ) throws -> (isApplied: Bool, rows: Rows?) {
    if barrier.isEmpty {
      return (true, try statement.map { try connection.query($0) })
    }
    let barrier = barrier.statement(topicPrefix: topicPrefix)
    // Until the barrier is reached, query it alone.
    guard try connection.query(barrier).only.bool(0),
      let results = try oneSnapshot([barrier] + (statement.map { [$0] } ?? []), on: connection),
      try results[0].only.bool(0)
    else { return (false, nil) }
    return (true, statement == nil ? nil : results[1])
  }

  /// Runs the statements in one round trip. A pipeline is one transaction, and each of the pool's
  /// transactions sees one snapshot.
  ///
  /// - Returns: nil if rebuilt tables were swapped in meanwhile.
  private func oneSnapshot(_ statements: [Statement], on connection: Connection) throws -> [Rows]? {
    let results = try connection.pipeline(statements + [Self.hasTablesOfSnapshot])
    guard try results[statements.count].only.bool(0) else { return nil }
    return Array(results.dropLast())
  }

  /// Returns one row with one boolean: whether the table names still resolve to the tables of the
  /// transaction's snapshot.
  ///
  /// Rebuilt tables may have been swapped in after the snapshot was taken, and the snapshot may
  /// lack their latest rows. A swap waits for older snapshots on its own server, but not for those
  /// on a replica, and not if it does not catch up. Names are resolved as of now, rows of the
  /// catalog are read as of the snapshot. One table represents each group that is swapped as a
  /// whole; consumer_offsets is never swapped.
  static let hasTablesOfSnapshot = Statement(
    """
    SELECT count(*) = 4 FROM pg_class c
    WHERE c.oid = ANY (ARRAY[
        to_regclass('posts'), to_regclass('notifications'), to_regclass('alarms'),
        to_regclass('reminders')]::oid[])
      AND c.relnamespace = (
        SELECT o.relnamespace FROM pg_class o WHERE o.oid = to_regclass('consumer_offsets'))
    """)

  /// The records that alarm-worker must have applied for the alarms of the barrier's records to be
  /// rendered.
  private func changes(
    of barrier: Barrier, viewer: String, until deadline: ContinuousClock.Instant
  ) async throws -> Set<Barrier.Bound> {
    if let ends = published.ends(for: barrier) { return ends }
    _ = try await rows(nil, viewer: viewer, behind: barrier, until: deadline)
    return try await noting.run(of: viewer) {
      // Another request may have noted a moment while this one waited.
      if let ends = published.ends(for: barrier) { return ends }
      // Others have waited for Kafka in vain meanwhile.
      guard .now < deadline + Self.momentMin else { throw Problem.kafkaIsSilent }
      return try await noteMoment(including: barrier, until: deadline)
    }
  }

  /// Notes again and again how far notification-worker is, until the task is cancelled. So a request
  /// with an old position waits for what was published soon after it, however much later it comes.
  func notePublishedChanges() async {
    while !Task.isCancelled {
      // If it fails, requests note a moment themselves, and their answers say what has failed.
      _ = try? await noting.run(of: "") {
        try await noteMoment(including: Barrier([], groups: []), until: .now + .seconds(2))
      }
      try? await Task.sleep(for: .seconds(GatewayLimits.heartbeatSeconds))
    }
  }

  /// notification-worker publishes before it commits. So once a snapshot contains its results,
  /// everything that it published for them lies before the end offsets that the change topic has
  /// afterwards.
  ///
  /// - Parameter barrier: must be applied.
  private func noteMoment(
    including barrier: Barrier, until deadline: ContinuousClock.Instant
  ) async throws -> Set<Barrier.Bound> {
    let topic = Topic.notificationChanges
    let names = (topicPrefix, topic.name(prefix: topicPrefix))
    let partitions = Statement(
      """
      SELECT topic, partition::bigint, next_offset FROM consumer_offsets WHERE consumer_group = $1
      """,
      [.text(ConsumerGroup.notification.name(prefix: topicPrefix))])
    let renderings = Statement(
      """
      SELECT topic, partition::bigint, next_offset FROM consumer_offsets
      WHERE consumer_group = $1 AND topic = $2
      """, [.text(ConsumerGroup.alarm.name(prefix: topicPrefix)), .text(names.1)])
    var (applied, rendered) = try await pool.read { connection in
      let results = try connection.pipeline([partitions, renderings])
      return (
        try offsets(results[0], .notification, names.0), try offsets(results[1], .alarm, names.0)
      )
    }
    // A snapshot of another replica may have been behind.
    for bound in barrier.bounds where bound.group == .notification {
      applied[bound.source] = max(applied[bound.source] ?? 0, bound.offset + 1)
    }
    let left = max(.now + Self.momentMin, deadline) - .now
    let ends = try await onThread { [admin] in
      try admin.watermarks(
        topics: [names.1], timeoutMilliseconds: Int(left / .milliseconds(1)))
    }
    let bounds = ends.compactMap { partition, watermarks in
      // In an empty partition there is nothing to wait for.
      watermarks.high == watermarks.low
        ? nil
        : Barrier.Bound(
          group: .alarm, topic: topic, partition: partition.partition,
          offset: watermarks.high - 1)
    }
    published.note(.init(applied: applied, ends: Set(bounds)), rendered: rendered)
    return Set(bounds)
  }
}

private func offsets(
  _ rows: Rows, _ group: ConsumerGroup, _ prefix: String
) throws -> [UnappliedHints.Source: Int64] {
  var offsets: [UnappliedHints.Source: Int64] = [:]
  for row in rows {
    guard let topic = Topic(name: try row.text(0), prefix: prefix) else { continue }
    let source = UnappliedHints.Source(
      group: group, topic: topic, partition: Int32(try row.int8(1)))
    offsets[source] = try row.int8(2)
  }
  return offsets
}
