import EmbeddedStack
import Foundation
import Synchronization

/// Follows a person's stream, again and again where it was, and holds the newest states. Thread-safe.
final class StreamReader: Sendable {
  private struct State {
    var screens: [String: String] = [:]
    var lastID: String?
  }

  let person: String
  private let gateway: GatewayProcess
  private let state = Mutex(State())
  private let isStopping = Atomic(false)

  init(_ person: String, _ gateway: GatewayProcess) {
    (self.person, self.gateway) = (person, gateway)
  }

  /// By the event's name.
  var screens: [String: String] { state.withLock { $0.screens } }

  func stop() { isStopping.store(true, ordering: .relaxed) }

  /// Follows one connection until it ends.
  func follow() {
    guard let port = gateway.port,
      let descriptor = LocalHTTP.connected(port: port, timeoutSeconds: 1)
    else { return }
    defer { close(descriptor) }
    let last = state.withLock { $0.lastID }.map { "Last-Event-ID: \($0)\r\n" } ?? ""
    let request = Array(
      """
      GET /v1/stream HTTP/1.1\r
      Host: campaign\r
      Connection: close\r
      Authorization: Bearer \(gateway.tokens[person] ?? "")\r
      \(last)\r

      """.utf8)
    guard send(descriptor, request, request.count, LocalHTTP.withoutSignal) == request.count
    else { return }
    var received = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while !isStopping.load(ordering: .relaxed) {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0, errno == EAGAIN { continue }
      guard count > 0 else { return }
      received.append(contentsOf: buffer[..<count])
      while let end = received.range(of: Data("\n\n".utf8)) {
        take(String(decoding: received[..<end.lowerBound], as: UTF8.self))
        received = Data(received[end.upperBound...])
      }
    }
  }

  private func take(_ text: String) {
    // The size of a chunk may be before it.
    guard let start = text.range(of: "event: ") else { return }
    let lines = text[start.upperBound...].split(separator: "\n")
    guard lines.count == 3, lines[1].hasPrefix("id: "), lines[2].hasPrefix("data: ") else { return }
    state.withLock { state in
      state.screens[String(lines[0])] = String(lines[2].dropFirst(6))
      state.lastID = String(lines[1].dropFirst(4))
    }
  }
}
