import Devices
public import Events
import Providers
import Pushing
import Synchronization

/// What passes between the lanes, which claim and record, and the sender. Thread-safe and bounded: lanes
/// claim only as much as there is room for.
public final class Outbox: Sendable {
  /// A provider and what is rated and broken together at it.
  struct Scope: Hashable {
    var provider: PushProvider
    var name: String
  }

  private struct State {
    var underWay: [Scope: Int] = [:]
    var count = 0
    var answers: [Int64: Answered] = [:]
    var breakers: [Scope: Breaker] = [:]
    var allowances: [Scope: Allowance] = [:]
  }

  /// More scopes than this are forgotten: those of endpoints are chosen by strangers.
  private static let scopesMax = 10_000

  /// The claims to send, in the order of their commits. For one consumer.
  public let claims: AsyncStream<Claim>
  private let continuation: AsyncStream<Claim>.Continuation
  private let capacity: Int
  private let rate: Int64
  private let state = Mutex(State())

  /// - Parameters:
  ///   - capacity: the most claims that are under way, or have an answer that is not recorded yet. Two
  ///     lanes that claim at the same moment may exceed it, by as much each.
  ///   - rate: messages a second for each scope, 1 to 1,000,000.
  public init(capacity: Int, rate: Int64) {
    (self.capacity, self.rate) = (capacity, rate)
    (claims, continuation) = AsyncStream.makeStream()
  }

  /// How many more claims there is room for.
  var room: Int { state.withLock { max(0, capacity - $0.count - $0.answers.count) } }

  /// How many claims have no answer yet.
  public var underWay: Int { state.withLock { $0.count } }

  /// Takes the allowance for one message.
  ///
  /// - Returns: nil if it may be claimed now; else when to look again.
  func admit(_ scope: Scope, now: EventTime) -> EventTime? {
    state.withLock { state in
      if state.breakers.count > Self.scopesMax { state.breakers = [:] }
      if state.allowances.count > Self.scopesMax { state.allowances = [:] }
      if let breaker = state.breakers[scope],
        !breaker.permits(underWay: state.underWay[scope] ?? 0, now: now)
      {
        // After the time, one is tried at a time.
        let soon = EventTime(microseconds: now.microseconds + 1_000_000)
        return max(breaker.openUntil ?? soon, soon)
      }
      return state.allowances[scope, default: Allowance(rate: rate, burst: rate, now: now)]
        .take(now: now)
    }
  }

  /// Hands over committed claims.
  func put(_ claims: [Claim]) {
    state.withLock { state in
      state.count += claims.count
      for claim in claims { state.underWay[claim.outboxScope, default: 0] += 1 }
    }
    for claim in claims { continuation.yield(claim) }
  }

  /// Ends ``claims`` after those that it has.
  public func finish() { continuation.finish() }

  /// Notes what became of a claim that ``claims`` returned. Each claim must be noted once.
  public func note(_ answered: Answered) {
    let claim = answered.claim
    let scope = claim.outboxScope
    state.withLock { state in
      state.count -= 1
      state.underWay[scope] = (state.underWay[scope] ?? 1) - 1
      if state.underWay[scope] == 0 { state.underWay[scope] = nil }
      switch answered.outcome {
      case .answer(.providerBroken(_, let after)):
        state.breakers[scope, default: Breaker()].fail(
          demandedMicroseconds: after.microseconds, now: answered.at)
      case .unanswered:
        state.breakers[scope, default: Breaker()].fail(demandedMicroseconds: 0, now: answered.at)
      case .answer, .lost: state.breakers[scope] = nil
      case .unsendable: break
      }
      // A repetition follows from the row.
      if case .unanswered = answered.outcome { return }
      state.answers[claim.number] = answered
    }
  }

  /// Answers that are not recorded yet.
  func answers(limit: Int) -> [Answered] {
    state.withLock { Array($0.answers.values.prefix(limit)) }
  }

  /// Forgets answers that are recorded.
  func remove(_ answers: [Answered]) {
    state.withLock { state in
      for answer in answers { state.answers[answer.claim.number] = nil }
    }
  }

  /// Until when nothing is sent to a scope, if its breaker is open.
  func openUntil(_ scope: Scope) -> EventTime? {
    state.withLock { $0.breakers[scope]?.openUntil }
  }

  /// How many scopes of each provider are broken, for metrics.
  public func broken(now: EventTime) -> [PushProvider: Int] {
    state.withLock { state in
      var counts: [PushProvider: Int] = [:]
      for (scope, breaker) in state.breakers where breaker.openUntil.map({ $0 > now }) ?? false {
        counts[scope.provider, default: 0] += 1
      }
      return counts
    }
  }
}

extension Claim {
  var outboxScope: Outbox.Scope { Outbox.Scope(provider: device.provider, name: scope) }
}

extension Duration {
  /// Whole microseconds, rounded down; at most those of a century.
  var microseconds: Int64 {
    let (seconds, attoseconds) = components
    return min(max(seconds, 0), 3_155_760_000) * 1_000_000 + attoseconds / 1_000_000_000_000
  }
}
