import Events
import Handling
import Kafka
import Postgres

/// Applies batches in PostgreSQL transactions, behind the fence.
///
/// Confined to one thread. Every function throws errors that `disposition(of:)` classifies, and may be
/// called again after an error: the connection is reopened.
final class BatchStore {
  private let handler: Handler
  private let fence: Fence
  private let connection: ReconnectingConnection
  private let deliver: ([Event], Connection) throws -> Void
  private var nextPlanning = ContinuousClock.now
  /// The number of events so far, and when plans were last discarded.
  private var (events, eventsPlanned) = (0, 0)
  /// The last dead letter of each claimed partition that was ahead of its offset then, after a reset or in a rebuild.
  private var lettersAhead: [TopicPartition: Int64] = [:]

  /// - Parameters:
  ///   - status: is set to asking while a query runs.
  ///   - open: opens a connection with the handler's privileges.
  ///   - deliver: publishes the handler's events; called inside the transaction, before COMMIT.
  init(
    handler: Handler, consumerGroup: String, status: LaneStatus? = nil,
    open: @escaping () throws -> Connection,
    deliver: @escaping ([Event], Connection) throws -> Void
  ) {
    self.handler = handler
    fence = Fence(consumerGroup: consumerGroup)
    connection = ReconnectingConnection(handler, status: status, open: open)
    self.deliver = deliver
  }

  /// Opens the connection, unless it is open.
  func connect() throws { try connection.use { _ in } }

  func close() { connection.close() }

  /// Claims the partitions, which fences their previous owner.
  func claim(_ starts: [TopicPartition: Int64]) throws -> [TopicPartition: Ownership] {
    try connection.use { connection in
      let claimed = try fence.claim(starts, on: connection)
      let ahead = try lastDeadLetters(
        after: claimed, consumerGroup: fence.consumerGroup, on: connection)
      for partition in claimed.keys { lettersAhead[partition] = ahead[partition] }
      return claimed
    }
  }

  /// The outcome of the last records before the offsets of these partitions, for `breaker`.
  func past(before owned: [TopicPartition: Ownership], for breaker: CircuitBreaker) throws
    -> DeadLetterPast
  {
    try connection.use {
      try DeadLetterPast.read(
        before: owned, for: breaker, consumerGroup: fence.consumerGroup, on: $0)
    }
  }

  /// The stored offsets and epochs, read under their row locks. Partitions that the group never
  /// consumed are absent.
  func stored(_ partitions: [TopicPartition]) throws -> [TopicPartition: Ownership] {
    try connection.use { try fence.stored(partitions, on: $0) }
  }

  /// The last applied record of each claimed partition, if it is known.
  func lastRecords(_ claimed: [TopicPartition: Ownership]) throws -> [TopicPartition: LastRecord] {
    try connection.use { try fence.lastRecords(claimed, on: $0) }
  }

  /// Whether the last applied record of any of the group's partitions is known.
  func hasLastRecords() throws -> Bool {
    try connection.use { try fence.hasLastRecords(on: $0) }
  }

  /// Applies a batch and advances its offsets in one transaction; returns the handler's counts. Records that were
  /// discarded as dead letters are not applied.
  ///
  /// - Parameter owned: the claimed partitions; nil applies the batch without a fence.
  /// - Throws: `CommitUnanswered` when COMMIT was sent and its response lost.
  func commit(_ batch: Batch, owned: [TopicPartition: Ownership]?) throws -> [String: Int] {
    try connection.use { connection in
      defer { events += batch.eventCount }
      let whole = batch
      let isReadAgain = owned == nil || hasLettersAhead(batch)
      let former =
        isReadAgain
        ? try FormerLetters(of: whole, consumerGroup: fence.consumerGroup, on: connection)
        : FormerLetters()
      var batch = whole
      batch.items.removeAll {
        !$0.isPoison && former.discarded.contains($0.record.offsetInTopic)
      }
      try handler.runAhead(batch.events, topic: batch.topic, on: connection)
      var statements = [Statement("BEGIN")] + freshPlans()
      // Either gives the transaction an id before it asks who is erased.
      statements.append(
        owned.map { fence.advance($0, past: whole) } ?? Statement("SELECT pg_current_xact_id()"))
      // The log that a replay reads need not be the one that the group's letters are from.
      if owned != nil, !former.ofOtherRecords.isEmpty {
        statements.append(
          setAsideStatement(
            former.ofOtherRecords, of: whole.items[0].record.topic,
            consumerGroup: fence.consumerGroup))
      }
      if batch.eventCount < batch.items.count {
        _ = try connection.pipeline(statements)
        statements = []
        batch = try forgettingErased(batch, worker: handler.name, on: connection)
      }
      statements += deadLetterStatements(batch, consumerGroup: fence.consumerGroup)
      // It may hold dead letters of its first attempt, some of them discarded just now.
      if isReadAgain {
        var same = batch
        same.items.removeAll { former.ofOtherRecords.contains($0.record.offsetInTopic) }
        statements.append(
          redrivenStatement(
            same, consumerGroup: fence.consumerGroup,
            resolvedBy: owned == nil ? "a replay" : "its worker, which read it again"))
      }
      let outcome = try handler.applyUnerased(
        batch.events, topic: batch.topic, after: statements, on: connection
      ).run(on: connection)
      if !outcome.events.isEmpty { try deliver(outcome.events, connection) }
      try connection.commit(counts: outcome.counts)
      outcome.afterCommit?()
      return outcome.counts
    }
  }

