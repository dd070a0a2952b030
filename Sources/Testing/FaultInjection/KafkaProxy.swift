import Foundation
import Synchronization

/// A proxy for the brokers of a Kafka cluster on the loopback interface, with one port per broker.
/// It simulates cluster faults: brokers that refuse clients, stale metadata, a log whose beginning
/// was deleted, a different cluster at the same address. Thread-safe.
///
/// Listens with SASL PLAIN and accepts every login unless `conditions` say otherwise. It rewrites
/// responses of a few APIs and limits clients to the API versions that it supports.
public final class KafkaProxy: Sendable {
  /// How a broker treats new connections.
  public enum Admission: Sendable, Hashable {
    case accepts
    /// Accepts the connection and closes it.
    case closes
    /// Rejects the login, as if the password was changed on this broker alone.
    case refusesLogin
  }

  /// The simulated faults.
  public struct Conditions: Sendable, Hashable {
    /// By broker, counted from 0; other brokers accept every client.
    public var admissions: [Int: Admission] = [:]
    /// Topics that metadata responses report as unknown.
    public var unknownTopics: Set<String> = []
    /// Broker ids that metadata responses leave out, as if these brokers were down.
    public var unlistedBrokers: Set<Int> = []
    /// Simulated log start offsets by topic and partition. Fetches of these partitions fail as out
    /// of range.
    public var logStarts: [String: [Int: Int64]] = [:]
    /// Whether fetched records do not match their checksum, as on a broken disk.
    public var damagesRecords = false

    /// No faults.
    public init() {}
  }

  /// The client properties for logging in.
  public static let clientProperties = [
    "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "anybody",
    "sasl.password": "anything",
  ]

  /// The addresses that clients connect to.
  public let bootstrap: String

  private struct State {
    /// The brokers' ports, in order.
    var ports: [Int]
    var conditions = Conditions()
    var links: [(broker: Int, link: Link)] = []
    var refusals = 0
    var requests: [Int: Int] = [:]
    var responsesRewritten = 0
    var isClosed = false
  }

  private let listeners: [(descriptor: Int32, port: UInt16)]
  private let state: Mutex<State>

  /// API keys, and the newest versions whose responses `KafkaBytes` can rewrite.
  private enum Key {
    static let fetch = 1
    static let listOffsets = 2
    static let metadata = 3
    static let findCoordinator = 10
    static let saslHandshake = 17
    static let apiVersions = 18
    static let saslAuthenticate = 36
    static let versionsMax = [fetch: 11, listOffsets: 5, metadata: 8, findCoordinator: 2]
  }

  /// Starts a proxy for the brokers, given as `host:port` separated by commas. The host must be
  /// 127.0.0.1.
  public init(to brokers: String) throws {
    let ports = Self.ports(brokers)
    state = Mutex(State(ports: ports))
    // Sending to a closed connection must return an error instead of ending this process.
    signal(SIGPIPE, SIG_IGN)
    listeners = try ports.map { _ in try listenOnLoopback() }
    bootstrap = listeners.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    for index in listeners.indices { Thread.detachNewThread { [self] in acceptAll(index) } }
  }

  /// The current faults. Open connections stay open; see `disconnect`.
  public var conditions: Conditions {
    get { state.withLock { $0.conditions } }
    set { state.withLock { $0.conditions = newValue } }
  }

  /// Changes several conditions atomically.
  public func change(_ body: @Sendable (inout Conditions) -> Void) {
    state.withLock { body(&$0.conditions) }
  }

  /// The number of refused connections and logins so far.
  public var refusals: Int { state.withLock { $0.refusals } }

  /// The number of requests with this API key so far.
  public func requests(_ key: Int) -> Int { state.withLock { $0.requests[key, default: 0] } }

  /// The number of rewritten responses so far, not counting address changes.
  public var responsesRewritten: Int { state.withLock { $0.responsesRewritten } }

  /// The number of brokers.
  public var brokers: Int { listeners.count }

