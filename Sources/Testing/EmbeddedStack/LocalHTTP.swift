import Foundation

/// A minimal HTTP client for workers on this machine.
public enum LocalHTTP {
  /// A response, possibly truncated.
  public struct Answer: Sendable {
    /// The status code.
    public let status: Int
    /// The bytes after the head.
    public let body: String
    /// Whether the server ended the response, as opposed to a timeout, the size limit or an error.
    public let isWhole: Bool
  }

  /// Sends one GET request over the loopback interface; returns nil without a valid HTTP response.
  ///
  /// - Parameters:
  ///   - timeoutSeconds: the limit for connecting, for sending, and until the whole response is there.
  ///   - bytesMax: the maximum size including the head; longer responses are truncated.
  ///   - token: a bearer token.
  public static func get(
    _ path: String, port: UInt16, timeoutSeconds: Int, bytesMax: Int, token: String? = nil
  ) -> Answer? {
    let deadline = ContinuousClock.now + .seconds(timeoutSeconds)
    guard let descriptor = connected(port: port, timeoutSeconds: timeoutSeconds) else { return nil }
    defer { close(descriptor) }
    let authorization = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
    let request = Array(
      "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(authorization)\r\n".utf8)
    guard send(descriptor, request, request.count, withoutSignal) == request.count else {
      return nil
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: min(bytesMax, 1 << 16))
    var isWhole = false
    while answer.count < bytesMax {
      // The socket's own limit begins anew with every byte that a slow server sends.
      let left: Duration = max(.zero, deadline - .now)
      let milliseconds = Int32((left / .milliseconds(1)).rounded(.up))
      var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&readable, 1, milliseconds) > 0 else { break }
      let count = recv(descriptor, &buffer, min(buffer.count, bytesMax - answer.count), 0)
      isWhole = count == 0
      guard count > 0 else { break }
      answer += buffer[..<count]
    }
    let text = String(decoding: answer, as: UTF8.self)
    let words = text.prefix { $0 != "\r\n" }.split(separator: " ")
    guard words.count >= 2, words[0].hasPrefix("HTTP/"), let status = Int(words[1]),
      let head = text.firstRange(of: "\r\n\r\n")
    else { return nil }
    return Answer(status: status, body: String(text[head.upperBound...]), isWhole: isWhole)
  }

  /// A socket that is connected to the port over the loopback interface, for the caller to close; nil if nobody
  /// listens.
  ///
  /// - Parameter timeoutSeconds: the limit for each send and receive.
  public static func connected(port: UInt16, timeoutSeconds: Int) -> Int32? {
    let descriptor = streamSocket()
    guard descriptor >= 0 else { return nil }
    var limit = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(
        descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    #if canImport(Darwin)
      var one: Int32 = 1
      setsockopt(
        descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
    #endif
    let status = withLoopbackAddress(port) { connect(descriptor, $0, $1) }
    if status == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  /// The port of the loopback interface in the first line of a log that contains `message`; nil if there is none.
  public static func port(in log: String, after message: String) -> UInt16? {
    log.split(separator: "\n").first { $0.contains(message) }
      .flatMap { $0.firstMatch(of: /127\.0\.0\.1:(\d+)/) }.flatMap { UInt16($0.1) }
  }

  /// A port of the loopback interface on which nobody listens now.
  ///
  /// - Parameter port: taken if it is free.
  /// - Throws: ``StackError`` if there is none.
  public static func freePort(preferring port: UInt16) throws -> UInt16 {
    for candidate in [port, 0] {
      let descriptor = streamSocket()
      defer { close(descriptor) }
      var one: Int32 = 1
      // A port whose connections linger is free for the next listener.
      setsockopt(
        descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
      guard withLoopbackAddress(candidate, { bind(descriptor, $0, $1) }) == 0 else { continue }
      var bound = sockaddr_in()
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let status = withUnsafeMutablePointer(to: &bound) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getsockname(descriptor, $0, &size)
        }
      }
      if status == 0 { return UInt16(bigEndian: bound.sin_port) }
    }
    throw StackError("no port of 127.0.0.1 is free")
  }

  private static func streamSocket() -> Int32 {
    #if os(Linux)
      socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      socket(AF_INET, SOCK_STREAM, 0)
    #endif
  }

  private static func withLoopbackAddress(
    _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  /// The flag of `send` with which writing to a closed connection returns an error instead of raising SIGPIPE. On
  /// Darwin, the socket option SO_NOSIGPIPE does this.
  #if canImport(Darwin)
    public static let withoutSignal: Int32 = 0
  #else
    public static let withoutSignal = Int32(MSG_NOSIGNAL)
  #endif
}
