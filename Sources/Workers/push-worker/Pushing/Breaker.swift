public import Events

/// Stops sending to a provider that does not work, so that an outage or wrong credentials cost one request
/// at a time.
///
/// It never touches tokens: that a provider refuses many of them says more about it than about them.
public struct Breaker: Sendable, Hashable {
  /// Failures in a row that open it.
  static let limit = 10
  /// The longest time that it stays open before a request is tried.
  static let longestMicroseconds: Int64 = 900_000_000

  /// Failures in a row while it was closed, at most ``limit``.
  public private(set) var failures = 0
  /// Until when nothing is sent; one request is tried after it.
  public private(set) var openUntil: EventTime?
  /// When it opened last.
  private var openedAt: EventTime?
  /// How often it opened without a success between, at most 20.
  private var openings = 0

  public init() {}

  /// A provider took a message, or refused it for the token's own sake.
  ///
  /// - Parameter sentAt: of the message, or a little before. What was sent before the breaker opened says nothing about the
  ///   time after.
  public mutating func succeed(sentAt: EventTime) {
    if let openedAt, sentAt <= openedAt { return }
    self = Breaker()
  }

  /// The provider is broken, or refuses.
  ///
  /// - Parameters:
  ///   - sentAt: of the message, or a little before. Messages that failed together open it once, not once each.
  ///   - demandedMicroseconds: how long the provider is to be left alone at least, if it opens; at most a
  ///     day counts.
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
  /// - Parameter underWay: the requests to the provider without an answer, and those that are about to be
  ///   made. After an outage one at a time is tried.
  public func permits(underWay: Int, now: EventTime) -> Bool {
    guard let openUntil else { return true }
    return now >= openUntil && underWay == 0
  }
}
