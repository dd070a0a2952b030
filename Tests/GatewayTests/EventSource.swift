import EmbeddedStack
import Foundation
import Synchronization
import TestSupport

/// An open stream of server-sent events, and what has come of it so far.
final class EventSource: Sendable {
  struct Event: Sendable {
    var name: String
    var id: String
    var data: String

    var json: [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]) ?? [:]
    }
    var items: [[String: Any]] { json["items"] as? [[String: Any]] ?? [] }
  }

  private struct State {
    var bytes: [UInt8] = []
    var isClosed = false
  }

  private let descriptor: Int32
  private let state = Mutex(State())

  /// - Parameter watch: the paths of other screens, as the query has them.
  convenience init(
    _ stack: GatewayStack, authorization: String, lastEventID: String? = nil, watch: String? = nil
  ) throws {
    try self.init(
      port: stack.port, authorization: authorization, lastEventID: lastEventID, watch: watch)
  }

  init(
    port: UInt16, authorization: String, lastEventID: String? = nil, watch: String? = nil
  ) throws {
    let descriptor = try connected(port: port)
    self.descriptor = descriptor
    let id = lastEventID.map { "Last-Event-ID: \($0)\r\n" } ?? ""
    let query = watch.map { "?watch=\($0)" } ?? ""
    let request = Array(
      "GET /v1/stream\(query) HTTP/1.1\r\nHost: t\r\nAuthorization: \(authorization)\r\n\(id)\r\n"
        .utf8)
    _ = request.withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count, LocalHTTP.withoutSignal)
    }
    Thread.detachNewThread { [self] in
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        state.withLock { state in
          if count > 0 {
            state.bytes += buffer[..<count]
            return
          }
          state.isClosed = true
          Glibc.close(descriptor)
        }
        if count <= 0 { break }
      }
    }
  }

  /// Ends the connection, as a phone in a tunnel does. Once closed, its descriptor may be another test's.
  func close() {
    state.withLock { if !$0.isClosed { shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }

  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// The whole answer, with the chunks' sizes between its parts.
  var text: String { String(decoding: state.withLock { $0.bytes }, as: UTF8.self) }

  /// The whole events so far.
  var events: [Event] {
    text.components(separatedBy: "event: ").dropFirst().compactMap { part in
      let lines = part.components(separatedBy: "\n")
      guard lines.count > 3, lines[1].hasPrefix("id: "), lines[2].hasPrefix("data: ") else {
        return nil
      }
      return Event(
        name: lines[0], id: String(lines[1].dropFirst(4)), data: String(lines[2].dropFirst(6)))
    }
  }

  func last(_ name: String) -> Event? { events.last { $0.name == name } }

  /// The newest state of a watched screen: an object, or null.
  func watched(_ path: String) -> Any? {
    events.last { $0.name == "watched" && $0.json["path"] as? String == path }?.json["screen"]
  }
}
