import ArgumentParser
import Foundation

struct Healthcheck: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Ask a worker on this machine whether it can commit; exit 1 if it cannot.",
    discussion: """
      For containers and supervisors: needs neither a shell nor curl. Prints what the worker's \
      /readyz answers. A worker that waits for Kafka or PostgreSQL is not ready, but alive: \
      restarting it would not help.
      """)

  @Option(
    help: """
      The worker's port: 9471 fanout-worker, 9472 notification-worker, 9473 alarm-worker, 9474 \
      magpie archive run, unless it was given another. [env: MAGPIE_HTTP_PORT]
      """)
  var port: UInt16?

  @Flag(help: "Ask /livez instead: whether all lanes make steps.")
  var live = false

  func run() throws {
    guard let port = try port ?? portOfEnvironment(), port > 0 else {
      throw Failure(.usage, "Which worker? Set MAGPIE_HTTP_PORT or --port to its port.")
    }
    let answer = try LocalHTTP(port: port).get(live ? "/livez" : "/readyz")
    Standard.output.line(
      escapedForTerminal(answer.body.trimmingCharacters(in: .whitespacesAndNewlines)))
    if answer.status != 200 { throw ExitCode(Failure.Code.found.rawValue) }
  }

  private func portOfEnvironment() throws -> UInt16? {
    guard let text = setting(nil, "MAGPIE_HTTP_PORT") else { return nil }
    guard let port = UInt16(text) else {
      throw Failure(.usage, "MAGPIE_HTTP_PORT is \(text), but must be 1 to 65535.")
    }
    return port
  }
}

/// One small GET from this machine's loopback interface.
private struct LocalHTTP {
  var port: UInt16

  /// Bounds each step, and so the whole: an answer larger than `bytesMax` is cut off.
  private static let timeoutSeconds = 3
  private static let bytesMax = 4096

  func get(_ path: String) throws -> (status: Int, body: String) {
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw unanswered() }
    defer { close(descriptor) }
    var limit = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(
        descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw unanswered() }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, 0) == request.count else { throw unanswered() }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: Self.bytesMax)
    while answer.count < Self.bytesMax {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      answer += buffer[..<count]
    }
    let text = String(decoding: answer, as: UTF8.self)
    let words = text.prefix { $0 != "\r\n" }.split(separator: " ")
    guard words.count >= 2, words[0].hasPrefix("HTTP/"), let status = Int(words[1]),
      let head = text.firstRange(of: "\r\n\r\n")
    else { throw unanswered() }
    return (status, String(text[head.upperBound...]))
  }

  private func unanswered() -> Failure {
    Failure(
      .unavailable,
      "No worker answers at 127.0.0.1:\(port). Is it running here, and is that its --http-port?")
  }
}
