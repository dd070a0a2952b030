import Kafka
import Lanes

/// A batch's transaction: opened behind the fence, then committed, with faults before, in between
/// and after.
extension Schedule {
  /// Everything before COMMIT.
  mutating func begin(_ lane: Int, _ batch: Batch, _ owned: [TopicPartition: Ownership]) {
    var spans: [SimulatedStore.Transaction.Span] = []
    for (partition, next) in batch.nextOffsets {
      let index = Fixed.index(of: partition)
      spans.append(
        .init(
          partition: index, old: Int(owned[partition]?.nextOffset ?? -1), new: Int(next),
          claim: lanes[lane].claims[index]))
    }
    if store.isLocked(spans.lazy.map(\.partition)) {
      if hits(.lockTimeout) { tell(lane, .failed(.retry(reason: "lock"))) }
      return
    }
    if let failure = failureBeforeCommit(lane) { return tell(lane, .failed(failure)) }
    for span in spans where !passesFence(span, owned[Fixed.partitions[span.partition]]) {
      checkFence(lane)
      return tell(lane, .failed(.fenced))
    }
    if mutation == .deadLetterOutside {
      for item in batch.items where item.isPoison {
        store.rows[Fixed.index(of: item.record)].letters[Int(item.record.offset)] += 1
      }
    }
    if isTooMuch(lane, batch) {
      return tell(lane, .failed(.tooMuch(reason: "statement-timeout", message: "too long")))
    }
    if isPoison(lane, batch) { return tell(lane, .failed(.poison(reason: "constraint"))) }
    if let sizes = tooLarge(batch) { return tell(lane, .failed(.cut(sizes: sizes))) }
    if hits(.deliveryFailed) { return tell(lane, .failed(.retry(reason: "kafka"))) }
    store.lastTransaction += 1
    for span in spans {
      store.rows[span.partition].lock = store.lastTransaction
      if mutation == .offsetsBeforeResults { store.rows[span.partition].next = span.new }
    }
    lanes[lane].transaction = SimulatedStore.Transaction(
      id: store.lastTransaction, batch: batch, spans: spans,
      struck: [
        lanes[lane].struck.flatMap { $0.times >= 2 ? $0.record : nil },
        lanes[lane].strained.flatMap { $0.times >= BatchMachine.excessesMax ? $0.record : nil },
      ])
  }

  private mutating func failureBeforeCommit(_ lane: Int) -> Disposition? {
    if hits(.connectionLost) { return .retry(reason: "connection") }
    if hits(.serialization) { return .retry(reason: "serialization") }
    if hits(.diskFull) { return .retry(reason: "resources") }
    guard hits(.permissionMissing) else { return nil }
    lanes[lane].needsPerson = true
    return .stop(WorkerStopped(reason: "permission denied", nextStep: "grant it"))
  }

  private func passesFence(_ span: SimulatedStore.Transaction.Span, _ owned: Ownership?) -> Bool {
    let stored = store.ownership(span.partition)
    return switch mutation {
    case .fenceRemoved: true
    case .epochNotCompared: stored?.nextOffset == owned?.nextOffset
    default: stored == owned
    }
  }

  /// Whether the statements time out.
  private mutating func isTooMuch(_ lane: Int, _ batch: Batch) -> Bool {
    let events = batch.items.filter { !$0.isPoison }
    let isEndless = events.contains { item in
      logs[Fixed.index(of: item.record)].kinds[Int(item.record.offset)] == .endless
    }
    guard hits(.statementTimeout) || isEndless else { return false }
    if events.count == 1 {
      let isAgain = lanes[lane].strained?.record == events[0].record
      lanes[lane].strained = (
        events[0].record, isAgain ? (lanes[lane].strained?.times ?? 0) + 1 : 1
      )
    }
    return true
  }

  /// Whether an event cannot be applied or a dead letter cannot be written.
  private mutating func isPoison(_ lane: Int, _ batch: Batch) -> Bool {
    let events = batch.items.filter { !$0.isPoison }
    var isPoison = events.contains { item in
      logs[Fixed.index(of: item.record)].kinds[Int(item.record.offset)] == .unappliable
    }
    if !events.isEmpty, hits(.transientPoison) { isPoison = true }
    if events.count < batch.items.count, hits(.deadLetterUnwritable) {
      isPoison = true
      if events.isEmpty { lanes[lane].needsPerson = true }
    }
    guard isPoison else { return false }
    if events.count == 1 {
      let isAgain = lanes[lane].struck?.record == events[0].record
      lanes[lane].struck = (events[0].record, isAgain ? (lanes[lane].struck?.times ?? 0) + 1 : 1)
    } else if events.count > 1 {
      lanes[lane].struck = nil
    }
    return true
  }

  /// The handler finds the batch too large for one transaction. Returns the numbers of events to
  /// cut it into.
  private mutating func tooLarge(_ batch: Batch) -> [Int]? {
    guard batch.eventCount > 1, hits(.tooLarge) else { return nil }
    let first = 1 + below(batch.eventCount - 1)
    return [first, batch.eventCount - first]
  }

  /// Performs COMMIT.
  mutating func commit(_ lane: Int) {
    guard let transaction = lanes[lane].transaction else { return }
    lanes[lane].transaction = nil
    // The session was terminated meanwhile.
    if transaction.id == 0 { return lose(lane) }
    if hits(.refusedCommit) {
      store.release(transaction)
      let isSerialization = below(2) == 0 || transaction.batch.eventCount != 1
      guard !isSerialization else {
        return tell(lane, .failed(.retry(reason: "serialization")))
      }
      // A deferred constraint.
      for item in transaction.batch.items where !item.isPoison {
        let isAgain = lanes[lane].struck?.record == item.record
        lanes[lane].struck = (item.record, isAgain ? (lanes[lane].struck?.times ?? 0) + 1 : 1)
      }
      return tell(lane, .failed(.poison(reason: "deferred constraint")))
    }
    if hits(.answerLostRolledBack) {
      store.release(transaction)
      return lose(lane)
    }
    if hits(.answerLostInDoubt) {
      store.orphans.append((transaction, below(2) == 0))
      return lose(lane)
    }
    commit(transaction)
    if hits(.answerLostCommitted) { return lose(lane) }
    countCommitted(lane)
    tell(lane, .committed)
  }

  /// The connection is lost instead of a response to COMMIT.
  private mutating func lose(_ lane: Int) {
    guard mutation == .commitAssumed else {
      return tell(lane, .unanswered(reason: "connection"))
    }
    countCommitted(lane)
    tell(lane, .committed)
  }

  /// Records that the lane is about to learn that its batch is committed.
  mutating func countCommitted(_ lane: Int) {
    guard let batch = lanes[lane].machine.inHand else { return }
    for item in batch.items {
      lanes[lane].deadLettersInARow = item.isPoison ? lanes[lane].deadLettersInARow + 1 : 0
      if item.isPoison { lanes[lane].deadLetters += 1 }
      if lanes[lane].machine.plan.breaker != nil,
        lanes[lane].deadLettersInARow >= Fixed.breaker.runLimit
      {
        note(.justDeadLetters, "\(lanes[lane].deadLettersInARow) in a row, beyond the limit")
      }
    }
  }
}
