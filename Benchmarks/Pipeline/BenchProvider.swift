import AsyncHTTPClient
import EmbeddedStack
import Events
import Foundation
import LocalProviders
import NIOCore
import NIOSSL

/// The process of a ``ProviderCommand``, and a client of it.
final class BenchProvider {
  /// A request's device token and time, in microseconds since 1970.
  struct Arrival {
    var token: Substring
    var at: Int64
  }

  let process: ChildProcess
  private let client: HTTPClient
  private let origin: String
  private let directory: URL
  private static let answerBytesMax = 1 << 28

  /// Waits until it serves.
  init(_ stack: BenchStack) throws {
    directory = stack.directory
    let log = stack.directory.appending(path: "provider.log").path
    process = try ChildProcess(
      stack.executable("magpie-bench"), ["provider", "--directory", stack.directory.path],
      output: .file(log))
    var port: UInt16?
    try stack.wait("the provider to serve") {
      let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
      port = LocalHTTP.port(in: text, after: "serving the provider")
      return port != nil
    }
    guard let port else { throw BenchError(description: "the provider has no port") }
    origin = "https://localhost:\(port)"
    try Self.tokenKeys.write(
      to: stack.directory.appending(path: "token.keys"), atomically: true, encoding: .utf8)
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.additionalTrustRoots = [.file(stack.directory.appending(path: "ca.crt").path)]
    // As push-worker's: see `Clients`.
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls, redirectConfiguration: .disallow,
      timeout: .init(connect: .seconds(10)))
    configuration.httpVersion = .automatic
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  /// The app of the credentials.
  static let app = ProviderServer.app

  /// Keys that protect nothing.
  static let tokenKeys = """
    fingerprint AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
    seal bench AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=

    """

  /// The arguments of push-worker.
  var workerArguments: [String] {
    [
      "--push-config", directory.appending(path: "push.json").path,
      "--token-keys-file", directory.appending(path: "token.keys").path,
    ]
  }

  func stop() {
    try? client.syncShutdown()
    process.terminate(within: 10)
  }

  /// Forgets all requests, and answers so many milliseconds late from now on.
  func forget(delayMilliseconds: Int = 0) throws { _ = try ask("forget/\(delayMilliseconds)") }

  /// How many requests have come.
  func count() throws -> Int { Int(try ask("count")) ?? 0 }

  /// In order.
  func arrivals() throws -> [Arrival] {
    try ask("arrivals").split(separator: "\n").map { line in
      let words = line.split(separator: " ")
      guard words.count == 2, let at = Int64(words[1]),
        let token = words[0].split(separator: "/").last
      else { throw BenchError(description: "no arrival: \(line)") }
      return Arrival(token: token, at: at)
    }
  }

  func requests() throws -> [RecordedRequest] {
    try JSONDecoder().decode([RecordedRequest].self, from: Data(try ask("requests").utf8))
  }

  /// Makes the requests again, so many at once, with nothing around the client; returns the seconds until the last
  /// answer.
  func replay(_ requests: [RecordedRequest], atOnce: Int) throws -> Double {
    let (client, origin) = (client, origin)
    return try waiting {
      let started = ContinuousClock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for first in 0..<min(atOnce, requests.count) {
          group.addTask {
            for index in stride(from: first, to: requests.count, by: atOnce) {
              try await Self.send(requests[index], to: origin, client)
            }
          }
        }
        try await group.waitForAll()
      }
      return seconds(since: started)
    }
  }

  private static func send(_ request: RecordedRequest, to origin: String, _ client: HTTPClient)
    async throws
  {
    var sent = HTTPClientRequest(url: origin + request.path)
    sent.method = .POST
    for header in request.headers where header.name != "content-length" {
      sent.headers.add(name: header.name, value: header.value)
    }
    sent.body = .bytes(ByteBuffer(string: request.body))
    let response = try await client.execute(sent, deadline: .now() + .seconds(30))
    _ = try await response.body.collect(upTo: 4096)
    guard response.status == .ok else {
      throw BenchError(description: "the provider answers \(response.status)")
    }
  }

  private func ask(_ path: String) throws -> String {
    let (client, origin) = (client, origin)
    return try waiting {
      var request = HTTPClientRequest(url: "\(origin)/bench/\(path)")
      request.method = .POST
      let response = try await client.execute(request, timeout: .seconds(60))
      return String(buffer: try await response.body.collect(upTo: Self.answerBytesMax))
    }
  }
}
