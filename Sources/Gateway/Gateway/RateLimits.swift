import HTTPTypes
import Synchronization

/// Rate limits per person and per address. Thread-safe.
///
/// Kept in memory, so each gateway counts on its own: N gateways allow N times as much.
final class RateLimits: Sendable {
  /// 0 means no limit, except for `trustedProxies`.
  struct Settings: Sendable {
    var requestsPerSecondPerAddress = 200
    var requestsPerSecondPerPerson = 20
    var streamsPerPerson = 8
    /// The size of large bodies that clients have not taken yet, of all people and of one.
    var responseBytes = GatewayLimits.responseBytes
    var responseBytesPerPerson = GatewayLimits.responseBytesPerPerson
    /// Not enforced behind trusted proxies, because all connections are then the proxies'.
    var connectionsPerAddress = GatewayLimits.connections / 2
    /// See ``ClientAddress``.
    var trustedProxies = 0
  }

  let settings: Settings
  let connections: Places<ClientAddress>
  private let addresses: Mutex<Buckets<ClientAddress>>?
  private let people: Mutex<Buckets<[UInt8]>>?
  private let streams: Mutex<OpenStreams>
  private let responses: ByteBudget
  private let bodies = ByteBudget(
    all: GatewayLimits.arrivingBytes, each: GatewayLimits.actionBytesPerPerson)
  private let actions = ByteBudget(
    all: GatewayLimits.actionBytes, each: GatewayLimits.actionBytesPerPerson)
  private let hasSeenProxy = Mutex(false)
  private let start = ContinuousClock.now

  init(_ settings: Settings) {
    self.settings = settings
    connections = Places(limit: settings.trustedProxies > 0 ? 0 : settings.connectionsPerAddress)
    streams = Mutex(OpenStreams(limit: settings.streamsPerPerson))
    responses = ByteBudget(all: settings.responseBytes, each: settings.responseBytesPerPerson)
    func buckets<Key>(_ perSecond: Int, _: Key.Type) -> Mutex<Buckets<Key>>? {
      perSecond == 0 ? nil : Mutex(Buckets(perSecond: perSecond, keys: GatewayLimits.buckets))
    }
    addresses = buckets(settings.requestsPerSecondPerAddress, ClientAddress.self)
    people = buckets(settings.requestsPerSecondPerPerson, [UInt8].self)
  }

  /// Counts a request before any of it is examined.
  ///
  /// - Throws: ``Problem`` if there were too many.
  func countRequest(from address: ClientAddress) throws(Problem) {
    let now = seconds
    try refuse(addresses?.withLock { $0.take(address, now: now) }, "from this address")
  }

  /// Counts a request without a valid identity as ``GatewayLimits/requestsPerFailure`` requests in
  /// total.
  func countFailure(from address: ClientAddress) {
    let now = seconds
    addresses?.withLock {
      $0.charge(address, tokens: GatewayLimits.requestsPerFailure - 1, now: now)
    }
  }

  /// Counts a request of a person whom a token has authenticated.
  ///
  /// - Throws: ``Problem`` if there were too many.
  func countRequest(of person: String) throws(Problem) {
    let now = seconds
    try refuse(people?.withLock { $0.take(Array(person.utf8), now: now) }, "of this person")
  }

  /// Takes one of the person's stream places; it is held as long as the result exists. If all are
  /// taken, the oldest stream is ended, unless it has begun just now.
  ///
  /// - Parameter end: ends this stream; called when it is refused, replaced by a newer one, or when
  ///   the result no longer exists.
  /// - Throws: ``Problem`` if the stream is refused.
  func stream(of person: String, end: @escaping @Sendable () -> Void) throws(Problem) -> Place {
    let (key, now) = (Array(person.utf8), seconds)
    switch streams.withLock({ $0.open(key, now: now, end: end) }) {
    case .opened(let id, let endOldest):
      endOldest?()
      return Place { [self] in
        streams.withLock { $0.close(id, of: key) }
        end()
      }
    case .refused(let seconds):
      end()
      throw limited(Int(seconds.rounded(.up)), "The person has too many streams open.")
    }
  }

  /// Takes room for the response's body; it is held as long as the result exists. A person who has
  /// none may exceed their share, so that no body is too large for it.
  ///
  /// - Throws: ``Problem`` if there is none.
  func response(_ bytes: Int, of person: String) throws(Problem) -> Place {
    try place(
      responses.take(bytes, of: person), retryAfter: 5,
      "The person has not taken the responses to earlier requests.",
      "Too many clients have not taken their responses.")
  }

  /// Takes room for a request's body while it arrives. Not of what ``action(_:of:)`` has: a few people who send
  /// nothing of what they have announced take nothing from others.
  ///
  /// - Throws: ``Problem`` if there is none.
  func body(_ bytes: Int, of person: String) throws(Problem) -> Place {
    try place(
      bodies.take(bytes, of: person), retryAfter: 1,
      "The person's earlier requests have not arrived yet.",
      "Too many requests have not arrived yet.")
  }

  /// Takes room for an action, until Kafka has acknowledged its event.
  ///
  /// - Throws: ``Problem`` if there is none.
  func action(_ bytes: Int, of person: String) throws(Problem) -> Place {
    try place(
      actions.take(max(bytes, GatewayLimits.actionBytesMin), of: person), retryAfter: 1,
      "Kafka has not acknowledged the person's earlier actions.",
      "Kafka has not acknowledged earlier actions.")
  }

  /// Whether a refused request is the first sign that a proxy's clients are counted as one address.
  func isFirstOfProxy(_ headers: HTTPFields) -> Bool {
    guard settings.trustedProxies == 0, headers[.xForwardedFor] != nil else { return false }
    return hasSeenProxy.withLock { hasSeen in
      defer { hasSeen = true }
      return !hasSeen
    }
  }

  private var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

  private func refuse(_ wait: Double?, _ whose: String) throws(Problem) {
    guard let wait else { return }
    throw limited(Int(wait.rounded(.up)), "There are too many requests \(whose).")
  }

  private func place(
    _ taking: ByteBudget.Taking, retryAfter seconds: Int, _ ownShareIsTaken: String,
    _ allIsTaken: String
  ) throws(Problem) -> Place {
    switch taking {
    case .taken(let place): return place
    case .ownShareIsTaken: throw limited(seconds, ownShareIsTaken)
    case .allIsTaken: throw Problem(.overloaded, allIsTaken)
    }
  }

  private func limited(_ seconds: Int, _ detail: String) -> Problem {
    var problem = Problem(.rateLimited, detail)
    problem.retryAfterSeconds = max(1, seconds)
    return problem
  }
}
