package import Lanes
import Logging
import ServiceLifecycle

/// The HTTP server of the operators' pages, until it is stopped; requests in hand are finished.
package struct OperatorService: Service {
  let host: String
  let port: Int
  let responder: SignedResponder
  let keys: KeySource
  let work: @Sendable () async -> Void
  let logger: Logger

  /// Waits on the calling thread until there are keys, or `status` says `isStopping`.
  package func waitForKeys(_ status: LaneStatus) { keys.wait(status) }

  package func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await serveHTTP(
          responder, limits: responder.limits, host: host, port: port,
          words: ServerWords(
            name: "the operators' pages",
            nextStep:
              "another --operate-port (0 takes a free one), or another --operate-host"),
          logger: logger)
      }
      // Both end when they are cancelled, below.
      group.addTask {
        await work()
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(1)) }
      }
      group.addTask {
        while !Task.isCancelled {
          await keys.refresh(logger)
          try? await Task.sleep(for: .seconds(1))
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}
