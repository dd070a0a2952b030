public import Events

/// The rate limit of a scope: a token bucket, with a rate a second and a burst.
public struct Allowance: Sendable, Hashable {
  /// Messages a second, 1 or more.
  public let rate: Int64
  /// The most messages at once, 1 or more.
  public let burst: Int64
  /// What the bucket holds, in millionths of a message, from 0 to `burst` messages.
  private var level: Int64
  private var filledAt: EventTime
  /// The last time that ``turn(after:)`` returned, in microseconds since 1970.
  private var lastTurn: Int64

  /// A full bucket.
  ///
  /// - Parameters:
  ///   - rate: 1 to 1,000,000 a second.
  ///   - burst: 1 to 1,000,000.
  public init(rate: Int64, burst: Int64, now: EventTime) {
    self.rate = min(max(rate, 1), 1_000_000)
    self.burst = min(max(burst, 1), 1_000_000)
    level = self.burst * 1_000_000
    (filledAt, lastTurn) = (now, now.microseconds)
  }

  /// Takes one message from the bucket.
  ///
  /// - Returns: whether it was taken.
  public mutating func take(now: EventTime) -> Bool {
    // A clock that is set back adds nothing; one that jumps forward fills the bucket once.
    let passed = min(max(now.microseconds - filledAt.microseconds, 0), 1_000_000_000_000)
    // Below 1e12 microseconds times 1e6: no overflow.
    level = min(burst * 1_000_000, level + passed * rate)
    filledAt = now
    guard level >= 1_000_000 else { return false }
    level -= 1_000_000
    return true
  }

  /// When to ask again. Each call returns a later time, at intervals of the rate, so that waiting
  /// messages do not all come back together.
  ///
  /// - Parameter earliest: the returned time is after it.
  public mutating func turn(after earliest: EventTime) -> EventTime {
    let step = max(1, 1_000_000 / rate)
    lastTurn = max(lastTurn, earliest.microseconds) + step
    return EventTime(microseconds: lastTurn)
  }

  /// Gives turns from `now` on again, after the clock was set back to it.
  public mutating func setBack(to now: EventTime) {
    filledAt = min(filledAt, now)
    lastTurn = min(lastTurn, now.microseconds)
  }
}
