/// Stops a worker that dead-letters too many records, so that a broken deploy cannot drain a topic into
/// the dead letters.
///
/// It opens at `runLimit` dead letters in a row, or when they are more than `shareLimit` of at
/// least `windowRecords` recent records. Only a dead letter opens it. Those that one person can cause
/// at will count for nothing: see `DeadLetterReason.uncounted`.
///
/// A lane that claims partitions initializes the counts from the stored dead letters, so that restarts
/// do not reset them.
public struct CircuitBreaker: Sendable {
  /// Dead letters in a row that open it.
  public var runLimit: Int
  /// The share of recent records, 0 to 1, that opens it.
  public var shareLimit: Double
  /// The minimum number of records for the share. The counts are halved whenever twice as many have
  /// been counted.
  public var windowRecords: Int

  private var run = 0
  private var records = 0
  private var deadLetters = 0

  public init(runLimit: Int = 500, shareLimit: Double = 0.5, windowRecords: Int = 1000) {
    self.runLimit = runLimit
    self.shareLimit = shareLimit
    self.windowRecords = windowRecords
  }

  /// Replaces the counts.
  mutating func remember(_ past: DeadLetterPast) {
    run = past.run
    records = past.records
    deadLetters = past.deadLetters
  }

  /// Counts one record, in log order.
  mutating func record(deadLettered: Bool) {
    run = deadLettered ? run + 1 : 0
    records += 1
    deadLetters += deadLettered ? 1 : 0
    if records >= 2 * windowRecords {
      records /= 2
      deadLetters /= 2
    }
  }

  /// Why it is open; nil while it is closed.
  var openReason: String? {
    if run >= runLimit { return "\(run) records in a row could not be applied" }
    if records >= windowRecords, Double(deadLetters) > shareLimit * Double(records) {
      return "\(deadLetters) of the last \(records) records could not be applied"
    }
    return nil
  }
}

extension CircuitBreaker {
  /// The breaker after the batch, and why it opened; nil while it is closed. Stops at the first record
  /// that opens it, because the records after it must not close it again.
  func counting(_ batch: Batch) -> (breaker: CircuitBreaker, openReason: String?) {
    var breaker = self
    for item in batch.items {
      if case .poison(let reason) = item.content,
        item.isKnownDeadLetter || DeadLetterReason.uncounted.contains(reason.code)
      {
        continue
      }
      breaker.record(deadLettered: item.isPoison)
      // Only a dead letter opens the breaker.
      if item.isPoison, breaker.openReason != nil { return (breaker, breaker.openReason) }
    }
    return (breaker, nil)
  }
}
