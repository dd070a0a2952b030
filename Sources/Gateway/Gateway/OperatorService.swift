package import Lanes
import ServiceLifecycle

/// The HTTP server of the operators' pages. Runs until it is stopped; in-flight requests are
/// finished.
package struct OperatorService: Service {
  let host: String
  let port: Int
  let responder: SignedResponder
  let drainSeconds: Int
  let work: @Sendable () async -> Void

  /// Blocks the calling thread until there are keys, or `status` says `isStopping`.
  package func waitForKeys(_ status: LaneStatus) { responder.edge.keys.wait(status) }

  package func run() async throws {
    try await serveHTTP(
      responder, behind: responder.edge, host: host, port: port,
      words: ServerWords(
        name: "the operators' pages",
        nextStep: "another --operate-port (0 takes a free one), or another --operate-host"),
      drainSeconds: drainSeconds, beside: work)
  }
}
