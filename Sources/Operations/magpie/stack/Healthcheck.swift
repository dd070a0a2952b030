import ArgumentParser
import EmbeddedStack
import Events
import Foundation

struct Healthcheck: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check that a worker on this machine can commit; exit 1 if it cannot.",
    discussion: """
      For containers and supervisors: needs neither a shell nor curl. Prints the response of the \
      worker's /readyz. A worker that waits for Kafka or PostgreSQL is not ready, but alive: \
      restarting it would not help.
      """)

  @Option(
    parsing: .unconditional,
    help: """
      The worker's port: 9471 fanout-worker, 9472 notification-worker, 9473 alarm-worker, 9474 \
      magpie archive run, 9475 reminder-worker, 9477 magpie-gateway, 9479 magpie operate, 9480 push-worker, unless it \
      was given another. \
      [env: MAGPIE_HTTP_PORT]
      """)
  var port: UInt16?

  @Flag(help: "Query /livez instead: whether all lanes make progress.")
  var live = false

  func run() throws {
    guard let port = try port ?? portOfEnvironment(), port > 0 else {
      throw Failure(.usage, "Which worker? Set MAGPIE_HTTP_PORT or --port to its port.")
    }
    // Accepts a truncated response.
    let path = live ? "/livez" : "/readyz"
    guard let answer = LocalHTTP.get(path, port: port, timeoutSeconds: 3, bytesMax: 4096) else {
      throw Failure(
        .unavailable,
        "No worker answers at 127.0.0.1:\(port). Is it running here, and is that its --http-port?")
    }
    Console.output.line(
      escapedForDisplay(
        answer.body.trimmingCharacters(in: .whitespacesAndNewlines), keepingNewlines: true))
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