  /// Switches to another cluster with the same number of brokers and ends existing connections.
  public func switchCluster(to brokers: String) {
    state.withLock { $0.ports = Self.ports(brokers) }
    disconnect()
  }

  /// Ends the connections to a broker, or to all brokers.
  public func disconnect(broker: Int? = nil) {
    for (index, link) in state.withLock({ $0.links }) where broker ?? index == index {
      link.endRequests()
    }
  }

  /// Stops listening and ends every connection. May be called twice.
  public func close() {
    let wasClosed = state.withLock { state in
      defer { state.isClosed = true }
      return state.isClosed
    }
    if wasClosed { return }
    for listener in listeners { shutdown(listener.descriptor, Int32(SHUT_RDWR)) }
    for (_, link) in state.withLock({ $0.links }) { link.end() }
  }

  private static func ports(_ brokers: String) -> [Int] {
    brokers.split(separator: ",").compactMap { $0.split(separator: ":").last.flatMap { Int($0) } }
  }

  /// Whether the broker refuses clients in this way; counts refusals.
  private func refuses(_ broker: Int, by admission: Admission) -> Bool {
    state.withLock { state in
      guard state.conditions.admissions[broker] == admission else { return false }
      state.refusals += 1
      return true
    }
  }

  private func acceptAll(_ broker: Int) {
    let listener = listeners[broker].descriptor
    while true {
      let client = accept(listener, nil, nil)
      let (isClosed, ports) = state.withLock { ($0.isClosed, $0.ports) }
      if isClosed {
        if client >= 0 { _ = Foundation.close(client) }
        break
      }
      guard client >= 0 else {
        // Probably out of descriptors; retry once some are free.
        Thread.sleep(forTimeInterval: 0.01)
        continue
      }
      disableNagle(client)
      guard !refuses(broker, by: .closes),
        let server = ServerAddress.tcp(host: "127.0.0.1", port: "\(ports[broker])").connected()
      else {
        _ = Foundation.close(client)
        continue
      }
      disableNagle(server)
      let link = Link(client: client, server: server)
      let isCurrent = state.withLock { state in
        // Ending all connections has missed one that was being opened.
        guard !state.isClosed, state.ports == ports else { return false }
        state.links.append((broker, link))
        return true
      }
      guard isCurrent else {
        link.close()
        continue
      }
      let pending = PendingRequests()
      Thread.detachNewThread { [self] in forwardRequests(link, pending, broker) }
      Thread.detachNewThread { [self] in forwardResponses(link, pending, ports) }
    }
    _ = Foundation.close(listener)
  }

  private func forwardRequests(_ link: Link, _ pending: PendingRequests, _ broker: Int) {
    while let request = receiveFrame(link.client),
      let header = KafkaBytes.RequestHeader(request),
      forward(request, header, link, pending, broker)
    {}
    link.endRequests()
    forget(link)
  }

  /// - Returns: whether the connection continues.
  private func forward(
    _ request: [UInt8], _ header: KafkaBytes.RequestHeader, _ link: Link,
    _ pending: PendingRequests, _ broker: Int
  ) -> Bool {
    state.withLock { $0.requests[header.key, default: 0] += 1 }
    // A client sends nothing else while logging in, so responses stay in order.
    switch header.key {
    case Key.saslHandshake:
      return sendFrame(
        link.client,
        header.correlation + KafkaBytes.int16(0) + KafkaBytes.int32(1) + KafkaBytes.string("PLAIN"))
    case Key.saslAuthenticate:
      let isRefused = refuses(broker, by: .refusesLogin)
      let response =
        isRefused
        ? KafkaBytes.int16(58)
          + KafkaBytes.string("Authentication failed: Invalid username or password")
        : KafkaBytes.int16(0) + KafkaBytes.int16(0xFFFF)
      return sendFrame(link.client, header.correlation + response + KafkaBytes.int32(0))
        && !isRefused
    default:
      pending.add(
        header.correlation,
        PendingRequest(
          key: header.key, version: header.version,
          isEarliest: header.key == Key.listOffsets && KafkaBytes.asksForEarliest(request)))
      return sendFrame(link.server, request)
    }
  }

