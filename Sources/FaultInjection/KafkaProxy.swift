import Foundation
import Synchronization

/// Stands between clients and the brokers of a Kafka cluster on the loopback interface, on a port of its
/// own for each, and fails as clusters do: brokers that refuse, metadata that is stale, a log whose
/// beginning has moved, another cluster under the same address. Thread-safe.
///
/// It is a listener with SASL PLAIN, which lets everybody in unless told otherwise. It changes answers of
/// the few APIs below, and sees to it that clients use versions that it knows.
public final class KafkaProxy: Sendable {
  /// What a broker does with whoever comes.
  public enum Welcome: Sendable, Hashable {
    case admits
    /// It accepts the connection and ends it.
    case closes
    /// It refuses the login, as after a password was changed on this broker alone.
    case refusesLogin
  }

  /// What the cluster is like.
  public struct Conditions: Sendable, Hashable {
    /// By broker, counted from 0; those that are missing admit everybody.
    public var welcomes: [Int: Welcome] = [:]
    /// Topics of which all metadata say that they do not exist.
    public var unknownTopics: Set<String> = []
    /// By topic and partition: where the log begins now. Nothing of these partitions can be fetched.
    public var logStarts: [String: [Int: Int64]] = [:]

    /// A cluster without faults.
    public init() {}
  }

  /// The properties that clients need to log in.
  public static let clientProperties = [
    "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "anybody",
    "sasl.password": "anything",
  ]

  /// Where clients connect instead.
  public let bootstrap: String

  private struct State {
    /// The brokers' ports, in order.
    var ports: [Int]
    var conditions = Conditions()
    var links: [(broker: Int, link: Link)] = []
    var refusals = 0
    var requests: [Int: Int] = [:]
    var answersChanged = 0
    var isClosed = false
  }

  private let listeners: [(descriptor: Int32, port: UInt16)]
  private let state: Mutex<State>

  /// API keys, and the newest versions whose answers `KafkaBytes` changes.
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

  /// Listens before the brokers, whose hosts must be 127.0.0.1: `host:port`, separated by commas.
  public init(to brokers: String) throws {
    let ports = Self.ports(brokers)
    state = Mutex(State(ports: ports))
    // Whoever is spoken to may just have gone away: an error of send, not the end of this process.
    signal(SIGPIPE, SIG_IGN)
    listeners = try ports.map { _ in try listenOnLoopback() }
    bootstrap = listeners.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
    for index in listeners.indices { Thread.detachNewThread { [self] in acceptAll(index) } }
  }

  /// What the cluster is like from now on. Connections that are open stay; see `disconnect`.
  public var conditions: Conditions {
    get { state.withLock { $0.conditions } }
    set { state.withLock { $0.conditions = newValue } }
  }

  /// Changes the conditions in one step.
  public func change(_ body: @Sendable (inout Conditions) -> Void) {
    state.withLock { body(&$0.conditions) }
  }

  /// How many connections and logins were refused so far.
  public var refusals: Int { state.withLock { $0.refusals } }

  /// How many requests of this API key came so far.
  public func requests(_ key: Int) -> Int { state.withLock { $0.requests[key, default: 0] } }

  /// How many answers said something else than the brokers, addresses apart.
  public var answersChanged: Int { state.withLock { $0.answersChanged } }

  /// How many brokers there are.
  public var brokers: Int { listeners.count }

  /// Leads to another cluster from now on, of as many brokers; connections to the former one end.
  public func lead(to brokers: String) {
    state.withLock { $0.ports = Self.ports(brokers) }
    disconnect()
  }

  /// Ends the connections to a broker, or to all.
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

  /// Whether the broker refuses in this way; counts it.
  private func refuses(_ broker: Int, by welcome: Welcome) -> Bool {
    state.withLock { state in
      guard state.conditions.welcomes[broker] == welcome else { return false }
      state.refusals += 1
      return true
    }
  }

  private func acceptAll(_ broker: Int) {
    let listener = listeners[broker].descriptor
    while true {
      let client = accept(listener, nil, nil)
      let (isClosed, port) = state.withLock { ($0.isClosed, $0.ports[broker]) }
      if isClosed {
        if client >= 0 { _ = Foundation.close(client) }
        break
      }
      guard client >= 0 else {
        // Out of descriptors, perhaps: some will be free again.
        Thread.sleep(forTimeInterval: 0.01)
        continue
      }
      sendAtOnce(client)
      guard !refuses(broker, by: .closes),
        let server = ServerAddress.tcp(host: "127.0.0.1", port: "\(port)").connected()
      else {
        _ = Foundation.close(client)
        continue
      }
      sendAtOnce(server)
      let link = Link(client: client, server: server)
      state.withLock { $0.links.append((broker, link)) }
      let conversation = Conversation()
      Thread.detachNewThread { [self] in forwardRequests(link, conversation, broker) }
      Thread.detachNewThread { [self] in forwardAnswers(link, conversation) }
    }
    _ = Foundation.close(listener)
  }

