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
  ///   - timeoutSeconds: the limit for each send and receive.
  ///   - bytesMax: the maximum size including the head; longer responses are truncated.
  public static func get(
    _ path: String, port: UInt16, timeoutSeconds: Int, bytesMax: Int
  ) -> Answer? {
    guard let descriptor = connected(port: port, timeoutSeconds: timeoutSeconds) else { return nil }
    defer { close(descriptor) }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, withoutSignal) == request.count else {
      return nil
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: min(bytesMax, 1 << 16))
    var isWhole = false
    while answer.count < bytesMax {
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
    #if os(Linux)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
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
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if status == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  /// The flag of `send` with which writing to a closed connection returns an error instead of raising SIGPIPE. On
  /// Darwin, the socket option SO_NOSIGPIPE does this.
  #if canImport(Darwin)
    public static let withoutSignal: Int32 = 0
  #else
    public static let withoutSignal = Int32(MSG_NOSIGNAL)
  #endif
}
