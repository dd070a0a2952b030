import Events
import Handling
import Kafka
import Postgres

/// The connection on which one thread applies batches, and where the events they make go.
///
/// Confined to one thread. Every function throws what `disposition(of:)` classifies and may be
/// called again after a throw: it reconnects by itself.
final class BatchStore {
  private let handler: Handler
  private let fence: Fence
  private let codeVersion: String
  private let open: () throws -> Connection
  private let deliver: ([Event], Connection) throws -> Void
  private let status: LaneStatus?
  private var connection: Connection?
  private var nextPlanning = ContinuousClock.now

  /// - Parameters:
  ///   - open: makes a connection that can do the work, or throws why there is none.
  ///   - deliver: what becomes of the events that the handler makes; called inside the open
  ///     transaction, before COMMIT.
  ///   - status: is told while the database is asked something.
  init(
    handler: Handler, consumerGroup: String, codeVersion: String, status: LaneStatus? = nil,
    open: @escaping () throws -> Connection,
    deliver: @escaping ([Event], Connection) throws -> Void
  ) {
    self.handler = handler
    fence = Fence(consumerGroup: consumerGroup)
    self.codeVersion = codeVersion
    self.open = open
    self.deliver = deliver
    self.status = status
  }

  /// Opens the connection and checks that it can do the work.
  func connect() throws { try using { _ in } }

  func close() {
    connection?.close()
    connection = nil
  }

  /// Takes the partitions over from their previous owner.
  func claim(_ starts: [TopicPartition: Int64]) throws -> [TopicPartition: Ownership] {
    try using { try fence.claim(starts, on: $0) }
  }

  /// Where `breaker` counts on in these partitions.
  func past(before owned: [TopicPartition: Ownership], for breaker: CircuitBreaker) throws
    -> DeadLetterPast
  {
    try using {
      try DeadLetterPast.read(
        before: owned, for: breaker, consumerGroup: fence.consumerGroup, on: $0)
    }
  }

  /// The stored state of partitions of this group; those never consumed are absent.
  func stored(_ partitions: [TopicPartition]) throws -> [TopicPartition: Ownership] {
    try using { try fence.stored(partitions, on: $0) }
  }

  /// The last record applied in each partition that was claimed, where it is known.
  func lastRecords(_ claimed: [TopicPartition: Ownership]) throws -> [TopicPartition: LastRecord] {
    try using { try fence.lastRecords(claimed, on: $0) }
  }

  /// Applies a batch and moves its offsets in one transaction; returns the handler's counts.
  ///
  /// - Parameter owned: the partitions whose offsets move; nil applies the batch without a fence.
  /// - Throws: `CommitUnanswered` when COMMIT was sent and its answer lost.
  func commit(_ batch: Batch, owned: [TopicPartition: Ownership]?) throws -> [String: Int] {
    try using { connection in
      var statements = [Statement("BEGIN")] + freshPlans()
      if let owned { statements.append(fence.advance(owned, past: batch)) }
      statements += deadLetterStatements(
        batch, consumerGroup: fence.consumerGroup, codeVersion: codeVersion)
      // Records that are applied once more may be dead letters of the first time.
      if owned == nil {
        statements.append(
          redrivenStatement(
            batch, consumerGroup: fence.consumerGroup, codeVersion: codeVersion, doer: "a replay"))
      }
      let events = batch.events
      let work = events.isEmpty ? Work([]) : try handler.apply(batch.topic, events)
      let outcome = try work.run(after: statements, on: connection)
      if !outcome.events.isEmpty { try deliver(outcome.events, connection) }
      try commitTransaction(on: connection, counts: outcome.counts)
      return outcome.counts
    }
  }

  /// The batch with those of its records marked that are dead letters already.
  func markingKnownDeadLetters(_ batch: Batch) throws -> Batch {
    try using {
      try Lanes.markingKnownDeadLetters(batch, consumerGroup: fence.consumerGroup, on: $0)
    }
  }

  /// Whether the stored offsets and epochs are the ones known here.
  func isOwner(_ owned: [TopicPartition: Ownership]) throws -> Bool {
    try using { try fence.holds(owned, on: $0) }
  }

  /// The group's dead letters that are open, by topic.
  func openDeadLetters() throws -> [String: Int] {
    try using { connection in
      let rows = try connection.query(
        """
        SELECT topic, count(*) FROM dead_letters
        WHERE consumer_group = $1 AND state = 'open' GROUP BY topic
        """, [.text(fence.consumerGroup)])
      return Dictionary(
        try rows.map { (try $0.text(0), try $0.int(1)) }, uniquingKeysWith: { first, _ in first })
    }
  }

  /// Runs one piece of the handler's backlog; returns whether there is more.
  func runBacklog(_ work: Work) throws -> (counts: [String: Int], hasMore: Bool) {
    try using { connection in
      try connection.transaction {
        let outcome = try work.run(on: connection)
        if !outcome.events.isEmpty { try deliver(outcome.events, connection) }
        return (outcome.counts, outcome.hasMore)
      }
    }
  }

  /// Cheap: the server adds up the sizes of files, and locks nothing.
  func databaseSizeBytes() throws -> Int64 {
    try using { connection in
      try connection.query("SELECT pg_database_size(current_database())").only.int8(0)
    }
  }

  /// Once a second the plans that the session keeps are made anew.
  ///
  /// A plan made while a table was empty may read all of it for each row of a batch. Autovacuum
  /// would have it replaced, but only a minute later.
  private func freshPlans() -> [Statement] {
    guard .now >= nextPlanning else { return [] }
    nextPlanning = .now + .seconds(1)
    return [Statement("DISCARD PLANS")]
  }

  private func commitTransaction(on connection: Connection, counts: [String: Int]) throws {
    do {
      // Throws also when the server answers with ROLLBACK, because the transaction had failed.
      try connection.query("COMMIT")
    } catch let error as PostgresError where error.isConnectionLost {
      // Whereas a server that refuses lives to say so: it did not commit.
      throw CommitUnanswered(cause: error, counts: counts)
    }
  }

  /// Lends the connection; after an error it is rolled back, or forgotten when it is lost.
  private func using<T>(_ body: (Connection) throws -> T) throws -> T {
    guard let status else { return try lend(body) }
    return try status.asking { try lend(body) }
  }

  private func lend<T>(_ body: (Connection) throws -> T) throws -> T {
    let connection = try connected()
    do {
      return try body(connection)
    } catch {
      if connection.status == .closed || (try? connection.query("ROLLBACK")) == nil {
        connection.close()
        self.connection = nil
      }
      throw error
    }
  }

  private func connected() throws -> Connection {
    if let connection, connection.status != .closed { return connection }
    let connection = try open()
    self.connection = connection
    status?.cancellation = connection.cancellation
    return connection
  }
}

/// COMMIT was sent and its answer lost: it may have happened.
struct CommitUnanswered: Error {
  var cause: PostgresError
  /// The handler's counts, in case it has happened.
  var counts: [String: Int]
}