  private func forwardRequests(_ link: Link, _ conversation: Conversation, _ broker: Int) {
    while let request = receiveFrame(link.client),
      let header = KafkaBytes.RequestHeader(request),
      forward(request, header, link, conversation, broker)
    {}
    link.endRequests()
    forget(link)
  }

  /// - Returns: whether the connection goes on.
  private func forward(
    _ request: [UInt8], _ header: KafkaBytes.RequestHeader, _ link: Link,
    _ conversation: Conversation, _ broker: Int
  ) -> Bool {
    state.withLock { $0.requests[header.key, default: 0] += 1 }
    // Nothing else is under way while a client logs in, so that answers stay in order.
    switch header.key {
    case Key.saslHandshake:
      return sendFrame(
        link.client,
        header.correlation + KafkaBytes.int16(0) + KafkaBytes.int32(1) + KafkaBytes.string("PLAIN"))
    case Key.saslAuthenticate:
      let isRefused = refuses(broker, by: .refusesLogin)
      let answer =
        isRefused
        ? KafkaBytes.int16(58)
          + KafkaBytes.string("Authentication failed: Invalid username or password")
        : KafkaBytes.int16(0) + KafkaBytes.int16(0xFFFF)
      return sendFrame(link.client, header.correlation + answer + KafkaBytes.int32(0))
        && !isRefused
    default:
      conversation.ask(
        Asked(
          key: header.key, version: header.version,
          isEarliest: header.key == Key.listOffsets && KafkaBytes.asksForEarliest(request)))
      return sendFrame(link.server, request)
    }
  }

  private func forwardAnswers(_ link: Link, _ conversation: Conversation) {
    while let answer = receiveFrame(link.server), let asked = conversation.next() {
      if !sendFrame(link.client, changed(answer, asked)) { link.endRequests() }
    }
    // Only now, when the broker has let go, does the client learn of it and come back: librdkafka's
    // mock cluster ends the process when a member joins again while it has an earlier join to answer.
    link.end()
    forget(link)
  }

  private func changed(_ answer: [UInt8], _ asked: Asked) -> [UInt8] {
    let (conditions, ports) = state.withLock { ($0.conditions, $0.ports) }
    let moves = Dictionary(zip(ports, listeners.map { Int($0.port) })) { first, _ in first }
    switch asked.key {
    case Key.apiVersions:
      return KafkaBytes.offeringSASL(
        KafkaBytes.limiting(answer, version: asked.version, to: Key.versionsMax),
        version: asked.version)
    case Key.metadata:
      let moved = KafkaBytes.moving(answer, host: "127.0.0.1", ports: moves)
      return counted(KafkaBytes.lacking(conditions.unknownTopics, moved), moved)
    case Key.findCoordinator:
      return KafkaBytes.moving(answer, host: "127.0.0.1", ports: moves)
    case Key.fetch where !conditions.logStarts.isEmpty:
      return counted(
        KafkaBytes.outOfRange(conditions.logStarts, answer, version: asked.version), answer)
    case Key.listOffsets where asked.isEarliest && !conditions.logStarts.isEmpty:
      return counted(
        KafkaBytes.beginning(at: conditions.logStarts, answer, version: asked.version), answer)
    default:
      return answer
    }
  }

  private func counted(_ changed: [UInt8], _ answer: [UInt8]) -> [UInt8] {
    if changed != answer { state.withLock { $0.answersChanged += 1 } }
    return changed
  }

  private func forget(_ link: Link) {
    guard link.isLastThread() else { return }
    // Nobody may end it once its descriptors can belong to others.
    state.withLock { $0.links.removeAll { $0.link === link } }
    link.close()
  }
}

/// What a client has asked on one connection and the broker has not answered yet; it answers in order.
private final class Conversation: Sendable {
  private let asked = Mutex<[Asked]>([])

  func ask(_ what: Asked) { asked.withLock { $0.append(what) } }

  func next() -> Asked? { asked.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
}

private struct Asked {
  var key: Int
  var version: Int
  /// Of ListOffsets: whether the earliest offset is asked for.
  var isEarliest: Bool
}

/// One message of Kafka's protocol: four bytes of length, then so many. Nil when the peer is gone.
private func receiveFrame(_ descriptor: Int32) -> [UInt8]? {
  guard let length = receive(descriptor, exactly: 4)?.reduce(0, { $0 << 8 | Int($1) }),
    length < 200 << 20
  else { return nil }
  return receive(descriptor, exactly: length)
}

private func sendFrame(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
  sendAll(descriptor, (KafkaBytes.int32(bytes.count) + bytes)[...])
}
