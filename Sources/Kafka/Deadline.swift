/// By when a call that asks several questions must be over.
struct Deadline: Sendable {
  private let end: ContinuousClock.Instant

  init(milliseconds: Int) { end = .now + .milliseconds(milliseconds) }

  var isOver: Bool { remainingMilliseconds == 0 }

  /// At least 0.
  var remainingMilliseconds: Int {
    let (seconds, attoseconds) = (end - .now).components
    return max(0, Int(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000))
  }

  /// What a call may wait: what remains, at most `limit`, and at least the 10 ms without which
  /// librdkafka does not look at all.
  func timeout(atMost limit: Int = .max) -> Int32 {
    Int32(clamping: max(10, min(remainingMilliseconds, limit)))
  }
}
