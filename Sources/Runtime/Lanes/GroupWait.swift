import Kafka

/// What a lane waits for.
public enum LaneWait: Sendable, Equatable {
  /// Its consumer group gives it no assignment.
  case group(since: ContinuousClock.Instant)
  /// These topics do not exist, as far as the brokers know.
  case topics([String], since: ContinuousClock.Instant)
  /// To retry a failed operation, for a reason such as `schema` or `connection`.
  case retry(reason: String)

  /// For logs and `/readyz`.
  package func description(at now: ContinuousClock.Instant) -> String {
    switch self {
    case .group(let since):
      "waits for its consumer group for \((now - since).components.seconds) s"
    case .topics(let names, let since):
      "waits for topics that do not exist for \((now - since).components.seconds) s: "
        + "\(names.joined(separator: ", ")) (to create them: magpie topics)"
    case .retry(let reason):
      "waiting for: \(reason)"
    }
  }
}

/// Follows a lane's membership of its consumer group.
///
/// A rebalance of a working group passes within `patience`. A membership that has no assignment
/// after `limit` is given up for a new one: coordinators, and clients, get stuck.
struct GroupWait {
  var patience: Duration
  var limit: Duration
  private(set) var wait: LaneWait?
  private var hasSettled = false
  /// Since when the present membership has been without an assignment.
  private var joining: ContinuousClock.Instant?
  private var nextWord: ContinuousClock.Instant?

  init(patience: Duration, limit: Duration) {
    self.patience = patience
    self.limit = limit
  }

  mutating func note(_ membership: Membership, at now: ContinuousClock.Instant) {
    switch membership {
    case .settled:
      hasSettled = true
      (wait, joining, nextWord) = (nil, nil, nil)
    case .joining:
      joining = joining ?? now
      if case .group? = wait { return }
      wait = .group(since: now)
      nextWord = now + patience
    case .waitingForTopics(let names):
      joining = nil
      if case .topics(let known, _)? = wait, known == names { return }
      wait = .topics(names, since: now)
      nextWord = now
    }
  }

  /// Whether the lane may be called ready: it has been a settled member once, and is one or is about
  /// to be one again.
  func isFit(at now: ContinuousClock.Instant) -> Bool {
    switch wait {
    case nil: hasSettled
    case .group(let since): hasSettled && now - since < patience
    case .topics, .retry: false
    }
  }

  /// Whether to start the membership anew.
  func leadsNowhere(at now: ContinuousClock.Instant) -> Bool {
    joining.map { now - $0 >= limit } ?? false
  }

  /// The membership is started anew, or was left, or nothing better can be had at present.
  mutating func startAnew() { joining = nil }

  /// What to tell people now, at the beginning of a wait and then every half minute.
  mutating func word(at now: ContinuousClock.Instant) -> String? {
    guard let wait, let next = nextWord, now >= next else { return nil }
    nextWord = now + .seconds(30)
    return wait.description(at: now)
  }
}

/// A membership of the consumer group has no assignment after a long time although brokers answer.
struct MembershipLeadsNowhere: Error, CustomStringConvertible {
  var description: String { "the consumer group gives no assignment although brokers answer" }
}
