import Events
import Kafka

/// A round: the batches of one poll, the backlog, and a comparison of the stored offsets.
extension LaneMachine {
  mutating func nextBatch(_ queue: [Batch], isIdle: Bool = false, at now: Int64) -> Action {
    var queue = queue
    guard !isStopping, let batch = queue.popLast() else { return endRound(isIdle: isIdle, at: now) }
    return follow(batches.apply([.init(batch: batch)]), queue: queue, at: now)
  }

  /// - Parameter queue: the batches after the one being applied.
  mutating func follow(_ action: BatchMachine.Action, queue: [Batch], at now: Int64) -> Action {
    switch action {
    // The parts before this one are committed; a successor applies the rest.
    case .step(.commit, _) where isStopping: return leave(.end)
    case .step(let step, let batch):
      state = .applying(batch, queue: queue)
      if case .wait(let wait) = step { note(wait.reason) }
      return .step(step)
    case .finished:
      // A poll may return many batches. The backlog that they cause is worked on between them.
      guard backlogIsWaiting, !isStopping, now >= nextBacklog else {
        return nextBatch(queue, at: now)
      }
      state = .workingOnBacklog(then: .apply(queue: queue))
      return .workOnBacklog
    case .fenced: return leave(.rejoin)
    case .stop(let stopped): return leave(.stop(stopped))
    }
  }

  mutating func handleBacklog(_ input: Input, then next: AfterBacklog, at now: Int64) -> Action {
    switch input {
    case .backlogDone(let hasMore):
      isDatabaseThere = true
      backlogIsWaiting = hasMore
      let isIdle = if case .endRound(isIdle: true) = next { true } else { false }
      let pause: Int64 = plan.isTimed ? 100 : isIdle ? 200 : 1000
      nextBacklog = hasMore ? now : now + pause
    case .failed(.retry(let reason)):
      note(reason)
      backlogIsWaiting = false
      nextBacklog = now + 1000
    case .failed(.fenced):
      return leave(.rejoin)
    default:
      return leave(.stop(.unexpected(input, in: state)))
    }
    switch next {
    case .apply(let queue): return nextBatch(queue, at: now)
    case .endRound(let isIdle): return compare(isIdle: isIdle, at: now)
    }
  }

  /// All batches are applied, or the lane is to stop.
  mutating func endRound(isIdle: Bool, at now: Int64) -> Action {
    guard plan.hasBacklog, !isStopping, now >= nextBacklog, mayPublish(at: now) else {
      return compare(isIdle: isIdle, at: now)
    }
    state = .workingOnBacklog(then: .endRound(isIdle: isIdle))
    return .workOnBacklog
  }

  /// A log whose last applied record is gone (retention), or of which this lane has read nothing yet, is
  /// trusted after 30 seconds: what tells that it is another one has arrived by then.
  private func mayPublish(at now: Int64) -> Bool {
    isLogRecognized || firstClaim.map { now - $0 >= 30_000 } ?? false
  }

  /// Detects within two seconds that the offsets were moved (`magpie offsets reset`, restored tables, a
  /// failover), or that the database is unavailable or available again, even without a record whose
  /// batch the fence would reject.
  private mutating func compare(isIdle: Bool, at now: Int64) -> Action {
    guard isIdle, !isStopping, now >= nextComparison else { return poll() }
    nextComparison = now + 2000
    state = .comparing
    return .compare(owned)
  }

  /// Splits a poll's records by topic: a transaction holds records of one topic, and at most
  /// `plan.recordsMax` of them.
  func split(_ records: [Record]) -> [Batch] {
    var groups: [(name: String, topic: Topic, items: [Batch.Item])] = []
    var nextOffsets = owned.mapValues(\.nextOffset)
    var current: TopicPartition?
    var next: Int64?
    var group: Int?
    for record in records {
      // Consecutive records are mostly of the same partition.
      if record.partition != current?.partition || record.topic != current?.topic {
        if let current { nextOffsets[current] = next }
        let partition = record.topicPartition
        current = partition
        next = nextOffsets[partition]
        group = groups.firstIndex { $0.name == record.topic }
        if group == nil, let topic = plan.topics[record.topic] {
          group = groups.count
          groups.append((record.topic, topic, []))
        }
      }
      // After a rebalance during the poll, a record may be of a revoked partition, or a duplicate.
      guard let least = next, record.offset >= least, let group else { continue }
      next = record.offset + 1
      groups[group].items.append(plan.decode(record, groups[group].topic))
    }
    return groups.sorted { $0.name < $1.name }.flatMap { _, topic, items -> [Batch] in
      let size = max(1, plan.recordsMax[topic] ?? items.count)
      return stride(from: 0, to: items.count, by: size).map {
        Batch(topic: topic, items: Array(items[$0..<min($0 + size, items.count)]))
      }
    }
  }
}
