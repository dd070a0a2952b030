/// Decides whether brokers' refusals are this client's fault.
///
/// As long as any broker answers, a refusal is the refusing broker's fault: an expired certificate,
/// or credentials that it has not loaded yet; librdkafka keeps retrying. Only if no broker answers
/// while refusals continue for the grace period is this client at fault.
struct Refusals: Sendable {
  /// The grace period before any broker has ever answered.
  static let graceBeforeFirstAnswer = Duration.seconds(15)
  /// The grace period once a broker has answered, which proves that credentials and certificates
  /// were right.
  static let graceAfterAnswer = Duration.seconds(120)
  /// librdkafka logs the same failure of a broker once in 30 seconds; older refusals have expired.
  private static let validity = Duration.seconds(40)
  private static let brokersMax = 1_000

  private var newest: (refusal: Refusal, at: ContinuousClock.Instant)?
  /// The time of the first refusal since the last answer.
  private var since: ContinuousClock.Instant?
  private var hasAnswered = false
  private var counts: [String: Int] = [:]

  mutating func note(_ refusal: Refusal, at now: ContinuousClock.Instant) {
    if since == nil || current(at: now) == nil { since = now }
    newest = (refusal, now)
    if counts.count < Self.brokersMax { counts[refusal.broker, default: 0] += 1 }
  }

  /// A broker has answered a request, which implies a successful login.
  mutating func noteAnswer() {
    hasAnswered = true
    since = nil
  }

  /// The newest refusal, unless it has expired.
  func current(at now: ContinuousClock.Instant) -> Refusal? {
    newest.flatMap { now - $0.at < Self.validity ? $0.refusal : nil }
  }

  /// The newest refusal, if refusals have continued for the grace period without an answer.
  func overdue(at now: ContinuousClock.Instant) -> Refusal? {
    let grace = hasAnswered ? Self.graceAfterAnswer : Self.graceBeforeFirstAnswer
    guard let since, now - since >= grace else { return nil }
    return current(at: now)
  }

  /// The number of refusals since the last call, by broker address.
  mutating func takeCounts() -> [String: Int] {
    defer { counts = [:] }
    return counts
  }
}
