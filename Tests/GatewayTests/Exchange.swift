import EmbeddedStack
import Foundation
import TestSupport

@testable import Gateway

/// One answer of the gateway.
struct Answer: Sendable {
  var status: Int
  /// By name in lower case.
  var headers: [String: String]
  var bytes: [UInt8]
  var body: String { String(decoding: bytes, as: UTF8.self) }

  var json: [String: Any] {
    get throws {
      try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any] ?? [:]
    }
  }
  var items: [[String: Any]] { get throws { try json["items"] as? [[String: Any]] ?? [] } }
  /// The last part of a problem's type.
  var problem: String? {
    (try? json["type"] as? String).flatMap { $0.split(separator: "#").last.map(String.init) }
  }
}

/// Sends bytes to the gateway and reads its first answer; nil if it closes the connection without one.
///
/// Bytes rather than a client's requests: a client would not send what must not end the gateway.
///
/// - Parameter endsRequests: whether to tell the server at once that no other request comes. If not, the
///   server need not close the connection behind a whole answer.
func exchange(_ bytes: [UInt8], port: UInt16, endsRequests: Bool = true) async throws -> Answer? {
  try await onThread { try blockingExchange(bytes, port, endsRequests) }
}

/// Nobody listens at the port.
struct NoConnection: Error {}

/// A socket that is connected to the port of this machine, and waits no longer than a hang.
///
/// - Throws: `NoConnection`.
func connected(port: UInt16) throws -> Int32 {
  guard let descriptor = LocalHTTP.connected(port: port, timeoutSeconds: Int(hangLimitSeconds))
  else { throw NoConnection() }
  return descriptor
}

private func blockingExchange(
  _ bytes: [UInt8], _ port: UInt16, _ endsRequests: Bool
) throws -> Answer? {
  let descriptor = try connected(port: port)
  defer { close(descriptor) }
  var sent = 0
  while sent < bytes.count {
    let count = bytes[sent...].withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count, LocalHTTP.withoutSignal)
    }
    // The gateway may answer and close before it has read everything.
    guard count > 0 else { break }
    sent += count
  }
  if endsRequests { shutdown(descriptor, Int32(SHUT_WR)) }
  var received: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { break }
    received += buffer[..<count]
    if !endsRequests, isWhole(received) { break }
  }
  return answer(received)
}

/// Whether everything has come that `Content-Length` promises.
private func isWhole(_ bytes: [UInt8]) -> Bool {
  guard let end = Data(bytes).range(of: Data("\r\n\r\n".utf8)),
    let length = answer(bytes)?.headers["content-length"].flatMap({ Int($0) })
  else { return false }
  return bytes.count - end.upperBound >= length
}

private func answer(_ bytes: [UInt8]) -> Answer? {
  guard let end = Data(bytes).range(of: Data("\r\n\r\n".utf8)) else { return nil }
  let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
  let words = (lines.first ?? "").split(separator: " ")
  guard words.count >= 2, let status = Int(words[1]) else { return nil }
  var headers: [String: String] = [:]
  for line in lines.dropFirst() {
    let parts = line.split(separator: ":", maxSplits: 1)
    guard parts.count == 2 else { continue }
    headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
  }
  let length = headers["content-length"].flatMap { Int($0) } ?? 0
  return Answer(
    status: status, headers: headers, bytes: Array(bytes[end.upperBound...].prefix(length)))
}