  private func hasLettersAhead(_ batch: Batch) -> Bool {
    !lettersAhead.isEmpty
      && batch.items.contains {
        $0.record.offset <= lettersAhead[$0.record.topicPartition] ?? -1
      }
  }

  /// Marks the records of the batch that are already dead letters.
  func markingKnownDeadLetters(_ batch: Batch) throws -> Batch {
    try connection.use {
      try Lanes.markingKnownDeadLetters(batch, consumerGroup: fence.consumerGroup, on: $0)
    }
  }

  /// Whether the stored offsets and epochs equal these.
  func isOwner(_ owned: [TopicPartition: Ownership]) throws -> Bool {
    try connection.use { try fence.holds(owned, on: $0) }
  }

  /// The number of the group's open dead letters by topic, with those that were set aside.
  func openDeadLetters() throws -> [String: Int] {
    try connection.use { connection in
      let rows = try connection.query(
        """
        SELECT \(recordTopic), count(*) FROM dead_letters
        WHERE consumer_group = $1 AND state = 'open' GROUP BY 1
        """, [.text(fence.consumerGroup)])
      return Dictionary(
        try rows.map { (try $0.text(0), try $0.int(1)) }, uniquingKeysWith: { first, _ in first })
    }
  }

  /// Runs one piece of the handler's backlog, or of what is due, in a transaction. The outcome's
  /// statements have run, and its events are published.
  func runBacklog(_ work: Work) throws -> Outcome {
    try connection.use { connection in
      for statement in freshPlans() { try connection.query(statement) }
      return try connection.transaction {
        // The fence's lock on the table, for which a swap of tables makes workers wait. A piece that waited
        // only at its fence would keep the swap from the tables that it has read.
        try connection.query("LOCK TABLE consumer_offsets IN ROW SHARE MODE")
        let outcome = try work.run(on: connection)
        if !outcome.events.isEmpty { try deliver(outcome.events, connection) }
        return outcome
      }
    }
  }

  /// The statement that fails if the lane is fenced, for transactions that apply no records.
  func fenceStatement(_ owned: [TopicPartition: Ownership]) -> Statement { fence.hold(owned) }

  /// The number that `statement` returns.
  func count(_ statement: Statement) throws -> Int {
    try connection.use { try $0.query(statement.sql, statement.parameters).only.int(0) }
  }

  /// Cheap: the server sums file sizes and takes no locks.
  func databaseSizeBytes() throws -> Int64 {
    try connection.use { connection in
      try connection.query("SELECT pg_database_size(current_database())").only.int8(0)
    }
  }

  /// Discards the session's cached plans once a second, and when there have been as many events since as before, at
  /// least 1,000.
  ///
  /// A plan made while a table was empty may scan the table, or a whole index, for each row of a batch: 0.6 s for the
  /// second 5,000 likes. Autovacuum would replace it, but only a minute later.
  private func freshPlans() -> [Statement] {
    guard .now >= nextPlanning || events - eventsPlanned >= max(eventsPlanned, 1_000) else {
      return []
    }
    nextPlanning = .now + .seconds(1)
    eventsPlanned = events
    return [Statement("DISCARD PLANS")]
  }
}

/// COMMIT was sent and its response lost: the transaction may have been committed.
struct CommitUnanswered: Error {
  var cause: PostgresError
  /// The handler's counts, in case it was committed.
  var counts: [String: Int]
}

extension Connection {
  /// Commits a transaction.
  ///
  /// - Parameter counts: the handler's, for the error.
  /// - Throws: `CommitUnanswered` if the connection is lost, or `PostgresError`.
  func commit(counts: [String: Int] = [:]) throws {
    do {
      // Also throws if the server responds with ROLLBACK because the transaction had failed.
      try query("COMMIT")
    } catch let error as PostgresError where error.isConnectionLost {
      // An error response, on the other hand, says that the transaction was not committed.
      throw CommitUnanswered(cause: error, counts: counts)
    }
  }
}

extension Handler {
  /// Its topics by name.
  func topics(prefix: String) -> [String: Topic] {
    Dictionary(uniqueKeysWithValues: topics.map { ($0.name(prefix: prefix), $0) })
  }
}

/// The topic of that name.
///
/// - Parameter reader: who reads the topics, for the error.
/// - Throws: `WorkerStopped` if there is none.
func topic(_ name: String, in topics: [String: Topic], of reader: String) throws -> Topic {
  guard let topic = topics[name] else {
    throw WorkerStopped(
      reason: "\(name) is not a topic of \(reader)",
      nextStep: "Its topics are \(topics.keys.sorted().joined(separator: ", ")).")
  }
  return topic
}
