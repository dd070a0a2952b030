import Foundation

/// What a worker's `/metrics` says, without a library: it is on loopback, and may be stopped in the
/// middle of its answer.
enum WorkerMetrics {
  /// Where the worker with this log listens; nil while it does not say so.
  static func port(inLog path: String) -> UInt16? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let match = text.firstMatch(of: /127\.0\.0\.1[\]:]*:?([0-9]+)/)
    else { return nil }
    return UInt16(match.1)
  }

  /// The value of each series, by the line up to it; nil when there is no answer within a second.
  static func scrape(port: UInt16) -> [String: Double]? {
    guard let text = get("/metrics", port: port) else { return nil }
    var values: [String: Double] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      guard let space = line.lastIndex(of: " "),
        let value = Double(line[line.index(after: space)...])
      else { continue }
      values[String(line[..<space])] = value
    }
    return values
  }

  private static func get(_ path: String, port: UInt16) -> String? {
    #if os(Linux)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var patience = timeval(tv_sec: 1, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(
        descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard connected else { return nil }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
      return nil
    }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0 { return nil }
      if count == 0 { break }
      answer += buffer[..<count]
    }
    return String(decoding: answer, as: UTF8.self)
  }
}
