/// The deadline of a call that makes several requests.
struct Deadline: Sendable {
  private let end: ContinuousClock.Instant

  init(milliseconds: Int) { end = .now + .milliseconds(milliseconds) }

  var isOver: Bool { remainingMilliseconds == 0 }

  /// At least 0.
  var remainingMilliseconds: Int {
    let (seconds, attoseconds) = (end - .now).components
    return max(0, Int(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000))
  }

  /// The timeout of one request: the remaining time, at most `limit`, and at least 10 ms, below
  /// which librdkafka does not check for answers.
  func timeout(atMost limit: Int = .max) -> Int32 {
    Int32(clamping: max(10, min(remainingMilliseconds, limit)))
  }
}
