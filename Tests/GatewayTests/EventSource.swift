import Foundation
import TestSupport

/// An open stream of server-sent events, and what has come of it so far.
struct EventSource: Sendable {
  struct Event: Sendable {
    var name: String
    var id: String
    var data: String

    var json: [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]) ?? [:]
    }
    var items: [[String: Any]] { json["items"] as? [[String: Any]] ?? [] }
  }

  private let connection: OpenConnection

  /// - Parameters:
  ///   - watch: the paths of other screens, as the query has them.
  ///   - reads: whether it takes what comes; if not, from ``read()`` on.
  init(
    _ stack: GatewayStack, authorization: String, lastEventID: String? = nil, watch: String? = nil,
    reads: Bool = true
  ) throws {
    try self.init(
      port: stack.port, authorization: authorization, lastEventID: lastEventID, watch: watch,
      reads: reads)
  }

  init(
    port: UInt16, authorization: String, lastEventID: String? = nil, watch: String? = nil,
    reads: Bool = true
  ) throws {
    let id = lastEventID.map { "Last-Event-ID: \($0)\r\n" } ?? ""
    let query = watch.map { "?watch=\($0)" } ?? ""
    connection = try OpenConnection(
      port: port,
      "GET /v1/stream\(query) HTTP/1.1\r\nHost: t\r\nAuthorization: \(authorization)\r\n\(id)\r\n",
      reads: reads)
  }

  /// Takes what has come, and what comes.
  func read() { connection.read() }

  /// Waits until the answer has begun.
  func answered() async throws -> EventSource {
    try await eventually("it is answered") { text.contains("\r\n\r\n") }
    return self
  }

  /// Ends the connection.
  func close() { connection.close() }

  var isClosed: Bool { connection.isClosed }

  /// The whole answer, with the chunks' sizes between its parts.
  var text: String { connection.text }

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