  /// - Parameter ports: of the cluster that the link leads to, which is the former one for responses
  ///   that arrive after a switch.
  private func forwardResponses(_ link: Link, _ pending: PendingRequests, _ ports: [Int]) {
    let newPorts = Dictionary(zip(ports, listeners.map { Int($0.port) })) { first, _ in first }
    while let response = receiveFrame(link.server), let request = pending.remove(response) {
      if !sendFrame(link.client, rewritten(response, to: request, newPorts)) { link.endRequests() }
    }
    // Disconnect the client only after the broker has closed the connection: librdkafka's mock
    // cluster aborts the process if a member rejoins while an earlier join is unanswered.
    link.end()
    forget(link)
  }

  /// - Parameter newPorts: the proxy's ports by the brokers'.
  private func rewritten(
    _ response: [UInt8], to request: PendingRequest, _ newPorts: [Int: Int]
  ) -> [UInt8] {
    let conditions = conditions
    switch request.key {
    case Key.apiVersions:
      return KafkaBytes.offeringSASL(
        KafkaBytes.limiting(response, version: request.version, to: Key.versionsMax),
        version: request.version)
    case Key.metadata:
      let redirected = KafkaBytes.redirecting(response, host: "127.0.0.1", ports: newPorts)
      let unlisted = KafkaBytes.withoutBrokers(
        conditions.unlistedBrokers, redirected, version: request.version)
      return counted(KafkaBytes.withoutTopics(conditions.unknownTopics, unlisted), redirected)
    case Key.findCoordinator:
      return KafkaBytes.redirecting(response, host: "127.0.0.1", ports: newPorts)
    case Key.fetch where !conditions.logStarts.isEmpty || conditions.damagesRecords:
      return counted(
        KafkaBytes.faultyFetch(
          outOfRange: conditions.logStarts, damagesRecords: conditions.damagesRecords, response,
          version: request.version), response)
    case Key.listOffsets where request.isEarliest && !conditions.logStarts.isEmpty:
      return counted(
        KafkaBytes.withLogStarts(conditions.logStarts, response, version: request.version),
        response)
    default:
      return response
    }
  }

  private func counted(_ rewritten: [UInt8], _ response: [UInt8]) -> [UInt8] {
    if rewritten != response { state.withLock { $0.responsesRewritten += 1 } }
    return rewritten
  }

  private func forget(_ link: Link) {
    guard link.isLastThread() else { return }
    // Remove the link before closing: its descriptors may be reused afterwards.
    state.withLock { $0.links.removeAll { $0.link === link } }
    link.close()
  }
}

/// The unanswered requests of one connection, by correlation id. librdkafka's mock cluster may answer
/// them in another order.
private final class PendingRequests: Sendable {
  private let requests = Mutex<[[UInt8]: PendingRequest]>([:])

  func add(_ correlation: [UInt8], _ request: PendingRequest) {
    requests.withLock { $0[correlation] = request }
  }

  /// The request that the response answers, which is no longer pending.
  func remove(_ response: [UInt8]) -> PendingRequest? {
    requests.withLock { $0.removeValue(forKey: Array(response.prefix(4))) }
  }
}

private struct PendingRequest {
  var key: Int
  var version: Int
  /// For ListOffsets: whether it asks for the earliest offset.
  var isEarliest: Bool
}

/// Receives one frame of Kafka's protocol: a 32-bit length and that many bytes. Nil if the peer
/// closed.
private func receiveFrame(_ descriptor: Int32) -> [UInt8]? {
  guard let length = receive(descriptor, exactly: 4)?.reduce(0, { $0 << 8 | Int($1) }),
    length < 200 << 20
  else { return nil }
  return receive(descriptor, exactly: length)
}

private func sendFrame(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
  sendAll(descriptor, (KafkaBytes.int32(bytes.count) + bytes)[...])
}
