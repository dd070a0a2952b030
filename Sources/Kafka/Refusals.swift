/// What the brokers' refusals say about this client.
///
/// A broker that refuses is a fault of that broker as long as another one answers: an expired
/// certificate, credentials that it has not loaded yet. librdkafka goes on trying it. Only when
/// nobody answers while refusals go on, for the grace period, is this client at fault.
struct Refusals: Sendable {
  /// How long nobody may answer before anybody has.
  static let graceBeforeFirstAnswer = Duration.seconds(15)
  /// The same after a broker has answered, which shows that credentials and certificates were right.
  static let graceAfterAnswer = Duration.seconds(120)
  /// librdkafka logs the same failure of a broker once in 30 seconds; what is older is past.
  private static let validity = Duration.seconds(40)
  private static let brokersMax = 1_000

  private var newest: (refusal: Refusal, at: ContinuousClock.Instant)?
  /// When the first refusal came after the newest answer.
  private var since: ContinuousClock.Instant?
  private var hasAnswered = false
  private var uncounted: [String: Int] = [:]

  mutating func note(_ refusal: Refusal, at now: ContinuousClock.Instant) {
    if since == nil || current(at: now) == nil { since = now }
    newest = (refusal, now)
    if uncounted.count < Self.brokersMax { uncounted[refusal.broker, default: 0] += 1 }
  }

  /// Some broker has answered a request, which it does only after the login.
  mutating func noteAnswer() {
    hasAnswered = true
    since = nil
  }

  /// The newest refusal, unless it is past.
  func current(at now: ContinuousClock.Instant) -> Refusal? {
    newest.flatMap { now - $0.at < Self.validity ? $0.refusal : nil }
  }

  /// The newest refusal, when refusals have gone on for the grace period without an answer.
  func overdue(at now: ContinuousClock.Instant) -> Refusal? {
    let grace = hasAnswered ? Self.graceAfterAnswer : Self.graceBeforeFirstAnswer
    guard let since, now - since >= grace else { return nil }
    return current(at: now)
  }

  /// Refusals noted since the last call, by the broker's address.
  mutating func takeUncounted() -> [String: Int] {
    defer { uncounted = [:] }
    return uncounted
  }
}
