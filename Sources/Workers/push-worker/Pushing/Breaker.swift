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

  /// Failures since the last success, at most 1000.
  public private(set) var failures = 0
  /// Until when nothing is sent; one request is tried after it.
  public private(set) var openUntil: EventTime?

  public init() {}

  /// A provider took a message, or refused it for the message's or the token's own sake.
  public mutating func succeed() { self = Breaker() }

  /// The provider is broken.
  ///
  /// - Parameter demandedMicroseconds: how long it is to be left alone at least, of which at most a day
  ///   counts.
  public mutating func fail(demandedMicroseconds: Int64, now: EventTime) {
    failures = min(failures + 1, 1000)
    let demanded = min(max(demandedMicroseconds, 0), 86_400_000_000)
    // A demand opens it at once: the provider has said that it is of no use to try.
    guard failures >= Self.limit || demanded > 0 else { return }
    let doubled = Int64(1_000_000) << Int64(min(max(failures - Self.limit, 0), 20))
    let wait = max(demanded, min(doubled, Self.longestMicroseconds))
    let until = EventTime(microseconds: now.microseconds + wait)
    openUntil = max(openUntil ?? until, until)
  }

  /// Whether a request may be made now.
  ///
  /// - Parameter underWay: the requests to the provider without an answer. After an outage one at a time
  ///   is tried.
  public func permits(underWay: Int, now: EventTime) -> Bool {
    guard let openUntil else { return true }
    return now >= openUntil && underWay == 0
  }
}
