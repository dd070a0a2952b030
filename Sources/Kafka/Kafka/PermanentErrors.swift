/// A consumer's errors that no retry mends, such as a missing permission. They count once nothing has contradicted them
/// for the grace period: the broker that reported one may have stale information.
///
/// A rejected certificate or login is not among them, because it is one broker's fault until ``Refusals`` say otherwise.
struct PermanentErrors: Sendable {
  private var errors: [String: (error: KafkaError, since: ContinuousClock.Instant)] = [:]

  /// - Parameter topic: empty if the error is about the group or the client.
  mutating func note(_ error: KafkaError, topic: String, at now: ContinuousClock.Instant) {
    guard !error.isRetriable, ![.authenticationFailed, .tls].contains(error.code) else { return }
    errors[topic] = (error, errors[topic]?.since ?? now)
  }

  /// These topics were read, records or the end of a partition, or an assignment has arrived.
  mutating func contradict(topics: some Sequence<String>, isSettled: Bool) {
    guard !errors.isEmpty else { return }
    var hasRead = false
    for topic in topics {
      errors[topic] = nil
      hasRead = true
    }
    if hasRead || isSettled { errors[""] = nil }
  }

  /// An error that has lasted for the grace period. librdkafka reports some errors only once, so each holds until
  /// something contradicts it.
  func overdue(at now: ContinuousClock.Instant) -> KafkaError? {
    errors.values.first { now - $0.since >= Refusals.graceBeforeFirstAnswer }?.error
  }
}
