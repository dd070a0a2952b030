import Devices
public import Events
import Providers
import Pushing
import Synchronization

/// What passes between the lanes, which claim and record, and the sender. Thread-safe and bounded: lanes
/// claim only what there is a place for.
public final class Outbox: Sendable {
  /// A provider and what is rated and broken together at it.
  struct Scope: Hashable {
    var provider: PushProvider
    var name: String
  }

  private struct State {
    /// Claims without an answer, and places of pieces that have not been committed.
    var underWay: [Scope: Int] = [:]
    var underWayAt: [PushProvider: Int] = [:]
    var count = 0
    var answers: [Int64: Answered] = [:]
    var breakers: [Scope: Breaker] = [:]
    var allowances: [Scope: Allowance] = [:]
    /// When the devices were registered or removed whose claims may still be on their way.
    var changed: [DeviceKey: EventTime] = [:]
    var isFinished = false
  }

  /// More scopes and devices than this are forgotten.
  private static let keptMax = 10_000
  /// The most requests to one webhook's server at the same time.
  private static let underWayAtWebhookMax = 20

  /// The claims to send, in the order of their commits. For one consumer.
  public let claims: AsyncStream<Claim>
  private let continuation: AsyncStream<Claim>.Continuation
  private let capacity: Int
  private let rate: Int64
  private let state = Mutex(State())

  /// - Parameters:
  ///   - capacity: the most claims that are under way, or have an answer that is not recorded yet. One
  ///     provider has at most three quarters of these places, and one of its scopes half, so that one
  ///     that does not answer leaves places for the others.
  ///   - rate: messages a second for each scope, 1 to 1,000,000.
  public init(capacity: Int, rate: Int64) {
    (self.capacity, self.rate) = (capacity, rate)
    (claims, continuation) = AsyncStream.makeStream()
  }

  /// Whether there is a place for a claim.
  var hasRoom: Bool { state.withLock { hasRoom($0, freed: 0) } }

  /// How many claims have no answer yet.
  public var underWay: Int { state.withLock { $0.count } }

  private func hasRoom(_ state: State, freed: Int) -> Bool {
    !state.isFinished && state.count + state.answers.count < capacity + freed
  }

  private func hasRoom(_ state: State, for scope: Scope) -> Bool {
    let most = scope.provider == .webhook ? Self.underWayAtWebhookMax : capacity
    return (state.underWay[scope] ?? 0) < max(1, min(most, capacity / 2))
      && (state.underWayAt[scope.provider] ?? 0) < max(1, capacity * 3 / 4)
  }

  /// What becomes of a request for a place.
  enum Admission: Equatable {
    case admitted
    /// Not now; to be asked again at this time.
    case later(EventTime)
    /// There is no place until an answer comes.
    case full
  }

  /// Takes a place and the allowance for one message.
  ///
  /// - Parameter freed: the answers that the same transaction records.
  fileprivate func admit(_ scope: Scope, freed: Int, now: EventTime) -> Admission {
    state.withLock { state in
      guard hasRoom(state, freed: freed) else { return .full }
      Self.forgetStrangers(&state)
      let fresh = Allowance(rate: rate, burst: rate, now: now)
      if let breaker = state.breakers[scope],
        !breaker.permits(underWay: state.underWay[scope] ?? 0, now: now)
      {
        // After the time, one is tried at a time.
        let soon = EventTime(microseconds: now.microseconds + 1_000_000)
        let open = max(breaker.openUntil ?? soon, soon)
        return .later(state.allowances[scope, default: fresh].turn(after: open))
      }
      guard hasRoom(state, for: scope) else { return .full }
      guard state.allowances[scope, default: fresh].take(now: now) else {
        return .later(state.allowances[scope, default: fresh].turn(after: now))
      }
      Self.count(scope, 1, &state)
      return .admitted
    }
  }

  private static func count(_ scope: Scope, _ change: Int, _ state: inout State) {
    state.count += change
    state.underWay[scope, default: 0] += change
    if state.underWay[scope] == 0 { state.underWay[scope] = nil }
    state.underWayAt[scope.provider, default: 0] += change
  }

  /// Forgets endpoints' scopes, which strangers choose, when there are too many; never an app's.
  private static func forgetStrangers(_ state: inout State) {
    func isKept(_ scope: Scope) -> Bool { scope.provider == .apns || scope.provider == .fcm }
    if state.breakers.count > keptMax { state.breakers = state.breakers.filter { isKept($0.key) } }
    if state.allowances.count > keptMax {
      state.allowances = state.allowances.filter { isKept($0.key) }
    }
  }

  /// Hands over committed claims, whose places were taken.
  fileprivate func put(_ claims: [Claim]) {
    for claim in claims where !isYielded(claim) {
      // The process stops. The row is sent again when it is due.
      state.withLock { Self.count(claim.outboxScope, -1, &$0) }
    }
  }

