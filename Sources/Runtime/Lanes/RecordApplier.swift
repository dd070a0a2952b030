public import Events
import Foundation
public import Handling
public import Kafka
public import Postgres

/// Applies records that do not come from a consumer group, as a lane applies those that do: decoded,
/// in one transaction a batch, bisected down to the poison, which is dead-lettered.
///
/// With a fence the offsets move in the same transactions, so that a crash resumes at
/// `nextOffsets`. Without one nothing but the results is written, which the last-writer-wins rule
/// makes safe to do at any time and any number of times. Confined to one thread.
public final class RecordApplier {
  /// What became of the records of one call.
  public struct Applied: Sendable {
    /// Records that this call was given and had not applied before.
    public var records = 0
    /// How many of them were dead-lettered.
    public var deadLetters = 0
    /// The handler's counts, such as `deliveries`.
    public var counts: [String: Int] = [:]
  }

  /// How long failures that may pass (a lost connection, a lock) are tried again before they are
  /// thrown.
  public var patience: Duration = .seconds(300)
  /// The partitions claimed and the offset at which each goes on; empty without a fence.
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
  ///   - consumerGroup: the group whose offsets move, and whose dead letters are written.
  ///   - topicPrefix: what the names of topics begin with, such as `magpie.`.
  ///   - isFenced: whether the offsets move; `claim` the partitions first then.
  ///   - breaker: when to stop for too many dead letters; nil never stops. Records that are dead letters
  ///     of the group already, in the tables that are written, do not count: what a worker has passed
  ///     is no reason to stop.
  ///   - open: makes a connection with the privileges of the handler's role; its `search_path`
  ///     decides which tables are written. Called again after the connection was lost.
  ///   - deliver: what becomes of the events that the handler makes; called inside the open
  ///     transaction of the connection, before COMMIT. What it throws is treated as if the handler's
  ///     statements had thrown it.
  public init(
    handler: Handler, consumerGroup: String, topicPrefix: String, isFenced: Bool,
    breaker: CircuitBreaker?, open: @escaping () throws -> Connection,
    deliver: @escaping ([Event], Connection) throws -> Void
  ) {
    self.handler = handler
    self.isFenced = isFenced
    machine = BatchMachine(isFenced: isFenced, breaker: breaker)
    hasBreaker = breaker != nil
    topics = Dictionary(
      uniqueKeysWithValues: handler.topics.map { ($0.name(prefix: topicPrefix), $0) })
    store = BatchStore(
      handler: handler, consumerGroup: consumerGroup, codeVersion: codeVersion, open: open,
      deliver: deliver)
  }

  /// Closes the connection.
  public func close() { store.close() }

  /// Becomes the owner of the partitions; whoever owned them is fenced.
  ///
  /// - Parameter starts: where to begin in those that have no stored offset.
  public func claim(_ starts: [TopicPartition: Int64]) throws {
    let claimed = try retrying { try store.claim(starts) }
    recognition.expect(try retrying { try store.lastRecords(claimed) })
    machine.claimed(claimed)
  }

  /// Where to begin reading a partition that was claimed, of which the log holds these offsets: with
  /// the last record applied, where it is known and held, so that `apply` can compare it.
  package func start(of partition: TopicPartition, in held: Range<Int64>) -> Int64 {
    if let last = recognition.start(of: partition), held.contains(last) { return last }
    recognition.forget(partition)
    return nextOffsets[partition] ?? 0
  }

  /// Applies records, of any of the handler's topics, in offset order within a partition.
  ///
  /// Records below `nextOffsets` are passed over: they are applied already.
  ///
  /// - Parameter endOffsets: the offset after the records of each partition, where it is beyond the
  ///   last record.
  /// - Throws: `WorkerStopped` when only a person can help; `AnotherLog` when the records do not go
  ///   on from those applied before; whatever fails for longer than `patience`. Batches before the
  ///   failing one stay applied.
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

  /// Runs the handler's housekeeping until nothing is left to do; returns its counts.
  @discardableResult
  public func runBacklog() throws -> [String: Int] {
    guard let backlog = handler.backlog else { return [:] }
    var total: [String: Int] = [:]
    var hasMore = true
    while hasMore {
      let piece: (counts: [String: Int], hasMore: Bool)
      do {
        piece = try retrying { try store.runBacklog(backlog()) }
      } catch let poison as Poison {
        throw WorkerStopped.unworkableBacklog(poison.reason)
      }
      total.merge(piece.counts, uniquingKeysWith: +)
      hasMore = piece.hasMore
    }
    return total
  }

  /// Splits by topic: a transaction holds the records of one topic.
  private func batches(_ records: [Record], endOffsets: [TopicPartition: Int64]) throws -> [Batch] {
    var batches: [String: Batch] = [:]
    let now = EventTime.now
    for record in records {
      let topic = try topic(record.topic)
      if isFenced, record.offset < owned[record.topicPartition]?.nextOffset ?? 0 { continue }
      batches[record.topic, default: Batch(topic: topic, items: [])].items
        .append(decode(record, topic: topic, now: now))
    }
    guard isFenced else { return batches.sorted { $0.key < $1.key }.map(\.value) }
    for (partition, next) in endOffsets where next > owned[partition]?.nextOffset ?? next {
      let topic = try topic(partition.topic)
      batches[partition.topic, default: Batch(topic: topic, items: [])].endOffsets[partition] = next
    }
    return batches.sorted { $0.key < $1.key }.map(\.value)
  }

  private func topic(_ name: String) throws -> Topic {
    guard let topic = topics[name] else {
      throw WorkerStopped(
        reason: "\(name) is not a topic of \(handler.name)",
        nextStep: "Its topics are \(topics.keys.sorted().joined(separator: ", ")).")
    }
    return topic
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
        reason: "somebody else has taken over partitions that are being applied here",
        nextStep: "Let the other process finish, or end it, and start this one again.")
    }
  }
}
