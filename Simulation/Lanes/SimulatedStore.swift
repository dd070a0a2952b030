import Handling
import Kafka
import Lanes

/// PostgreSQL's state: offsets with epochs, row locks, results and dead letters.
struct SimulatedStore {
  /// A row of `consumer_offsets`, and the outcome of its partition's records.
  struct Row {
    var next = 0
    var epoch: Int64 = 0
    /// False before the first claim.
    var exists = false
    /// The transaction that locks the row; 0 for none.
    var lock = 0
    /// The newest claim, tracked independently of epochs in order to verify them.
    var claim = 0
    /// By offset: how often it was applied, and how often dead-lettered.
    var applied = [UInt8](repeating: 0, count: Fixed.offsetsMax)
    var letters = [UInt8](repeating: 0, count: Fixed.offsetsMax)
    /// Offsets that an operator skipped.
    var skipped: [Range<Int>] = []
  }

  /// A transaction that holds locks and is not committed yet.
  struct Transaction {
    struct Span {
      var partition: Int
      var old: Int
      var new: Int
      var claim: Int
    }

    var id: Int
    var batch: Batch
    var spans: [Span]
    /// The record that failed alone twice, and the one that repeatedly timed out alone.
    var struck: [Record?]
  }

  var rows = [Row](repeating: Row(), count: Fixed.partitions.count)
  var lastTransaction = 0
  var lastClaim = 0
  /// Transactions whose client is gone, and whether they will commit.
  var orphans: [(transaction: Transaction, commits: Bool)] = []

  func isLocked(_ partitions: some Sequence<Int>) -> Bool {
    partitions.contains { rows[$0].lock != 0 }
  }

  func ownership(_ partition: Int) -> Ownership? {
    guard rows[partition].exists else { return nil }
    return Ownership(nextOffset: Int64(rows[partition].next), epoch: rows[partition].epoch)
  }

  /// Claims partitions, none of which may be locked.
  mutating func claim(_ starts: [TopicPartition: Int64], bumping: Bool)
    -> (owned: [TopicPartition: Ownership], claim: Int)
  {
    lastClaim += 1
    var owned: [TopicPartition: Ownership] = [:]
    for (partition, start) in starts {
      let index = Fixed.index(of: partition)
      if !rows[index].exists {
        rows[index].exists = true
        rows[index].next = Int(start)
        // A group that never consumed a partition starts at the log start offset.
        rows[index].skipped.append(0..<Int(start))
        rows[index].epoch = 1
      } else if bumping {
        rows[index].epoch += 1
      }
      rows[index].claim = lastClaim
      owned[partition] = ownership(index)
    }
    return (owned, lastClaim)
  }

  /// The outcome of the records before these offsets, computed like the worker's SQL.
  func past(before owned: [TopicPartition: Ownership], for breaker: CircuitBreaker)
    -> DeadLetterPast
  {
    var past = DeadLetterPast()
    let share = (breaker.windowRecords + owned.count - 1) / max(1, owned.count)
    for (partition, ownership) in owned {
      let letters = rows[Fixed.index(of: partition)].letters[..<Int(ownership.nextOffset)]
      past.run += letters.suffix(breaker.runLimit).reversed().prefix { $0 > 0 }.count
      past.records += letters.suffix(share).count
      past.deadLetters += letters.suffix(share).count { $0 > 0 }
    }
    return past
  }

  /// An operator moves the offset, which invalidates the outcome of later records.
  mutating func reset(_ partition: Int, to offset: Int) {
    rows[partition].epoch += 1
    lastClaim += 1
    rows[partition].claim = lastClaim
    if offset > rows[partition].next {
      rows[partition].skipped.append(rows[partition].next..<offset)
    }
    for index in offset..<Fixed.offsetsMax {
      rows[partition].applied[index] = 0
      rows[partition].letters[index] = 0
    }
    rows[partition].skipped = rows[partition].skipped.map { $0.clamped(to: 0..<offset) }
    rows[partition].next = offset
  }

  mutating func release(_ transaction: Transaction) {
    for span in transaction.spans where rows[span.partition].lock == transaction.id {
      rows[span.partition].lock = 0
    }
  }

  /// Makes the transaction's results visible and checks every rule about them.
  mutating func commit(_ transaction: Transaction, _ logs: [SimulatedLog], mutation: Mutation?)
    -> (rule: Violation.Rule, detail: String)?
  {
    defer { release(transaction) }
    for span in transaction.spans {
      let partition = Fixed.partitions[span.partition]
      if rows[span.partition].claim != span.claim {
        return (.newestOwner, "\(partition) was claimed by another lane before this commit")
      }
      if mutation != .offsetsBeforeResults, rows[span.partition].next != span.old {
        return (.contiguous, "\(partition) was at \(rows[span.partition].next), not \(span.old)")
      }
      if span.new < span.old { return (.forward, "\(partition): \(span.old) to \(span.new)") }
      var expected = span.old
      for item in transaction.batch.items where Fixed.index(of: item.record) == span.partition {
        let offset = Int(item.record.offset)
        while expected < offset, logs[span.partition].kinds[expected] == .hole { expected += 1 }
        if offset != expected {
          return (.contiguous, "\(partition): \(offset) instead of \(expected)")
        }
        let mayBePoison =
          logs[span.partition].kinds[offset] != .plain || transaction.struck.contains(item.record)
        if let broken = count(item, span.partition, mayBePoison, mutation) { return broken }
        expected += 1
      }
      if expected != span.new {
        return (.contiguous, "\(partition): advanced to \(span.new), but applied up to \(expected)")
      }
      rows[span.partition].next = span.new
    }
    return nil
  }

  private mutating func count(
    _ item: Batch.Item, _ partition: Int, _ mayBePoison: Bool, _ mutation: Mutation?
  ) -> (rule: Violation.Rule, detail: String)? {
    let offset = Int(item.record.offset)
    let name = "\(Fixed.partitions[partition])@\(offset)"
    if item.isPoison {
      if mutation != .deadLetterOutside { rows[partition].letters[offset] += 1 }
      if !mayBePoison { return (.justDeadLetters, "\(name) was dead-lettered") }
    } else {
      rows[partition].applied[offset] += 1
    }
    return onlyOnce(partition, offset)
  }

  func onlyOnce(_ partition: Int, _ offset: Int) -> (rule: Violation.Rule, detail: String)? {
    let (applied, letters) = (rows[partition].applied[offset], rows[partition].letters[offset])
    guard applied + letters > 1 else { return nil }
    let name = "\(Fixed.partitions[partition])@\(offset)"
    return (.appliedOnce, "\(name) was applied \(applied) times, dead-lettered \(letters) times")
  }

  /// Missing records, checked when everything should be applied.
  func missing(_ logs: [SimulatedLog]) -> (rule: Violation.Rule, detail: String)? {
    for (partition, log) in logs.enumerated() {
      for offset in 0..<log.high where log.kinds[offset] != .hole {
        let count = rows[partition].applied[offset] + rows[partition].letters[offset]
        guard count != 1 else { continue }
        if count == 0, rows[partition].skipped.contains(where: { $0.contains(offset) }) { continue }
        return (
          .appliedOnce, "\(Fixed.partitions[partition])@\(offset) was applied \(count) times"
        )
      }
    }
    return nil
  }
}
