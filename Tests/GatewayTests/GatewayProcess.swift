import EmbeddedStack
import Foundation
import TestSupport

/// A gateway process, its ports and its log.
final class GatewayProcess: Sendable {
  let child: ChildProcess
  let port: UInt16
  /// Of /livez, /readyz and /metrics.
  let healthPort: UInt16
  private let logFile: String

  /// Starts it, and waits until it serves.
  ///
  /// - Throws: `StackError` with its log if it ends instead.
  init(_ arguments: [String], environment: [String: String?], logFile: String) async throws {
    self.logFile = logFile
    let child = try ChildProcess(
      builtExecutable("magpie-gateway"), arguments, environment: environment,
      output: .file(logFile))
    self.child = child
    var text = ""
    func port(_ message: String) -> UInt16? { LocalHTTP.port(in: text, after: message) }
    try await eventually("the gateway serves, or has ended") {
      text = (try? String(contentsOfFile: logFile, encoding: .utf8)) ?? ""
      return port("serving the API") != nil && port("/readyz") != nil || !child.isRunning
    }
    guard let api = port("serving the API"), let health = port("/readyz") else {
      throw StackError(text)
    }
    (self.port, healthPort) = (api, health)
  }

  var log: String { (try? String(contentsOfFile: logFile, encoding: .utf8)) ?? "" }

  /// Sends a request of a person, or of whom `authorization` names; nil if it gets no answer.
  ///
  /// - Throws: `NoConnection` if the process has ended.
  func answer(
    _ method: String, _ path: String, as person: String? = nil, authorization: String? = nil,
    headers: [String: String] = [:], body: String? = nil
  ) async throws -> Answer? {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
    let bearer = try person.map { "Bearer " + (try Tokens.ours.get().token($0)) }
    if let authorization = bearer ?? authorization { head += "Authorization: \(authorization)\r\n" }
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    if let body {
      if headers["Content-Type"] == nil { head += "Content-Type: application/json\r\n" }
      head += "Content-Length: \(body.utf8.count)\r\n"
    }
    return try await exchange(Array((head + "\r\n" + (body ?? "")).utf8), port: port)
  }
}
