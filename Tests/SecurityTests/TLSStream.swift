import COpenSSL
import FaultInjection
import Foundation

/// An error on a test connection, which is closed afterwards.
struct ConnectionEnded: Error {}

/// A connected socket with blocking reads and writes of exact sizes; with TLS if `ssl` is set.
/// Confined to one thread except for `close`.
final class Stream: @unchecked Sendable {  // the descriptor is only shut down from elsewhere
  let descriptor: Int32
  private var ssl: OpaquePointer?

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit {
    if let ssl { SSL_free(ssl) }
    Foundation.close(descriptor)
  }

  /// Ends all blocking calls. The descriptor stays open until the stream is no longer used.
  func shutDown() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// OpenSSL's writes to a closed socket raise SIGPIPE, which must be an error instead.
  private static let ignoresSignals: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

  /// Performs the server side of the handshake.
  func accept(_ context: OpaquePointer) throws {
    _ = Self.ignoresSignals
    guard let ssl = SSL_new(context) else { throw ConnectionEnded() }
    self.ssl = ssl
    SSL_set_fd(ssl, descriptor)
    guard SSL_accept(ssl) == 1 else {
      ERR_clear_error()
      throw ConnectionEnded()
    }
  }

  func read(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = bytes.withUnsafeMutableBytes { buffer in
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
        return ssl.map { Int(SSL_read($0, rest.baseAddress, Int32(clamping: rest.count))) }
          ?? Foundation.read(descriptor, rest.baseAddress, rest.count)
      }
      guard got > 0 else {
        ERR_clear_error()
        throw ConnectionEnded()
      }
      filled += got
    }
    return bytes
  }

  func write(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        let rest = UnsafeRawBufferPointer(rebasing: buffer[sent...])
        return ssl.map { Int(SSL_write($0, rest.baseAddress, Int32(clamping: rest.count))) }
          ?? send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else {
        ERR_clear_error()
        throw ConnectionEnded()
      }
      sent += count
    }
  }

  /// Reads one frame of Kafka's protocol: a 32-bit length and that many bytes.
  func readFrame() throws -> [UInt8] {
    let length = try read(4).reduce(0) { $0 << 8 | Int($1) }
    guard length < 200 << 20 else { throw ConnectionEnded() }
    return try read(length)
  }

  func writeFrame(_ bytes: [UInt8]) throws { try write(KafkaBytes.int32(bytes.count) + bytes) }
}

/// Listens on 127.0.0.1.
func listenOnLoopback() throws -> (descriptor: Int32, port: Int) {
  let listener = makeSocket()
  var address = loopback(port: 0)
  var size = socklen_t(MemoryLayout<sockaddr_in>.size)
  let done = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(listener, $0, size) == 0 && listen(listener, 64) == 0
        && getsockname(listener, $0, &size) == 0
    }
  }
  guard done else { throw ConnectionEnded() }
  return (listener, Int(UInt16(bigEndian: address.sin_port)))
}

func connectToLoopback(port: Int) throws -> Stream {
  let stream = Stream(makeSocket())
  var address = loopback(port: port)
  let result = withUnsafePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(stream.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  guard result == 0 else { throw ConnectionEnded() }
  return stream
}

private func makeSocket() -> Int32 {
  #if canImport(Glibc)
    socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  #else
    socket(AF_INET, SOCK_STREAM, 0)
  #endif
}

private func loopback(port: Int) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = UInt16(port).bigEndian
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  return address
}
