import Events
import Kafka
import Postgres
import Schema

/// A lane's PostgreSQL connection and, where its handler makes events, its Kafka producer.
///
/// Confined to the lane's thread. Every function throws what `disposition(of:)` classifies and may
/// be called again after a throw: it reconnects by itself.
final class LaneStore {
  /// A COMMIT whose reply has not arrived: it may have happened.
  private struct Uncertain {
    var counts: [String: Int]
  }

  private let settings: LaneSettings
  private let fence: Fence
  private var connection: Connection?
  private var producer: Producer?
  private var uncertain: Uncertain?
  private var nextPlanning = ContinuousClock.now

  init(settings: LaneSettings) {
    self.settings = settings
    fence = Fence(consumerGroup: settings.consumerGroup)
  }

  /// Opens the connection and checks that it can do the work.
  func connect() throws { _ = try connected() }

  /// Closes both; the producer has nothing in flight between batches.
  func close() {
    connection?.close()
    connection = nil
    producer?.close()
    producer = nil
  }

  /// Takes the partitions over from their previous owner.
  func claim(_ starts: [TopicPartition: Int64]) throws -> [TopicPartition: Ownership] {
    try using { try fence.claim(starts, on: $0) }
  }

  /// The stored state of partitions of this group; those never consumed are absent.
  func stored(_ partitions: [TopicPartition]) throws -> [TopicPartition: Ownership] {
    try using { try fence.stored(partitions, on: $0) }
  }

  /// Applies a batch and moves its offsets in one transaction; returns the handler's counts.
  ///
  /// After a throw call it again with the same batch: if the last attempt's COMMIT was sent and its
  /// reply lost, the stored offsets say whether it happened.
  func commit(
    _ batch: Batch, owned: [TopicPartition: Ownership], metrics: Metrics
  ) throws -> [String: Int] {
    let nextOffsets = batch.nextOffsets
    if let counts = try resolveUncertain(nextOffsets, owned: owned, metrics: metrics) {
      return counts
    }
    return try using { connection in
      var statements = [Statement("BEGIN")] + freshPlans()
      statements.append(fence.advance(owned, to: nextOffsets))
      statements += deadLetterStatements(
        batch, consumerGroup: settings.consumerGroup, codeVersion: settings.codeVersion)
      let events = batch.events
      let work = events.isEmpty ? Work([]) : try settings.handler.apply(batch.topic, events)
      let outcome = try work.run(after: statements, on: connection)
      if !outcome.events.isEmpty { try produce(outcome.events) }
      try commitTransaction(on: connection, counts: outcome.counts)
      return outcome.counts
    }
  }

  /// Runs one piece of the handler's backlog; returns whether there is more.
  func runBacklog(_ work: Work) throws -> (counts: [String: Int], hasMore: Bool) {
    try using { connection in
      try connection.transaction {
        let outcome = try work.run(on: connection)
        if !outcome.events.isEmpty { try produce(outcome.events) }
        return (outcome.counts, outcome.hasMore)
      }
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
    uncertain = Uncertain(counts: counts)
    do {
      // Throws also when the server answers with ROLLBACK, because the transaction had failed.
      try connection.query("COMMIT")
      uncertain = nil
    } catch let error as PostgresError where !error.isConnectionLost {
      // The server refused, and lives to say so: it did not commit.
      uncertain = nil
      throw error
    }
  }

  private func resolveUncertain(
    _ nextOffsets: [TopicPartition: Int64], owned: [TopicPartition: Ownership], metrics: Metrics
  ) throws -> [String: Int]? {
    guard let uncertain else { return nil }
    let stored = try stored(Array(nextOffsets.keys))
    self.uncertain = nil
    let isCommitted = nextOffsets.allSatisfy { partition, next in
      stored[partition]?.nextOffset == next && stored[partition]?.epoch == owned[partition]?.epoch
    }
    if isCommitted {
      metrics.increment(.ambiguousCommits, ["committed"])
      return uncertain.counts
    }
    guard nextOffsets.keys.allSatisfy({ stored[$0] == owned[$0] }) else {
      metrics.increment(.ambiguousCommits, ["fenced"])
      throw Fenced()
    }
    metrics.increment(.ambiguousCommits, ["not-committed"])
    return nil
  }

  /// Lends the connection; after an error it is rolled back, or forgotten when it is lost.
  private func using<T>(_ body: (Connection) throws -> T) throws -> T {
    let connection = try connected()
    do {
      return try body(connection)
    } catch {
      // What is uncertain stays so, also when asking about it fails.
      if connection.status == .closed || (try? connection.query("ROLLBACK")) == nil {
        connection.close()
        self.connection = nil
      }
      throw error
    }
  }

  private func connected() throws -> Connection {
    if let connection, connection.status != .closed { return connection }
    let connection = try Connection(
      settings.databaseURL, applicationName: settings.consumerGroup)
    do {
      try Migrations.check(connection)
      try connection.script(
        """
        SET ROLE \(settings.handler.databaseRole);
        SET lock_timeout = '30s';
        -- A stopped process must not keep its rows locked: its successor waits for them.
        SET idle_in_transaction_session_timeout = '30s';
        """)
    } catch {
      connection.close()
      throw error
    }
    self.connection = connection
    return connection
  }

  private func produce(_ events: [Event]) throws {
    let records = try events.map { event in
      let wire = try EventCodec.encode(event, as: .protobuf)
      return OutgoingRecord(
        topic: event.topic.name(prefix: settings.topicPrefix), key: wire.key, value: wire.value,
        headers: wire.headers.map { Header(name: $0.name, value: $0.value) })
    }
    let producer = try self.producer ?? Producer(configuration: settings.kafka)
    self.producer = producer
    do {
      try producer.send(records)
    } catch {
      // An idempotent producer may be unusable after a failure; what it sent is harmless, because
      // the same change is produced again under a newer version.
      producer.close()
      self.producer = nil
      throw error
    }
  }
}
