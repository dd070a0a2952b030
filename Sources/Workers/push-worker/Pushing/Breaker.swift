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
  /// How often its pause was doubled since the last success, at most 20.
  private var openings = 0
  /// The people who were refused since it opened last or, while it was never open, since the last
  /// success; at most ``limit``.
  private var refused: Set<String> = []

  public init() {}

  /// Notes that the provider accepted a message, or said that its token is gone.
  ///
  /// - Parameter sentAt: when the message was sent, or a little before. A message that was sent
  ///   before the breaker opened is ignored.
  public mutating func succeed(sentAt: EventTime) {
    if let openedAt, sentAt <= openedAt { return }
    self = Breaker()
  }

  /// Notes that the provider is broken, or did not answer.
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
    openings = min(openings + 1, 20)
    refused = []
    pause(demandedMicroseconds: demandedMicroseconds, now: now)
  }

  /// Notes that the provider refused a message to a person. Somebody may have many devices whose
  /// tokens are not valid, so the refusals of one person are one failure.
  ///
  /// While it is open, a refusal may be about the one token that was tried: the pause stays as long
  /// as it is, and is doubled when ``limit`` people in a row were refused.
  ///
  /// - Parameters:
  ///   - sentAt: as in ``fail(sentAt:demandedMicroseconds:now:)``.
  ///   - demandedMicroseconds: as there.
  public mutating func refuse(
    _ person: String, sentAt: EventTime, demandedMicroseconds: Int64 = 0, now: EventTime
  ) {
    if let openedAt, sentAt <= openedAt { return }
    let isFirst = refused.insert(person).inserted
    let isFailure = openedAt == nil ? isFirst : refused.count >= Self.limit
    if isFailure {
      fail(sentAt: sentAt, demandedMicroseconds: demandedMicroseconds, now: now)
    } else if openedAt != nil {
      pause(demandedMicroseconds: demandedMicroseconds, now: now)
    }
  }

  /// Opens it for the back-off of ``openings``, which is 1 or more, or for what is demanded.
  private mutating func pause(demandedMicroseconds: Int64, now: EventTime) {
    let doubled = Int64(1_000_000) << Int64(openings - 1)
    let demanded = min(max(demandedMicroseconds, 0), 86_400_000_000)
    let wait = max(demanded, min(doubled, Self.longestMicroseconds))
    (openedAt, openUntil) = (now, EventTime(microseconds: now.microseconds + wait))
  }

  /// Lets a pause that began later than `now` begin now, after the clock was set back to it.
  public mutating func setBack(to now: EventTime) {
    guard let opened = openedAt, let end = openUntil, opened > now else { return }
    let wait = end.microseconds - opened.microseconds
    (openedAt, openUntil) = (now, EventTime(microseconds: now.microseconds + wait))
  }

  /// Whether it has opened, and no request has succeeded since. A trial begins soon after
  /// ``openUntil`` and takes half a minute at most; two minutes without one mean that nothing is left
  /// to send.
  public func isOpen(now: EventTime) -> Bool {
    openUntil.map { now.microseconds < $0.microseconds + 120_000_000 } ?? false
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
