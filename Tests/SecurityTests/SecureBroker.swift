import COpenSSL
import FaultInjection
import Foundation
import Kafka
import Synchronization

/// A front end with TLS and SASL listeners for brokers without them (the embedded broker): it
/// terminates TLS, checks the login, and forwards requests one at a time, as brokers do. In
/// responses it replaces the brokers' ports with its own.
final class SecureBroker: Sendable {
  struct Listener: Sendable {
    var tls: Certificates.Pair?
    /// The authority of required client certificates.
    var clientAuthority: String?
    var login: SASLServer?
  }

  let bootstrap: String
  /// Connections that reached the request stage, and refused logins.
  let admitted = Mutex(0)
  let refused = Mutex(0)

  private let host: String
  /// Our port, by the broker's port.
  private let ports: [Int: Int]
  private let listeners: [Int32]
  private let streams = Mutex<[Stream]>([])
  private let isClosed = Mutex(false)
  private struct Context: @unchecked Sendable { var pointer: OpaquePointer? }  // OpenSSL counts it
  private let contexts: [Context]

  /// - Parameter exceptions: different listeners for some brokers, by their index in `brokers`.
  init(before brokers: String, _ listener: Listener, exceptions: [Int: Listener] = [:]) throws {
    host = String(brokers.prefix { $0 != ":" })
    var ports: [Int: Int] = [:]
    var listeners: [Int32] = []
    for address in brokers.split(separator: ",") {
      guard let port = address.split(separator: ":").last.flatMap({ Int($0) }) else { continue }
      let (descriptor, own) = try listenOnLoopback()
      listeners.append(descriptor)
      ports[port] = own
    }
    self.ports = ports
    self.listeners = listeners
    let addresses = brokers.split(separator: ",")
    let shown = addresses.indices.map { exceptions[$0] ?? listener }
    contexts = try shown.map { Context(pointer: try Self.context($0)) }
    bootstrap = ports.values.map { "127.0.0.1:\($0)" }.joined(separator: ",")
    for (index, descriptor) in listeners.enumerated() {
      guard let port = addresses[index].split(separator: ":").last.flatMap({ Int($0) }) else {
        continue
      }
      let (listener, context) = (shown[index], contexts[index])
      Thread.detachNewThread { [self] in
        while true {
          let client = accept(descriptor, nil, nil)
          guard client >= 0 else { return }
          let stream = Stream(client)
          Thread.detachNewThread { [self] in try? serve(stream, port, listener, context) }
        }
      }
    }
  }

  func close() {
    isClosed.withLock { $0 = true }
    for descriptor in listeners {
      _ = shutdown(descriptor, Int32(SHUT_RDWR))
      Foundation.close(descriptor)
    }
    for stream in streams.withLock({ $0 }) { stream.shutDown() }
    for context in contexts { SSL_CTX_free(context.pointer) }
  }

  private static func context(_ listener: Listener) throws -> OpaquePointer? {
    guard let pair = listener.tls else { return nil }
    guard let context = SSL_CTX_new(TLS_server_method()),
      SSL_CTX_use_certificate_chain_file(context, pair.certificate) == 1,
      SSL_CTX_use_PrivateKey_file(context, pair.key, SSL_FILETYPE_PEM) == 1
    else { throw ConnectionEnded() }
    if let authority = listener.clientAuthority {
      SSL_CTX_load_verify_locations(context, authority, nil)
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    }
    return context
  }

  private func serve(
    _ client: Stream, _ port: Int, _ listener: Listener, _ context: Context
  ) throws {
    streams.withLock { $0.append(client) }
    if let context = context.pointer { try client.accept(context) }
    let server = try connectToLoopback(port: port)
    streams.withLock { $0.append(server) }
    // When either side ends, end the other.
    defer {
      client.shutDown()
      server.shutDown()
      streams.withLock { $0.removeAll { $0 === client || $0 === server } }
    }
    var login = listener.login
    var isAuthenticated = login == nil
    if isAuthenticated { admitted.withLock { $0 += 1 } }
    while !isClosed.withLock({ $0 }) {
      let request = try client.readFrame()
      guard let header = KafkaBytes.RequestHeader(request) else { throw ConnectionEnded() }
      switch header.key {
      case 17 where login != nil:
        let wanted = Array(request[header.bodyStart...])
        let name = login.map(\.mechanism.rawValue) ?? ""
        let isKnown = wanted == KafkaBytes.string(name)
        // 33: unsupported mechanism, followed by the supported ones.
        try client.writeFrame(
          header.correlation + KafkaBytes.int16(isKnown ? 0 : 33) + KafkaBytes.int32(1)
            + KafkaBytes.string(name))
      case 36 where !isAuthenticated:
        let step = login?.receive(Array(request[(header.bodyStart + 4)...])) ?? .refused
        isAuthenticated = try answer(step, header, client)
      case 18:
        try server.writeFrame(request)
        let answer = try server.readFrame()
        try client.writeFrame(
          login == nil ? answer : KafkaBytes.offeringSASL(answer, version: header.version))
      default:
        guard isAuthenticated else { throw ConnectionEnded() }
        try server.writeFrame(request)
        try client.writeFrame(
          KafkaBytes.redirecting(server.readFrame(), host: host, ports: ports))
      }
    }
  }

  /// - Returns: whether the client is now authenticated.
  private func answer(
    _ step: SASLServer.Step, _ header: KafkaBytes.RequestHeader, _ client: Stream
  ) throws -> Bool {
    func reply(_ error: Int, _ message: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
      header.correlation + KafkaBytes.int16(error) + message + KafkaBytes.int32(bytes.count) + bytes
    }
    let noMessage = KafkaBytes.int16(0xFFFF)
    switch step {
    case .challenge(let bytes):
      try client.writeFrame(reply(0, noMessage, bytes))
      return false
    case .accepted(let bytes):
      try client.writeFrame(reply(0, noMessage, bytes))
      admitted.withLock { $0 += 1 }
      return true
    case .refused:
      refused.withLock { $0 += 1 }
      // 58, with the message of Kafka's own brokers.
      let text = "Authentication failed: Invalid username or password"
      try client.writeFrame(reply(58, KafkaBytes.string(text), []))
      throw ConnectionEnded()
    }
  }
}
