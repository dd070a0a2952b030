import Devices
public import Events
import Providers
import Pushing
import Synchronization

/// The queue between the lanes, which claim messages and record answers, and the sender. Bounded: a
/// lane claims a message only after it has taken a place for it. Thread-safe.
public final class Outbox: Sendable {
  /// The unit of rate limiting and circuit breaking: see `DeviceToken.scope(at:app:)`.
  struct Scope: Hashable {
    var provider: PushProvider
    var name: String
  }

  private enum Changed: Hashable {
    case device(DeviceKey)
    /// By its fingerprint.
    case token([UInt8])
  }

  private struct State {
    /// Places taken: those of claims without an answer, and of transactions that have not
    /// committed.
    var underWay: [Scope: Int] = [:]
    var underWayAt: [PushProvider: Int] = [:]
    var count = 0
    var answers: [Int64: Answered] = [:]
    var breakers: [Scope: Breaker] = [:]
    var allowances: [Scope: Allowance] = [:]
    /// When devices were last registered or removed, and when tokens were last registered. Kept while earlier claims
    /// of them may still be sent.
    var changed: [Changed: EventTime] = [:]
    /// When these became too many to be kept: no earlier claim is sent.
    var forgottenAt: EventTime?
    /// When a lane last began a turn.
    var turnAt: EventTime?
    var isFinished = false
  }

  /// Entries are dropped above this many breakers, allowances, or changed devices and tokens.
  private static let keptMax = 10_000
  /// The most concurrent requests to one webhook's server.
  private static let underWayAtWebhookMax = 20
  /// The alarms of one message that was not accepted, or found no place, are held for this time at most, so that they become
  /// one message again. The usual wait for a device that gets too much is a minute, and up to a quarter more.
  static let heldMicroseconds: Int64 = 90_000_000
  /// Lanes that begin a turn at the same time have read the clock in any order, but within this time.
  static let simultaneousMicroseconds: Int64 = 10_000_000

  /// The claims to send, in the order of their commits. For one consumer.
  public let claims: AsyncStream<Claim>
  private let continuation: AsyncStream<Claim>.Continuation
  private let capacity: Int
  private let rate: Int64
  private let state = Mutex(State())

  /// - Parameters:
  ///   - capacity: the number of places: the most claims that have no answer, or an answer that is
  ///     not recorded yet. One provider takes at most three quarters of them, and one scope half,
  ///     so that a provider that does not answer leaves places for the others.
  ///   - rate: messages a second for each scope, 1 to 1,000,000.
  public init(capacity: Int, rate: Int64) {
    (self.capacity, self.rate) = (capacity, rate)
    (claims, continuation) = AsyncStream.makeStream()
  }

  /// Whether any place is free.
  var hasRoom: Bool { state.withLock { hasRoom($0, freed: 0) } }

  /// How many claims have no answer yet, including those that are about to be committed.
  public var underWay: Int { state.withLock { $0.count } }

  private func hasRoom(_ state: State, freed: Int) -> Bool {
    !state.isFinished && state.count + state.answers.count < capacity + freed
  }

  private func hasRoom(_ state: State, for scope: Scope) -> Bool {
    let most = scope.provider == .webhook ? Self.underWayAtWebhookMax : capacity
    return (state.underWay[scope] ?? 0) < max(1, min(most, capacity / 2))
      && (state.underWayAt[scope.provider] ?? 0) < max(1, capacity * 3 / 4)
  }

  /// The answer to a request for a place.
  enum Admission: Equatable {
    case admitted
    /// The breaker or the rate does not permit it now; ask again at this time.
    case later(EventTime)
    /// No place is free until an answer arrives.
    case full
    /// The scope has its share of the places until one of its requests is answered.
    case scopeFull
  }

