import Foundation
import Postgres
import Synchronization

/// A proxy for PostgreSQL on a TCP port of the loopback interface. It simulates network faults:
/// delays, small packets, silent stalls, resets, and connections lost before or after COMMIT.
/// Thread-safe.
public final class PostgresProxy: Sendable {
  /// A fault at one COMMIT.
  public enum Fault: Sendable, Hashable {
    case none
    /// The connection breaks before the server receives the COMMIT.
    case dropBeforeCommit
    /// The server commits, but the response is lost.
    case dropAfterCommit
  }

  /// The simulated network conditions.
  public struct Conditions: Sendable, Hashable {
    /// The delay of all data in both directions.
    public var delayMilliseconds = 0
    /// The maximum size of forwarded pieces, in bytes; 0 forwards data as received.
    public var sliceBytes = 0
    /// Holds back all data without closing connections.
    public var isSilent = false

    /// No faults.
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

  /// Starts a proxy for the server in `url`, given by a Unix socket directory or by host and port.
  ///
  /// - Parameter decide: called at each COMMIT to choose its fault.
  public init(to url: String, decide: @escaping @Sendable () -> Fault = { .none }) throws {
    info = try ConnectionInfo(url)
    let host = info["host"] ?? "/tmp"
    let port = info["port"] ?? "5432"
    server =
      host.hasPrefix("/")
      ? .unix(path: "\(host)/.s.PGSQL.\(port)") : .tcp(host: host, port: port)
    state = Mutex(State(decide: decide))
    // Sending to a closed connection must return an error instead of ending this process.
    signal(SIGPIPE, SIG_IGN)
    (listener, self.port) = try listenOnLoopback()
    Thread.detachNewThread { [self] in acceptAll() }
  }

  /// The URL that clients connect to.
  public var url: String { url(user: info["user"] ?? "") }

  /// The URL that clients connect to, with this user.
  public func url(user: String) -> String {
    let password = info["password"].map { " password='\($0)'" } ?? ""
    return "host=127.0.0.1 port=\(port) dbname=\(info["dbname"] ?? "") user=\(user)\(password)"
      + " sslmode=disable gssencmode=disable"
  }

  /// The current network conditions; they also apply to open connections.
  public var conditions: Conditions {
    get { state.withLock { $0.conditions } }
    set { state.withLock { $0.conditions = newValue } }
  }

  /// Sets the function that chooses the fault at each COMMIT.
  public func atCommit(_ decide: @escaping @Sendable () -> Fault) {
    state.withLock { $0.decide = decide }
  }

  /// The number of COMMITs with this fault so far.
  public func commits(meeting fault: Fault) -> Int {
    state.withLock { $0.commitsDropped[fault, default: 0] }
  }

  /// The number of open connections.
  public var connections: Int { state.withLock { $0.links.count } }

  /// Ends every connection gracefully.
  public func breakAll() { for link in state.withLock({ $0.links }) { link.end() } }

  /// Resets every connection: clients see "connection reset by peer".
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
        // Probably out of descriptors; retry once some are free.
        Thread.sleep(forTimeInterval: 0.01)
        continue
      }
      disableNagle(client)
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
        // Called outside the lock, because `decide` may call this proxy.
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
      // Only the server's response proves that it committed.
      if link.isMuted { return !answer.isComplete(after: bytes) }
      return pass(bytes, to: link.client, of: link)
    }
    finish(link)
  }

  /// Forwards bytes under the current conditions. Returns false when the connection is over.
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
    // Remove the link before closing: its descriptors may be reused afterwards.
    state.withLock { $0.links.removeAll { $0 === link } }
    link.close()
  }
}
