import Foundation
import Postgres
import Synchronization

/// Stands between clients and PostgreSQL on a TCP port of the loopback interface, and fails as
/// networks do: slowly, in pieces, silently, at once, and at the worst moment, around COMMIT.
/// Thread-safe.
public final class PostgresProxy: Sendable {
  /// What happens to one COMMIT.
  public enum Fault: Sendable, Hashable {
    case none
    /// The connection breaks before the server sees it.
    case dropBeforeCommit
    /// The server commits; its answer never arrives.
    case dropAfterCommit
  }

  /// What the network is like.
  public struct Conditions: Sendable, Hashable {
    /// Everything that passes, either way, is held back so long.
    public var delayMilliseconds = 0
    /// What passes is cut into pieces of at most so many bytes; 0 leaves it as it comes.
    public var sliceBytes = 0
    /// Nothing passes and nobody is told.
    public var isSilent = false

    /// A network without faults.
    public init() {}
  }

  private struct State {
    var conditions = Conditions()
    var decide: @Sendable () -> Fault
    var commitsDropped: [Fault: Int] = [:]
    var links: [Link] = []
    var isClosed = false
  }

  private let listener: Int32
  private let port: UInt16
  private let server: ServerAddress
  private let info: ConnectionInfo
  private let state: Mutex<State>

  /// Listens, and forwards to the server that `url` names, by a Unix socket's directory or by host
  /// and port.
  ///
  /// - Parameter decide: asked at each COMMIT what becomes of it.
  public init(to url: String, decide: @escaping @Sendable () -> Fault = { .none }) throws {
    info = try ConnectionInfo(url)
    let host = info["host"] ?? "/tmp"
    let port = info["port"] ?? "5432"
    server =
      host.hasPrefix("/")
      ? .unix(path: "\(host)/.s.PGSQL.\(port)") : .tcp(host: host, port: port)
    state = Mutex(State(decide: decide))
    // Whoever is spoken to may just have gone away: an error of send, not the end of this process.
    signal(SIGPIPE, SIG_IGN)
    (listener, self.port) = try listenOnLoopback()
    Thread.detachNewThread { [self] in acceptAll() }
  }

  /// Where clients connect instead.
  public var url: String { url(user: info["user"] ?? "") }

  /// Where clients connect instead, as this user.
  public func url(user: String) -> String {
    let password = info["password"].map { " password='\($0)'" } ?? ""
    return "host=127.0.0.1 port=\(port) dbname=\(info["dbname"] ?? "") user=\(user)\(password)"
      + " sslmode=disable gssencmode=disable"
  }

  /// What the network is like from now on, also for connections that are open.
  public var conditions: Conditions {
    get { state.withLock { $0.conditions } }
    set { state.withLock { $0.conditions = newValue } }
  }

  /// Asks `decide` at each COMMIT from now on what becomes of it.
  public func atCommit(_ decide: @escaping @Sendable () -> Fault) {
    state.withLock { $0.decide = decide }
  }

  /// How many COMMITs met this fault so far.
  public func commits(meeting fault: Fault) -> Int {
    state.withLock { $0.commitsDropped[fault, default: 0] }
  }

  /// How many connections pass through at the moment.
  public var connections: Int { state.withLock { $0.links.count } }

  /// Ends every connection at once, in good order.
  public func breakAll() { for link in state.withLock({ $0.links }) { link.end() } }

  /// Resets every connection at once: the clients see "connection reset by peer".
  public func reset() { for link in state.withLock({ $0.links }) { link.reset() } }

  /// Stops listening and ends every connection.
  public func close() {
    state.withLock { $0.isClosed = true }
    shutdown(listener, Int32(SHUT_RDWR))
    breakAll()
  }

  private func acceptAll() {
    while true {
      let client = accept(listener, nil, nil)
      if state.withLock({ $0.isClosed }) {
        if client >= 0 { _ = Foundation.close(client) }
        break
      }
      guard client >= 0 else {
        // Out of descriptors, perhaps: some will be free again.
        Thread.sleep(forTimeInterval: 0.01)
        continue
      }
      sendAtOnce(client)
      guard let server = server.connected() else {
        _ = Foundation.close(client)
        continue
      }
      let link = Link(client: client, server: server)
      state.withLock { $0.links.append(link) }
      Thread.detachNewThread { [self] in forwardRequests(link) }
      Thread.detachNewThread { [self] in forwardReplies(link) }
    }
    _ = Foundation.close(listener)
  }

  private func forwardRequests(_ link: Link) {
    var messages = FrontendMessages()
    receive(link.client) { bytes in
      if messages.executesCommit(bytes) {
        // Asked outside of the lock: whoever decides may want to know something of this proxy.
        let fault = state.withLock { $0.decide }()
        state.withLock { $0.commitsDropped[fault, default: 0] += 1 }
        switch fault {
        case .none: break
        case .dropBeforeCommit: return false
        case .dropAfterCommit: link.mute()
        }
      }
      return pass(bytes, to: link.server, of: link)
    }
    finish(link)
  }

  private func forwardReplies(_ link: Link) {
    var answer = CommitAnswer()
    receive(link.server) { bytes in
      // Only once the server has answered is it certain that it committed.
      if link.isMuted { return !answer.isComplete(after: bytes) }
      return pass(bytes, to: link.client, of: link)
    }
    finish(link)
  }

  /// Sends on under the conditions of the moment; false when the connection is over.
  private func pass(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, of link: Link) -> Bool {
    let arrived = ContinuousClock.now
    while !link.isOver {
      let conditions = conditions
      if conditions.isSilent || .now < arrived + .milliseconds(conditions.delayMilliseconds) {
        Thread.sleep(forTimeInterval: 0.002)
        continue
      }
      guard conditions.sliceBytes > 0 else { return sendAll(descriptor, bytes) }
      return stride(from: bytes.startIndex, to: bytes.endIndex, by: conditions.sliceBytes)
        .allSatisfy {
          sendAll(descriptor, bytes[$0..<min($0 + conditions.sliceBytes, bytes.endIndex)])
        }
    }
    return false
  }

  private func finish(_ link: Link) {
    link.end()
    guard link.isLastThread() else { return }
    // Nobody may end it once its descriptors can belong to others.
    state.withLock { $0.links.removeAll { $0 === link } }
    link.close()
  }
}
