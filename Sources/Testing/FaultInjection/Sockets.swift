import Foundation

#if os(Linux)
  private let stream = Int32(SOCK_STREAM.rawValue)
#else
  private let stream = SOCK_STREAM
#endif

/// A server's address.
enum ServerAddress {
  case unix(path: String)
  case tcp(host: String, port: String)

  /// Connects; nil on failure.
  func connected() -> Int32? {
    switch self {
    case .unix(let path): connectedUnix(path)
    case .tcp(let host, let port): connectedTCP(host, port)
    }
  }
}

private func connectedUnix(_ path: String) -> Int32? {
  let descriptor = socket(AF_UNIX, stream, 0)
  guard descriptor >= 0 else { return nil }
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { target in
    target.copyBytes(from: Array(path.utf8.prefix(target.count - 1)))
  }
  let status = withUnsafePointer(to: address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
  if status == 0 { return descriptor }
  close(descriptor)
  return nil
}

private func connectedTCP(_ host: String, _ port: String) -> Int32? {
  var hints = addrinfo()
  hints.ai_socktype = stream
  var found: UnsafeMutablePointer<addrinfo>?
  guard getaddrinfo(host, port, &hints, &found) == 0 else { return nil }
  defer { freeaddrinfo(found) }
  var next = found
  while let entry = next?.pointee {
    let descriptor = socket(entry.ai_family, stream, 0)
    if descriptor >= 0, connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0 {
      disableNagle(descriptor)
      return descriptor
    }
    if descriptor >= 0 { close(descriptor) }
    next = entry.ai_next
  }
  return nil
}

/// Listens on a free port of the loopback interface.
func listenOnLoopback() throws -> (descriptor: Int32, port: UInt16) {
  let descriptor = socket(AF_INET, stream, 0)
  guard descriptor >= 0 else { throw POSIXError(.EMFILE) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let status = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      bind(descriptor, address, length) == 0 && listen(descriptor, 64) == 0
        ? getsockname(descriptor, address, &length) : -1
    }
  }
  guard status == 0 else {
    let code = POSIXErrorCode(rawValue: errno) ?? .EIO
    close(descriptor)
    throw POSIXError(code)
  }
  return (descriptor, UInt16(bigEndian: address.sin_port))
}

/// Sends small writes immediately instead of coalescing them.
func disableNagle(_ descriptor: Int32) {
  var one: Int32 = 1
  setsockopt(
    descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
}

/// Makes `close` reset the connection instead of ending it gracefully.
func resetWhenClosed(_ descriptor: Int32) {
  var immediately = linger(l_onoff: 1, l_linger: 0)
  setsockopt(
    descriptor, SOL_SOCKET, SO_LINGER, &immediately, socklen_t(MemoryLayout<linger>.size))
}

/// Passes received bytes to `body` until the peer closes or `body` returns false.
func receive(_ descriptor: Int32, _ body: (ArraySlice<UInt8>) -> Bool) {
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count < 0, errno == EINTR { continue }
    guard count > 0, body(buffer[..<count]) else { return }
  }
}

/// Sends all bytes. Returns false if the peer has closed.
func sendAll(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Bool {
  var rest = bytes
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { return false }
    rest = rest.dropFirst(count)
  }
  return true
}

/// Receives exactly `count` bytes; nil if the peer closes earlier.
func receive(_ descriptor: Int32, exactly count: Int) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: count)
  var filled = 0
  while filled < count {
    let got = bytes.withUnsafeMutableBytes { buffer in
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      return recv(descriptor, rest.baseAddress, rest.count, 0)
    }
    if got < 0, errno == EINTR { continue }
    guard got > 0 else { return nil }
    filled += got
  }
  return bytes
}
