public import Events

/// A circuit breaker: stops sending to a scope that fails, so that an outage or wrong credentials
/// cost one request at a time.
///
/// It never touches tokens: many refusals in a row are about the provider or the configuration, not
/// about the tokens.
public struct Breaker: Sendable, Hashable {
  /// Failures in a row that open it.
  static let limit = 10
  /// The longest back-off before a request is tried. The provider may demand more.
  static let longestMicroseconds: Int64 = 900_000_000

  /// Failures in a row while it was closed, at most ``limit``.
  public private(set) var failures = 0
  /// Until when nothing is sent; one request is tried after it.
  public private(set) var openUntil: EventTime?
  /// When it opened last.
  private var openedAt: EventTime?
  /// How often it opened since the last success, at most 20.
  private var openings = 0

  public init() {}

  /// Notes that the provider accepted a message, or said that its token is gone.
  ///
  /// - Parameter sentAt: when the message was sent, or a little before. A message that was sent
  ///   before the breaker opened is ignored.
  public mutating func succeed(sentAt: EventTime) {
    if let openedAt, sentAt <= openedAt { return }
    self = Breaker()
  }

  /// Notes that the provider is broken, or refused a message.
  ///
  /// - Parameters:
  ///   - sentAt: when the message was sent, or a little before. A message that was sent before the
  ///     breaker opened is ignored: requests that fail together open it once.
  ///   - demandedMicroseconds: the least time that it stays open, if it opens; at most a day
  ///     counts.
  public mutating func fail(sentAt: EventTime, demandedMicroseconds: Int64, now: EventTime) {
    if let openedAt, sentAt <= openedAt { return }
    if openedAt == nil {
      failures += 1
      guard failures >= Self.limit else { return }
    }
    let doubled = Int64(1_000_000) << Int64(min(openings, 20))
    openings = min(openings + 1, 20)
    let demanded = min(max(demandedMicroseconds, 0), 86_400_000_000)
    let wait = max(demanded, min(doubled, Self.longestMicroseconds))
    (openedAt, openUntil) = (now, EventTime(microseconds: now.microseconds + wait))
  }

  /// Whether a request may be made now.
  ///
  /// - Parameter underWay: the scope's requests without an answer, and those about to be made.
  ///   After ``openUntil``, one at a time is permitted.
  public func permits(underWay: Int, now: EventTime) -> Bool {
    guard let openUntil else { return true }
    return now >= openUntil && underWay == 0
  }
}
