public import Events

/// How much may be sent to a provider: so many at once, and so many a second (a token bucket).
public struct Allowance: Sendable, Hashable {
  /// A second, 1 or more.
  public let rate: Int64
  /// At once, 1 or more.
  public let burst: Int64
  /// In millionths of a message, from 0 to `burst`.
  private var level: Int64
  private var filledAt: EventTime
  /// The last turn that was given away, in microseconds since 1970.
  private var lastTurn: Int64

  /// Full.
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

  /// Takes one message's worth.
  ///
  /// - Returns: whether it was taken.
  public mutating func take(now: EventTime) -> Bool {
    // A clock that was set back adds nothing; one that leaps fills it once.
    let passed = min(max(now.microseconds - filledAt.microseconds, 0), 1_000_000_000_000)
    // Below 1e12 microseconds times 1e6: no overflow.
    level = min(burst * 1_000_000, level + passed * rate)
    filledAt = now
    guard level >= 1_000_000 else { return false }
    level -= 1_000_000
    return true
  }

  /// When to ask again: each caller gets a later turn, at the rate, so that what waits comes back in line
  /// and not together.
  ///
  /// - Parameter earliest: no turn is before it.
  public mutating func turn(after earliest: EventTime) -> EventTime {
    let step = max(1, 1_000_000 / rate)
    lastTurn = max(lastTurn, earliest.microseconds) + step
    return EventTime(microseconds: lastTurn)
  }
}
