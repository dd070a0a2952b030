/// Exponential backoff with full jitter: each delay is uniform between zero and a ceiling that
/// doubles from 50 ms to 10 s.
///
/// Of the simple schemes, full jitter best spreads clients that failed together: Marc Brooker,
/// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
public struct Backoff: Sendable {
  private var ceilingMilliseconds = 50

  public init() {}

  /// How long to wait now, at random up to the ceiling, which it doubles.
  public mutating func nextDelayMilliseconds() -> Int {
    Int.random(in: 0...nextCeilingMilliseconds())
  }

  /// The ceiling of the next delay.
  mutating func nextCeilingMilliseconds() -> Int {
    defer { ceilingMilliseconds = min(ceilingMilliseconds * 2, 10_000) }
    return ceilingMilliseconds
  }
}
