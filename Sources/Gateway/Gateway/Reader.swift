import Events
import Kafka
import Postgres

/// Reads screens from PostgreSQL, if asked to once they contain certain records.
struct Reader: Sendable {
  let pool: ConnectionPool
  let admin: Admin
  let topicPrefix: String
  /// How long to wait for a record to be applied.
  let waitLimit: Duration

  /// The body of a screen, from one snapshot that contains the results of the records at `positions`.
  ///
  /// - Returns: nil if there is nothing to show, such as a post that the viewer may not see.
  /// - Throws: ``Problem``.
  func body(
    _ screen: Screen, _ statement: Statement, after positions: [Position]
  ) async throws -> String? {
    var barrier = Barrier(positions, groups: screen.groups)
    let deadline = ContinuousClock.now + waitLimit
    if screen.showsAlarms, barrier.hasNotifications {
      // What notification-worker published for these records lies before the ends that the change
      // topic has once a snapshot contains its results: it publishes before it commits.
      _ = try await rows(nil, behind: barrier, until: deadline)
      barrier.bounds.formUnion(try await publishedChanges())
    }
    guard let rows = try await rows(statement, behind: barrier, until: deadline),
      let row = rows.first
    else { return nil }
    return try row.textOrNil(0)
  }

  /// The bodies of several screens, from one snapshot; nil for those with nothing to show.
  func bodies(_ statements: [Statement]) async throws -> [String?] {
    for _ in 0..<5 {
      let results = try await pool.read { try oneSnapshot(statements, on: $0) }
      if let results { return try results.map { try $0.first?.textOrNil(0) } }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw Problem(.databaseUnavailable, "Tables are being exchanged.")
  }

  /// The author of a post that the viewer may see.
  ///
  /// - Throws: ``Problem``.
  func author(of post: String, viewer: String, after positions: [Position]) async throws -> String {
    let barrier = Barrier(positions, groups: [.fanout, .notification])
    let rows = try await rows(
      Statement("SELECT author_id FROM post($1, $2)", [.text(viewer), .text(post)]),
      behind: barrier, until: .now + waitLimit)
    guard let row = rows?.first else {
      throw Problem(.notFound, "The viewer sees no such post.", field: "post")
    }
    return try row.text(0)
  }

  /// The authors of those posts that the viewer may see.
  func authors(
    of posts: [String], viewer: String
  ) async throws -> [(post: String, author: String)] {
    let statement = Statement(
      "SELECT p.post_id, p.author_id FROM unnest($2::text[]) watched, post($1, watched) p",
      [.text(viewer), .textArray(posts)])
    return try await pool.read { connection in
      try connection.query(statement).map { (try $0.text(0), try $0.text(1)) }
    }
  }

  /// How far these workers are: the offset after the last record that they have applied. Those that have not begun
  /// are missing.
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

  /// The statement's rows, from the first snapshot that contains what `barrier` names.
  private func rows(
    _ statement: Statement?, behind barrier: Barrier, until deadline: ContinuousClock.Instant
  ) async throws -> Rows? {
    var pause = Duration.milliseconds(5)
    while true {
      let attempt = try await pool.read { connection in
        try read(statement, behind: barrier, on: connection)
      }
      if attempt.isApplied { return attempt.rows }
      guard .now + pause < deadline else {
        throw Problem(
          .notAppliedYet, "The workers did not get there within \(waitLimit).",
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
    // Alone, as long as it has to be asked again.
    guard try connection.query(barrier).only.bool(0),
      let results = try oneSnapshot([barrier] + (statement.map { [$0] } ?? []), on: connection),
      try results[0].only.bool(0)
    else { return (false, nil) }
    return (true, statement == nil ? nil : results[1])
  }

  /// The statements' results, in one round trip: a pipeline is a transaction, and each transaction of the pool sees
  /// one snapshot.
  ///
  /// - Returns: nil if rebuilt tables were swapped in meanwhile.
  private func oneSnapshot(_ statements: [Statement], on connection: Connection) throws -> [Rows]? {
    let results = try connection.pipeline(statements + [Self.hasTablesOfSnapshot])
    guard try results[statements.count].only.bool(0) else { return nil }
    return Array(results.dropLast())
  }

  /// Returns one row: whether the names of tables still stand for those of the transaction's snapshot.
  ///
  /// Rebuilt tables may have been swapped in since it was taken, and it may lack their last rows: a swap waits for
  /// older snapshots of its own server, but not of a replica, and not if it does not catch up. Names are found as of
  /// now, rows of the catalog as of the snapshot. One table stands for each group that is swapped as a whole;
  /// consumer_offsets stays where it is.
  static let hasTablesOfSnapshot = Statement(
    """
    SELECT count(*) = 4 FROM pg_class c
    WHERE c.oid = ANY (ARRAY[
        to_regclass('posts'), to_regclass('notifications'), to_regclass('alarms'),
        to_regclass('reminders')]::oid[])
      AND c.relnamespace = (
        SELECT o.relnamespace FROM pg_class o WHERE o.oid = to_regclass('consumer_offsets'))
    """)

  /// What alarm-worker must have read to have rendered all that is published now.
  private func publishedChanges() async throws -> Set<Barrier.Bound> {
    let topic = Topic.notificationChanges
    let ends = try await onThread { [admin, name = topic.name(prefix: topicPrefix)] in
      try admin.watermarks(topics: [name], timeoutMilliseconds: 5_000)
    }
    return Set(
      ends.compactMap { partition, watermarks in
        // An empty partition has nothing to wait for.
        watermarks.high == watermarks.low
          ? nil
          : Barrier.Bound(
            group: .alarm, topic: topic, partition: partition.partition,
            offset: watermarks.high - 1)
      })
  }
}
