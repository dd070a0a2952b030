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
      // It reads nine topics, and the embedded broker searches a partition for each fetch.
      "MAGPIE_KAFKA_PROPERTIES": "fetch.wait.max.ms=25",
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
      port = LocalHTTP.port(in: text, after: "serving the API")
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
  private var received: [UInt8] = []
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
      received += buffer[..<count]
      if let known = missing {
        missing = known - count
      } else if let end = received.place(of: "\r\n\r\n") {
        missing = try length(headBytes: end, path) - (received.count - end - 4)
      }
    }
  }

  /// The length of the body, if the head has the status 200. A client that took longer would be measured with the
  /// gateway.
  private func length(headBytes: Int, _ path: String) throws -> Int {
    let name: StaticString = "Content-Length: "
    let head = received[..<headBytes]
    guard head.starts(with: "HTTP/1.1 200 ".utf8), let start = received.place(of: name),
      start < headBytes,
      let length = Int(
        String(
          decoding: head[(start + name.utf8CodeUnitCount)...].prefix { $0 != UInt8(ascii: "\r") },
          as: UTF8.self))
    else {
      throw BenchError(description: "\(path): \(String(decoding: head, as: UTF8.self))")
    }
    return length
  }
}

extension [UInt8] {
  /// Where `text` begins, at `start` or later.
  func place(of text: StaticString, from start: Int = 0) -> Int? {
    withUnsafeBytes { bytes in
      var place = start
      while place + text.utf8CodeUnitCount <= bytes.count, let base = bytes.baseAddress,
        let found = memchr(
          base + place, Int32(text.utf8Start.pointee),
          bytes.count - place - text.utf8CodeUnitCount + 1)
      {
        place = base.distance(to: UnsafeRawPointer(found))
        if memcmp(found, text.utf8Start, text.utf8CodeUnitCount) == 0 { return place }
        place += 1
      }
      return nil
    }
  }
}
