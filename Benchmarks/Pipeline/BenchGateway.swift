import EmbeddedStack
import Foundation
import Gateway

/// A gateway on the servers of a run, without limits on who asks how often, and tokens for it.
final class BenchGateway {
  let process: ChildProcess
  let port: UInt16
  private let signer: TokenSigner

  /// Waits until it serves.
  init(_ stack: BenchStack) throws {
    let keys = stack.directory.appending(path: "keys.json").path
    _ = try TokenSigner.makeKeySet(at: keys)
    signer = try TokenSigner(keySetFile: keys, issuer: "bench", audience: "bench")
    let log = stack.directory.appending(path: "gateway.log").path
    let unlimited: [String: String?] = [
      "MAGPIE_REQUESTS_PER_SECOND_PER_PERSON": "0", "MAGPIE_REQUESTS_PER_SECOND_PER_ADDRESS": "0",
      "MAGPIE_STREAMS_PER_PERSON": "0", "MAGPIE_CONNECTIONS_PER_ADDRESS": "0",
    ]
    process = try ChildProcess(
      stack.executable("magpie-gateway"),
      [
        "--http-port", "0", "--api-port", "0", "--jwks-file", keys, "--token-issuer", "bench",
        "--token-audience", "bench",
      ], environment: stack.environment.merging(unlimited) { $1 }, output: .file(log))
    var port: UInt16?
    try stack.wait("the gateway to serve") {
      let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
      port = text.split(separator: "\n").first { $0.contains("serving the API") }
        .flatMap { $0.firstMatch(of: /127\.0\.0\.1:(\d+)/) }.flatMap { UInt16($0.1) }
      return port != nil
    }
    guard let port else { throw BenchError(description: "the gateway has no port") }
    self.port = port
  }

  func token(_ person: String) -> String { signer.token(for: person, lifetime: .seconds(86_400)) }

  func stop() { process.terminate(within: 30) }
}

/// A connection to a gateway that stays open, for requests one after the other.
final class KeptConnection {
  private let descriptor: Int32
  private var received = Data()
  private var buffer = [UInt8](repeating: 0, count: 1 << 16)

  init(port: UInt16) throws {
    guard let descriptor = LocalHTTP.connected(port: port, timeoutSeconds: 30) else {
      throw BenchError(description: "nobody listens at port \(port)")
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Sends the head of a request.
  static func ask(_ descriptor: Int32, _ path: String, token: String) throws {
    let request = Array(
      "GET \(path) HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer \(token)\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, LocalHTTP.withoutSignal) == request.count
    else { throw BenchError(description: "the gateway does not take a request") }
  }

  /// Gets a screen, all of it.
  func get(_ path: String, token: String) throws {
    try Self.ask(descriptor, path, token: token)
    received.removeAll(keepingCapacity: true)
    var missing: Int?
    while missing != 0 {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { throw BenchError(description: "\(path): the answer ends early") }
      received.append(contentsOf: buffer[..<count])
      guard let end = received.firstRange(of: Data("\r\n\r\n".utf8)) else { continue }
      let head = String(decoding: received[..<end.lowerBound], as: UTF8.self).lowercased()
      guard head.hasPrefix("http/1.1 200 "),
        let length = head.firstMatch(of: /content-length: (\d+)/).flatMap({ Int($0.1) })
      else { throw BenchError(description: "\(path): \(head)") }
      missing = max(0, length - (received.count - (end.upperBound - received.startIndex)))
    }
  }
}
