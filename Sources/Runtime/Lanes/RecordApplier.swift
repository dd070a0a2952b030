public import Events
import Foundation
public import Handling
public import Kafka
public import Postgres

/// Applies records that do not come from a consumer group like a lane does: decodes them, applies each
/// batch in one transaction, bisects it on failure, and dead-letters poison.
///
/// With a fence, the same transactions advance the offsets, and a restart resumes at `nextOffsets`.
/// Without a fence, only the results are written, which is safe at any time and any number of times
/// because the last writer wins. Confined to one thread.
public final class RecordApplier {
  /// The outcome of one call.
  public struct Applied: Sendable {
    /// Records that this call applied or dead-lettered.
    public var records = 0
    /// The dead-lettered ones among them.
    public var deadLetters = 0
    /// The handler's counts, such as `deliveries`.
    public var counts: [String: Int] = [:]
  }

  /// How long transient failures (a lost connection, a lock) are retried before they are thrown.
  public var patience: Duration = .seconds(300)
  /// The next offsets of the claimed partitions; empty without a fence.
  public var nextOffsets: [TopicPartition: Int64] { owned.mapValues(\.nextOffset) }

  private var owned: [TopicPartition: Ownership] { machine.owned ?? [:] }

  private let handler: Handler
  private let topics: [String: Topic]
  private let isFenced: Bool
  private let hasBreaker: Bool
  private let store: BatchStore
  private var machine: BatchMachine
  private var recognition = Recognition()

  /// - Parameters:
  ///   - consumerGroup: the group whose offsets advance and whose dead letters are written.
  ///   - topicPrefix: the prefix of topic names, such as `magpie.`.
  ///   - isFenced: whether the offsets advance, which requires `claim` first.
  ///   - breaker: when to stop because of too many dead letters; nil never stops. Records that are
  ///     already dead letters of the group do not count.
  ///   - open: opens a connection with the handler's privileges; its `search_path` selects the tables.
  ///     Called again after the connection was lost.
  ///   - deliver: publishes the handler's events; called inside the transaction, before COMMIT. Its
  ///     errors are treated like those of the handler's statements.
  public init(
    handler: Handler, consumerGroup: String, topicPrefix: String, isFenced: Bool,
    breaker: CircuitBreaker?, open: @escaping () throws -> Connection,
    deliver: @escaping ([Event], Connection) throws -> Void
  ) {
    self.handler = handler
    self.isFenced = isFenced
    machine = BatchMachine(isFenced: isFenced, breaker: breaker)
    hasBreaker = breaker != nil
    topics = handler.topics(prefix: topicPrefix)
    store = BatchStore(
      handler: handler, consumerGroup: consumerGroup, open: open, deliver: deliver)
  }

  /// Closes the connection.
  public func close() { store.close() }

  /// Claims the partitions, which fences their previous owner.
  ///
  /// - Parameter starts: the first offsets of partitions without a stored offset.
  public func claim(_ starts: [TopicPartition: Int64]) throws {
    let claimed = try retrying { try store.claim(starts) }
    recognition.expect(try retrying { try store.lastRecords(claimed) })
    machine.claimed(claimed)
  }

  /// The offset at which to start reading a claimed partition whose log holds these offsets. If the last
  /// applied record is known and held, starts with it, so that `apply` can compare it.
  package func start(of partition: TopicPartition, in held: Range<Int64>) -> Int64 {
    if let last = recognition.start(of: partition), held.contains(last) { return last }
    recognition.forget(partition)
    return nextOffsets[partition] ?? 0
  }

  /// Applies records, of any of the handler's topics, in offset order within a partition.
  ///
  /// Skips records below `nextOffsets`, which are already applied.
  ///
  /// - Parameter endOffsets: the offset after the records of each partition, where it is beyond the
  ///   last record.
  /// - Throws: `WorkerStopped` when only an operator can help; `AnotherLog` when the records do not
  ///   continue the log applied so far; a failure that outlasted `patience`. Batches before the failing
  ///   one remain applied.
  @discardableResult
  public func apply(_ records: [Record], endOffsets: [TopicPartition: Int64] = [:]) throws
    -> Applied
  {
    try recognition.check(records)
    var applied = Applied()
    for batch in try batches(records, endOffsets: endOffsets) {
      try apply(
        hasBreaker ? retrying { try store.markingKnownDeadLetters(batch) } : batch, &applied)
    }
    return applied
  }

  /// Runs the handler's backlog until it is empty, or its sweeps have waited a minute for transactions that are open;
  /// returns its counts.
  @discardableResult
  public func runBacklog() throws -> [String: Int] {
    guard let backlog = handler.backlog else { return [:] }
    var total: [String: Int] = [:]
    var (hasMore, waits) = (true, 0)
    while hasMore {
      let piece: Outcome
      do {
        piece = try retrying { try store.runBacklog(backlog()) }
      } catch let poison as Poison {
        throw WorkerStopped.unworkableBacklog(poison.reason)
      }
      total.merge(piece.counts, uniquingKeysWith: +)
      hasMore = piece.hasMore
      if !hasMore, waits < 600, try isSweeping() {
        hasMore = true
        waits += 1
        Thread.sleep(forTimeInterval: 0.1)
      }
    }
    return total
  }

  /// Whether the handler's tables may still name somebody who was erased.
  private func isSweeping() throws -> Bool {
    try retrying { try store.count(Statement("SELECT count(*) FROM \(handler.name)_erasures")) } > 0
  }

  /// Splits records by topic: a transaction holds records of one topic.
  private func batches(_ records: [Record], endOffsets: [TopicPartition: Int64]) throws -> [Batch] {
    var batches: [String: Batch] = [:]
    let now = EventTime.now
    for record in records {
      let topic = try topic(record.topic, in: topics, of: handler.name)
      if isFenced, record.offset < owned[record.topicPartition]?.nextOffset ?? 0 { continue }
      batches[record.topic, default: Batch(topic: topic, items: [])].items
        .append(decode(record, topic: topic, now: now))
    }
    guard isFenced else { return batches.sorted { $0.key < $1.key }.map(\.value) }
    for (partition, next) in endOffsets where next > owned[partition]?.nextOffset ?? next {
      let topic = try topic(partition.topic, in: topics, of: handler.name)
      batches[partition.topic, default: Batch(topic: topic, items: [])].endOffsets[partition] = next
    }
    return batches.sorted { $0.key < $1.key }.map(\.value)
  }

  private func apply(_ batch: Batch, _ applied: inout Applied) throws {
    var (records, deadLetters, counts) = (0, 0, [String: Int]())
    try unlessFenced {
      try machine.apply(
        batch,
        by: .init(
          patience: patience, commit: store.commit, lookUp: store.stored,
          committed: { batch, work in
            records += batch.items.count
            deadLetters += batch.items.count(where: \.isPoison)
            counts.merge(work, uniquingKeysWith: +)
          }))
    }
    applied.records += records
    applied.deadLetters += deadLetters
    applied.counts.merge(counts, uniquingKeysWith: +)
  }

  private func retrying<T>(_ body: () throws -> T) throws -> T {
    try unlessFenced { try withPatience(patience, body) }
  }

  private func unlessFenced<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch is Fenced {
      throw WorkerStopped(
        reason: "another process has claimed partitions that are being applied here",
        nextStep: "Let the other process finish, or end it, and start this one again.")
    }
  }
}
