/// Stops a worker that dead-letters too much: a broken deploy must not drain a topic into the
/// dead letters.
///
/// It opens at `runLimit` dead letters in a row, or when they are more than `shareLimit` of at
/// least `windowRecords` recent records. Only a dead letter opens it.
///
/// Its memory is as durable as the dead letters are: whoever claims partitions counts on from what the
/// tables say about them, so that a process that is started again and again is stopped, too.
public struct CircuitBreaker: Sendable {
  /// Dead letters in a row that open it.
  public var runLimit: Int
  /// Share of the recent records, 0 to 1, that opens it.
  public var shareLimit: Double
  /// How many records the share is taken over at least; older ones count half as much each time
  /// the window fills.
  public var windowRecords: Int

  private var run = 0
  private var records = 0
  private var deadLetters = 0

  public init(runLimit: Int = 500, shareLimit: Double = 0.5, windowRecords: Int = 1000) {
    self.runLimit = runLimit
    self.shareLimit = shareLimit
    self.windowRecords = windowRecords
  }

  /// Goes on from here, whatever was counted before.
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

  /// Why it is open, nil while it is closed.
  var openReason: String? {
    if run >= runLimit { return "\(run) records in a row could not be applied" }
    if records >= windowRecords, Double(deadLetters) > shareLimit * Double(records) {
      return "\(deadLetters) of the last \(records) records could not be applied"
    }
    return nil
  }
}

extension CircuitBreaker {
  /// The breaker after the batch, and why it opened: at the first record that opens it, because what
  /// follows that record must not close it again. The reason is nil while it is closed.
  func counting(_ batch: Batch) -> (breaker: CircuitBreaker, openReason: String?) {
    var breaker = self
    for item in batch.items where !(item.isPoison && item.isKnownDeadLetter) {
      breaker.record(deadLettered: item.isPoison)
      // A record that can be applied is no reason to stop, whatever came before it.
      if item.isPoison, breaker.openReason != nil { return (breaker, breaker.openReason) }
    }
    return (breaker, nil)
  }
}