  private func isYielded(_ claim: Claim) -> Bool {
    if case .terminated = continuation.yield(claim) { false } else { true }
  }

  fileprivate func giveBack(_ places: [Scope: Int]) {
    state.withLock { state in
      for (scope, count) in places { Self.count(scope, -count, &state) }
    }
  }

  /// Ends ``claims`` after those that it has, and gives no more places.
  public func finish() {
    state.withLock { $0.isFinished = true }
    continuation.finish()
  }

  /// Notes what became of a claim that ``claims`` returned. Each claim must be noted once.
  public func note(_ answered: Answered) {
    let claim = answered.claim
    let scope = claim.outboxScope
    state.withLock { state in
      Self.count(scope, -1, &state)
      Self.note(answered, &state.breakers[scope])
      // A repetition follows from the row.
      switch answered.outcome {
      case .unanswered, .unsent: return
      case .answer, .unsendable: state.answers[claim.number] = answered
      }
    }
  }

  private static func note(_ answered: Answered, _ breaker: inout Breaker?) {
    func fail(_ demanded: Duration = .zero) {
      breaker = breaker ?? Breaker()
      breaker?.fail(
        sentAt: answered.claim.preparedAt, demandedMicroseconds: demanded.microseconds,
        now: answered.at)
    }
    switch answered.outcome {
    case .answer(.providerBroken(_, let after)): fail(after)
    // Many in a row are a wrong topic or environment, not as many wrong tokens.
    case .answer(.refused), .unanswered: fail()
    // Every failure of a webhook's server is one of its own; elsewhere, one device is to be left alone.
    case .answer(.retry) where answered.claim.device.provider == .webhook: fail()
    case .answer(.accepted), .answer(.tokenGone):
      breaker?.succeed(sentAt: answered.claim.preparedAt)
      if breaker == Breaker() { breaker = nil }
    case .answer(.retry), .unsendable, .unsent: break
    }
  }

  /// Answers of these partitions that are not recorded yet. Forgets those whose claims are due again, and
  /// so are with the new owner of their partition.
  func answers(of partitions: [Int32], limit: Int, now: EventTime) -> [Answered] {
    let own = Set(partitions)
    return state.withLock { state in
      state.answers = state.answers.filter {
        own.contains($0.value.claim.partition) || $0.value.claim.dueAt > now
      }
      return Array(
        state.answers.values.lazy.filter { own.contains($0.claim.partition) }.prefix(limit))
    }
  }

  /// Whether answers are not recorded yet.
  public var hasAnswers: Bool { state.withLock { !$0.answers.isEmpty } }

  /// Forgets answers that are recorded.
  func remove(_ answers: [Answered]) {
    state.withLock { state in
      for answer in answers { state.answers[answer.claim.number] = nil }
    }
  }

  /// Notes that devices are about to be registered or removed: earlier claims of them are not sent.
  func noteChanges(_ devices: [DeviceKey], now: EventTime) {
    state.withLock { state in
      // No claim is on its way for so long.
      let oldest = now.microseconds - 120_000_000
      state.changed = state.changed.filter { $0.value.microseconds > oldest }
      if state.changed.count > Self.keptMax { state.changed = [:] }
      for device in devices { state.changed[device] = now }
    }
  }

  /// Whether the claim's device was registered or removed after it was read, so that the token may not be its
  /// any more. The row is looked at again when it is due.
  public func isOutdated(_ claim: Claim) -> Bool {
    state.withLock { state in
      state.changed[DeviceKey(claim.device)].map { $0 > claim.preparedAt } ?? false
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

/// The places of a piece: given back when its transaction does not commit. Thread-safe.
final class Places: Sendable {
  private let outbox: Outbox
  private let freed: Int
  private let taken = Mutex<[Outbox.Scope: Int]>([:])

  /// - Parameter freed: the answers that the same transaction records.
  init(in outbox: Outbox, freed: Int) { (self.outbox, self.freed) = (outbox, freed) }

  deinit { outbox.giveBack(taken.withLock { $0 }) }

  /// Takes a place, and the allowance, for one message.
  func take(_ scope: Outbox.Scope, now: EventTime) -> Outbox.Admission {
    let admission = outbox.admit(scope, freed: freed, now: now)
    if admission == .admitted { taken.withLock { $0[scope, default: 0] += 1 } }
    return admission
  }

  /// Hands over committed claims; places that they did not need are given back.
  func put(_ claims: [Claim]) {
    taken.withLock { taken in
      for claim in claims { taken[claim.outboxScope, default: 0] -= 1 }
    }
    outbox.put(claims)
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
