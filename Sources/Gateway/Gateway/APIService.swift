import Logging
import ServiceLifecycle

/// The HTTP server of the API, until it is stopped; requests in hand are finished.
struct APIService: Service {
  let host: String
  let port: Int
  let responder: Responder
  let keys: KeySource
  let hints: Hints
  let logger: Logger

  func run() async throws {
    try await withGracefulShutdownHandler {
      try await serveAndTick()
    } onGracefulShutdown: {
      // The server waits for open streams as for all requests.
      hints.close()
    }
  }

  private func serveAndTick() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await serve() }
      group.addTask {
        var number = 0
        while !Task.isCancelled {
          try? await Task.sleep(for: .seconds(GatewayLimits.heartbeatSeconds))
          number += 1
          hints.wakeAll(looking: number % GatewayLimits.heartbeatsPerLook)
        }
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

  private func serve() async throws {
    try await serveHTTP(
      responder, limits: responder.limits, host: host, port: port,
      words: ServerWords(
        name: "the API", nextStep: "another --api-port (0 takes a free one), or another --api-host"),
      logger: logger)
  }
}
