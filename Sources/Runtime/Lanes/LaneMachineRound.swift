import Events
import Kafka

/// A round: what one poll brought, the backlog, and a look at who owns the partitions.
extension LaneMachine {
  mutating func begin(_ records: [Record], at now: Int64) -> Action {
    isIdle = records.isEmpty
    queue = batches(of: records).reversed()
    return nextBatch(at: now)
  }

  mutating func handleWhileApplying(_ input: Input, at now: Int64) -> Action {
    if case .waited = input, isStopping { return leave(.end) }
    let action: BatchMachine.Action
    switch input {
    case .committed: action = batches.handle(.committed)
    case .unanswered(let reason): action = batches.handle(.unanswered(reason: reason))
    case .failed(let disposition): action = batches.handle(.failed(disposition))
    case .stored(let stored): action = batches.handle(.stored(stored))
    case .waited: action = batches.handle(.waited)
    default: action = .stop(.defect("it was \(state) when it was told \(input)"))
    }
    switch input {
    case .committed: (isKafkaThere, isDatabaseThere) = (true, true)
    case .stored: isDatabaseThere = true
    default: break
    }
    return perform(action, at: now)
  }

  mutating func handleBacklog(_ input: Input, at now: Int64) -> Action {
    switch input {
    case .backlogDone(let hasMore):
      isDatabaseThere = true
      backlogIsWaiting = hasMore
      nextBacklog = hasMore ? now : now + (isRoundOver && isIdle ? 200 : 1000)
    case .failed(.retry(let reason)):
      note(reason)
      backlogIsWaiting = false
      // What took all the time that a statement has must not take all of the lane's.
      nextBacklog = now + (reason == "statement-timeout" ? 60_000 : 1000)
    case .failed(.fenced):
      return leave(.rejoin)
    case .failed(.poison(let reason)):
      return leave(.stop(.unworkableBacklog(reason)))
    default:
      return leave(.stop(.defect("it was \(state) when it was told \(input)")))
    }
    return isRoundOver ? compare(at: now) : nextBatch(at: now)
  }

  private mutating func perform(_ action: BatchMachine.Action, at now: Int64) -> Action {
    switch action {
    case .commit(let batch, let owned): return .commit(batch, owned: owned ?? [:])
    case .lookUp(let partitions): return .lookUp(partitions)
    case .wait(let wait):
      note(wait.reason)
      return .wait(wait)
    case .yield: return leave(.rejoin)
    case .stop(let stopped): return leave(.stop(stopped))
    case .finish:
      // A poll may bring many batches: what they leave to do keeps up with them.
      guard backlogIsWaiting, now >= nextBacklog else { return nextBatch(at: now) }
      isRoundOver = false
      state = .workingOnBacklog
      return .workOnBacklog
    }
  }

  private mutating func nextBatch(at now: Int64) -> Action {
    guard let batch = queue.popLast() else { return endRound(at: now) }
    state = .applying
    return perform(batches.apply(batch), at: now)
  }

  /// All batches are applied.
  mutating func endRound(at now: Int64) -> Action {
    isRoundOver = true
    guard plan.hasBacklog, now >= nextBacklog else { return compare(at: now) }
    state = .workingOnBacklog
    return .workOnBacklog
  }

  /// Notices within two seconds that somebody has moved the offsets (`magpie offsets reset`, tables
  /// put back, a failover), or that the database is gone or back, also when no record comes whose batch
  /// the fence would refuse.
  private mutating func compare(at now: Int64) -> Action {
    guard isIdle, now >= nextComparison else { return poll() }
    nextComparison = now + 2000
    state = .comparing
    return .compare(owned)
  }

  /// Splits a poll's records by topic: a transaction holds the records of one topic, and no more of
  /// them than the handler wants.
  private func batches(of records: [Record]) -> [Batch] {
    var groups: [(name: String, topic: Topic, items: [Batch.Item])] = []
    var nextOffsets = owned.mapValues(\.nextOffset)
    var current: TopicPartition?
    var next: Int64?
    var group: Int?
    for record in records {
      // Records of one partition mostly follow one another.
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
      // After a rebalance inside the poll a record may be of a partition that went away, or be
      // there twice.
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
