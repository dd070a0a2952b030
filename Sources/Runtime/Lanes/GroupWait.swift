import Kafka

/// What a lane waits for.
public enum LaneWait: Sendable, Equatable {
  /// Its consumer group gives it no assignment.
  case group(since: ContinuousClock.Instant)
  /// These topics do not exist, or the Kafka user may not `Describe` them: brokers say the same of both.
  case topics([String], since: ContinuousClock.Instant)
  /// To retry a failed operation, for a reason such as `schema` or `connection`.
  case retry(reason: String)

  /// For logs and `/readyz`.
  package func description(at now: ContinuousClock.Instant) -> String {
    switch self {
    case .group(let since):
      "waits for its consumer group for \((now - since).components.seconds) s"
    case .topics(let names, let since):
      "waits for topics that do not exist, or that the Kafka user may not Describe, for "
        + "\((now - since).components.seconds) s: \(names.joined(separator: ", ")) (to create them: magpie topics)"
    case .retry(let reason):
      "waiting for: \(reason)"
    }
  }
}

/// Tracks a lane's membership of its consumer group.
///
/// A normal rebalance ends within `patience`. A membership without an assignment after `limit` is
/// replaced by a new one, because coordinators and clients can get stuck. Each replacement makes the
/// other members rebalance, so the limit doubles, up to eightfold, until a membership settles.
struct GroupWait {
  var patience: Duration
  var limit: Duration
  private(set) var wait: LaneWait?
  private var hasSettled = false
  /// The time limit of the current membership.
  private(set) var currentLimit: Duration
  /// When the current membership lost its assignment, or began without one.
  private var joining: ContinuousClock.Instant?
  private var nextWord: ContinuousClock.Instant?

  init(patience: Duration, limit: Duration) {
    self.patience = patience
    self.limit = limit
    currentLimit = limit
  }

  mutating func note(_ membership: Membership, at now: ContinuousClock.Instant) {
    switch membership {
    case .settled:
      hasSettled = true
      (wait, joining, nextWord) = (nil, nil, nil)
      currentLimit = limit
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

  /// Whether the lane counts as ready: it is a settled member, or was one and is rebalancing.
  func isFit(at now: ContinuousClock.Instant) -> Bool {
    switch wait {
    case nil: hasSettled
    case .group(let since): hasSettled && now - since < patience
    case .topics, .retry: false
    }
  }

  /// Whether to replace the membership.
  func leadsNowhere(at now: ContinuousClock.Instant) -> Bool {
    joining.map { now - $0 >= currentLimit } ?? false
  }

  /// Restarts the time limit: for a new membership, or because no broker responds.
  mutating func startAnew() { joining = nil }

  /// The membership is replaced because it led nowhere.
  mutating func giveUp() { currentLimit = min(currentLimit * 2, limit * 8) }

  /// The text to log now, if any: at the beginning of a wait, then every 30 seconds.
  mutating func word(at now: ContinuousClock.Instant) -> String? {
    guard let wait, let next = nextWord, now >= next else { return nil }
    nextWord = now + .seconds(30)
    return wait.description(at: now)
  }
}

/// A membership of the consumer group got no assignment within the limit although brokers respond.
struct MembershipLeadsNowhere: Error, CustomStringConvertible {
  var description: String { "no assignment from the consumer group although brokers respond" }
}
