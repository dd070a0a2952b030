import Hummingbird
import HummingbirdCore
import Lanes
import Logging
import NIOCore
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
    let connections = responder.limits.connections
    var quiet = logger
    quiet.logLevel = .critical
    let application = Application(
      responder: responder,
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: [
            ConnectionCount(connections), ArrivalLimit(), MalformedAnswer(),
          ],
          idleTimeout: .seconds(GatewayLimits.idleSeconds),
          httpDecoderConfiguration: .init(
            maxHeaderFieldSize: GatewayLimits.headerBytes,
            maxHeaderListSize: GatewayLimits.headerListBytes,
            maxHeaderFieldCount: GatewayLimits.headers))),
      configuration: .init(
        address: .hostname(host, port: port),
        availableConnectionsDelegate: MaximumAvailableConnections(GatewayLimits.connections)),
      onServerRunning: { [logger] channel in
        logger.info(
          "serving the API",
          metadata: ["address": "\(channel.localAddress?.description ?? "unknown")"])
      },
      logger: quiet)
    do {
      try await application.run()
    } catch let error where !(error is CancellationError) {
      let stopped = WorkerStopped(
        reason: "cannot serve the API at \(host):\(port): \(error)",
        nextStep: "Choose another --api-port (0 takes a free one), or another --api-host.")
      logger.error("the API stops", metadata: ["error": "\(stopped)"])
      throw stopped
    }
  }
}