  /// Takes a place, and one message of the scope's rate.
  ///
  /// - Parameter freed: how many answers the same transaction records. Their places count as free.
  fileprivate func admit(_ scope: Scope, freed: Int, now: EventTime) -> Admission {
    state.withLock { state in
      guard hasRoom(state, freed: freed) else { return .full }
      Self.forgetScopes(&state)
      let fresh = Allowance(rate: rate, burst: rate, now: now)
      if let breaker = state.breakers[scope],
        !breaker.permits(underWay: state.underWay[scope] ?? 0, now: now)
      {
        // Even after `openUntil` the breaker permits only one request at a time.
        let soon = EventTime(microseconds: now.microseconds + 1_000_000)
        let open = max(breaker.openUntil ?? soon, soon)
        return .later(state.allowances[scope, default: fresh].turn(after: open))
      }
      guard hasRoom(state, for: scope) else { return .scopeFull }
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

  /// Drops scopes if there are too many, because whoever registers a device chooses its scope. Drops
  /// half of them or more, so that this is rare.
  private static func forgetScopes(_ state: inout State) {
    if state.allowances.count > keptMax { state.allowances = [:] }
    guard state.breakers.count > keptMax else { return }
    // What is dropped is learned again within a few requests, so keep those that end last.
    let closed = EventTime(microseconds: .min)
    let ordered = state.breakers.sorted {
      ($0.value.openUntil ?? closed) > ($1.value.openUntil ?? closed)
    }
    state.breakers = Dictionary(
      uniqueKeysWithValues: ordered.prefix(keptMax / 2).map { ($0.key, $0.value) })
  }

  /// Passes committed claims to the sender. Their places are taken already.
  fileprivate func put(_ claims: [Claim]) {
    for claim in claims where !isYielded(claim) {
      // The outbox is finished. The row is sent again when it is due.
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

  /// Ends ``claims`` after those that are already in it, and gives out no more places.
  public func finish() {
    state.withLock { $0.isFinished = true }
    continuation.finish()
  }

  /// Notes how a claim of ``claims`` ended. Must be called exactly once for each claim.
  public func note(_ answered: Answered) {
    let claim = answered.claim
    let scope = claim.outboxScope
    state.withLock { state in
      Self.count(scope, -1, &state)
      Self.note(answered, &state.breakers[scope])
      // There is nothing to record: the row itself is sent again when it is due.
      switch answered.outcome {
      case .unanswered, .unsent: return
      case .answer, .unsendable: state.answers[claim.number] = answered
      }
    }
  }

  private static func note(_ answered: Answered, _ breaker: inout Breaker?) {
    let provider = answered.claim.device.provider
    func fail(_ demanded: Duration = .zero) {
      breaker = breaker ?? Breaker()
      breaker?.fail(
        sentAt: answered.claim.preparedAt, demandedMicroseconds: demanded.microseconds,
        now: answered.at)
    }
    func refuse(_ demanded: Duration = .zero) {
      breaker = breaker ?? Breaker()
      breaker?.refuse(
        answered.claim.device.user, sentAt: answered.claim.preparedAt,
        demandedMicroseconds: demanded.microseconds, now: answered.at)
    }
    switch answered.outcome {
    // A webhook's scope is its own server, so a retry is that server's failure, also the last one,
    // which is a refusal. Elsewhere a retry concerns one device, but a push service does not say whether too many
    // messages are for the device or for all.
    case .answer(.retry) where provider == .webhook: fail()
    case .answer(.retry(WebPush.tooMany, let after)) where provider == .webPush: refuse(after)
    case .answer(.refused) where provider == .webhook: fail()
    // Refusals of many people in a row mean a wrong topic or environment, or wrong credentials; a
    // single one may be about the token.
    case .answer(.refused): refuse()
    case .answer(.providerBroken(WebPush.unauthorized, _)) where provider == .webPush: refuse()
    case .answer(.providerBroken(_, let after)): fail(after)
    case .unanswered: fail()
    case .answer(.accepted), .answer(.tokenGone):
      breaker?.succeed(sentAt: answered.claim.preparedAt)
      if breaker == Breaker() { breaker = nil }
    case .answer(.retry), .unsendable, .unsent: break
    }
  }

  /// The answers of these partitions that are not recorded yet, for a turn that begins now. Drops those
  /// of other partitions whose claims are due again: the partition's new owner sends these claims again.
  func answers(of partitions: [Int32], limit: Int, now: EventTime) -> [Answered] {
    let own = Set(partitions)
    return state.withLock { state in
      Self.beginTurn(now, &state)
      state.answers = state.answers.filter {
        own.contains($0.value.claim.partition) || $0.value.claim.dueAt > now
      }
      return Array(
        state.answers.values.lazy.filter { own.contains($0.claim.partition) }.prefix(limit))
    }
  }

  /// If the clock was set back, what is later than now counts as of now: otherwise it would be waited for.
  private static func beginTurn(_ now: EventTime, _ state: inout State) {
    let last = state.turnAt ?? now
    state.turnAt = now
    guard now.microseconds < last.microseconds - simultaneousMicroseconds else { return }
    for scope in state.breakers.keys { state.breakers[scope]?.setBack(to: now) }
    for scope in state.allowances.keys { state.allowances[scope]?.setBack(to: now) }
    state.changed = state.changed.mapValues { min($0, now) }
    state.forgottenAt = state.forgottenAt.map { min($0, now) }
  }

  /// Whether any answers are not recorded yet.
  public var hasAnswers: Bool { state.withLock { !$0.answers.isEmpty } }

  /// Drops answers that are recorded, which frees their places.
  func remove(_ answers: [Answered]) {
    state.withLock { state in
      for answer in answers { state.answers[answer.claim.number] = nil }
    }
  }

  /// Notes that devices are about to be registered or removed, or were just now, so that earlier
  /// claims of them are not sent.
  ///
  /// - Parameter tokens: the fingerprints of the registered tokens, which may have belonged to others until now.
  func noteChanges(_ devices: [DeviceKey], tokens: [[UInt8]] = [], now: EventTime) {
    state.withLock { state in
      // No claim waits to be sent for as long as this.
      let oldest = now.microseconds - 120_000_000
      state.changed = state.changed.filter { $0.value.microseconds > oldest }
      if state.changed.count > Self.keptMax { (state.changed, state.forgottenAt) = ([:], now) }
      for device in devices { state.changed[.device(device)] = now }
      for token in tokens { state.changed[.token(token)] = now }
    }
  }

  /// Whether the device was registered or removed after the claim read it, so that the token may no
  /// longer be its own. The row is evaluated again when it is due.
  public func isOutdated(_ claim: Claim) -> Bool {
    state.withLock { state in
      [
        state.changed[.device(DeviceKey(claim.device))],
        state.changed[.token(claim.fingerprint)], state.forgottenAt,
      ].contains { $0.map { $0 > claim.preparedAt } ?? false }
    }
  }

  /// The end of the time in which a scope's breaker permits nothing; nil if the breaker is closed.
  func openUntil(_ scope: Scope) -> EventTime? {
    state.withLock { $0.breakers[scope]?.openUntil }
  }

  /// How many scopes have failed since their last success.
  var breakerCount: Int { state.withLock { $0.breakers.count } }

  /// How many scopes of each provider have an open breaker, for metrics.
  public func broken(now: EventTime) -> [PushProvider: Int] {
    state.withLock { state in
      var counts: [PushProvider: Int] = [:]
      for (scope, breaker) in state.breakers where breaker.isOpen(now: now) {
        counts[scope.provider, default: 0] += 1
      }
      return counts
    }
  }
}

/// The places that one transaction has taken. Those that are not used by ``put(_:)``, as after a
/// rollback, are given back on deinit. Thread-safe.
final class Places: Sendable {
  private let outbox: Outbox
  private let freed: Int
  private let taken = Mutex<[Outbox.Scope: Int]>([:])

  /// - Parameter freed: how many answers the same transaction records.
  init(in outbox: Outbox, freed: Int) { (self.outbox, self.freed) = (outbox, freed) }

  deinit { outbox.giveBack(taken.withLock { $0 }) }

  /// Takes a place, and one message of the scope's rate.
  func take(_ scope: Outbox.Scope, now: EventTime) -> Outbox.Admission {
    let admission = outbox.admit(scope, freed: freed, now: now)
    if admission == .admitted { taken.withLock { $0[scope, default: 0] += 1 } }
    return admission
  }

  /// Passes committed claims to the sender. Places that they did not need are given back on deinit.
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
