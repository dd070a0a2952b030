import Foundation
import Postgres
import Synchronization

/// Stands between a client and PostgreSQL on a unix socket, and fails at the worst moment: around
/// COMMIT.
///
/// It reads the frontend's messages (PostgreSQL documentation, "Message Formats") just far enough
/// to see that COMMIT is being executed. Thread-safe.
public final class PostgresProxy: Sendable {
  /// What happens to one COMMIT.
  public enum Fault: Sendable {
    case none
    /// The connection breaks before the server sees it.
    case dropBeforeCommit
    /// The server commits; its answer never arrives.
    case dropAfterCommit
  }

  private let listener: Int32
  private let directory: URL
  private let target: String
  private let database: String
  private let user: String
  private let decide: @Sendable () -> Fault
  private let sockets = Mutex<Set<Int32>>([])
  private let isClosed = Mutex(false)

  /// Listens, and forwards to the server that `url` names (a unix socket's directory as host).
  /// `decide` is asked at each COMMIT.
  public init(to url: String, decide: @escaping @Sendable () -> Fault) throws {
    let info = try ConnectionInfo(url)
    target = "\(info["host"] ?? "")/.s.PGSQL.\(info["port"] ?? "5432")"
    database = info["dbname"] ?? ""
    user = info["user"] ?? ""
    self.decide = decide
    directory = URL(filePath: "/tmp/magpie-proxy-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    // Whoever is spoken to may just have gone away: an error of send, not the end of this process.
    signal(SIGPIPE, SIG_IGN)
    listener = try unixSocket()
    try withAddress(of: directory.path + "/.s.PGSQL.5432") { address, length in
      guard bind(listener, address, length) == 0, listen(listener, 64) == 0 else {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
      }
    }
    Thread.detachNewThread { [self] in acceptAll() }
  }

  /// Where clients connect instead.
  public var url: String {
    "host=\(directory.path) port=5432 dbname=\(database) user=\(user)"
  }

  /// Breaks every connection at once.
  public func breakAll() {
    sockets.withLock { for socket in $0 { shutdown(socket, Int32(SHUT_RDWR)) } }
  }

  /// Stops listening and breaks every connection.
  public func close() {
    isClosed.withLock { $0 = true }
    shutdown(listener, Int32(SHUT_RDWR))
    breakAll()
    try? FileManager.default.removeItem(at: directory)
  }

  private func acceptAll() {
    while true {
      let client = accept(listener, nil, nil)
      if client < 0 {
        if isClosed.withLock({ $0 }) { break }
        continue
      }
      guard let server = try? unixSocket() else { continue }
      let connected = withAddress(of: target) { connect(server, $0, $1) == 0 }
      guard connected else {
        closeSockets(client, server)
        continue
      }
      sockets.withLock { $0.formUnion([client, server]) }
      let link = Link()
      Thread.detachNewThread { [self] in forwardRequests(client, server, link) }
      Thread.detachNewThread { [self] in forwardReplies(client, server, link) }
    }
    closeSockets(listener)
  }

  private func forwardRequests(_ client: Int32, _ server: Int32, _ link: Link) {
    var messages = FrontendMessages()
    receive(client) { bytes in
      if messages.executesCommit(bytes) {
        switch decide() {
        case .none: break
        case .dropBeforeCommit: return false
        case .dropAfterCommit: link.isMuted.withLock { $0 = true }
        }
      }
      return send(server, bytes)
    }
    shutdown(server, Int32(SHUT_RDWR))
    finish(client, server, link)
  }

  private func forwardReplies(_ client: Int32, _ server: Int32, _ link: Link) {
    receive(server) { bytes in
      // Only once the server has answered is it certain that it committed.
      link.isMuted.withLock { $0 } ? false : send(client, bytes)
    }
    shutdown(client, Int32(SHUT_RDWR))
    finish(client, server, link)
  }

  private func finish(_ client: Int32, _ server: Int32, _ link: Link) {
    shutdown(client, Int32(SHUT_RDWR))
    shutdown(server, Int32(SHUT_RDWR))
    let isLast = link.ended.withLock { ended in
      ended += 1
      return ended == 2
    }
    guard isLast else { return }
    sockets.withLock { $0.subtract([client, server]) }
    closeSockets(client, server)
  }
}

/// What the two threads of one connection share.
private final class Link: Sendable {
  let isMuted = Mutex(false)
  let ended = Mutex(0)
}

/// Follows the frontend's messages to know which prepared statement is COMMIT.
private struct FrontendMessages {
  private var buffer: [UInt8] = []
  private var isStartedUp = false
  private var commits: Set<[UInt8]> = []

  /// Whether these bytes hold the execution of a COMMIT.
  mutating func executesCommit(_ bytes: ArraySlice<UInt8>) -> Bool {
    buffer += bytes
    var found = false
    while true {
      let header = isStartedUp ? 5 : 4
      guard buffer.count >= header else { return found }
      let length = buffer[(header - 4)..<header].reduce(0) { $0 << 8 | Int($1) } + header - 4
      guard buffer.count >= length else { return found }
      if isStartedUp, inspect(kind: buffer[0], Array(buffer[5..<length])) { found = true }
      isStartedUp = true
      buffer.removeFirst(length)
    }
  }

  private mutating func inspect(kind: UInt8, _ body: [UInt8]) -> Bool {
    let texts = body.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
    switch kind {
    case UInt8(ascii: "Q"): return texts.first.map { Array($0) } == Array("COMMIT".utf8)
    case UInt8(ascii: "P") where texts.count > 1:
      let name = Array(texts[0])
      if Array(texts[1]) == Array("COMMIT".utf8) {
        commits.insert(name)
      } else {
        commits.remove(name)
      }
      return false
    case UInt8(ascii: "B") where texts.count > 1: return commits.contains(Array(texts[1]))
    default: return false
    }
  }
}

private func unixSocket() throws -> Int32 {
  #if os(Linux)
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
  #else
    let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
  #endif
  guard descriptor >= 0 else { throw POSIXError(.EMFILE) }
  return descriptor
}

private func closeSockets(_ descriptors: Int32...) {
  for descriptor in descriptors { _ = Foundation.close(descriptor) }
}

private func withAddress<T>(
  of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> T
) rethrows -> T {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { target in
    target.copyBytes(from: Array(path.utf8.prefix(target.count - 1)))
  }
  return try withUnsafePointer(to: address) { pointer in
    try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      try body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
}

private func receive(_ descriptor: Int32, _ body: (ArraySlice<UInt8>) -> Bool) {
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0, body(buffer[..<count]) else { return }
  }
}

private func send(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Bool {
  var rest = bytes
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, 0) }
    guard count > 0 else { return false }
    rest = rest.dropFirst(count)
  }
  return true
}
