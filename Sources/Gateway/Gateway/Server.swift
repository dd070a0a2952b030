import Hummingbird
import HummingbirdCore
import Lanes
import Logging
import NIOCore

/// How a server is named in its log.
struct ServerWords: Sendable {
  /// Such as "the API".
  var name: String
  /// What to choose if its address is taken.
  var nextStep: String
}

/// Serves HTTP until it is stopped, within the bounds that each connection has; requests in hand are
/// finished. As long as it serves, `work` is done and the keys are fetched again when it is time.
///
/// - Parameter work: ends when its task is cancelled.
/// - Throws: `WorkerStopped` if it cannot serve, having logged it.
func serveHTTP<Answering: HTTPResponder>(
  _ responder: Answering, behind edge: Edge, host: String, port: Int, words: ServerWords,
  beside work: @escaping @Sendable () async -> Void
) async throws where Answering.Context == RequestScope {
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { await work() }
    group.addTask {
      while !Task.isCancelled {
        await edge.keys.refresh(edge.logger)
        try? await Task.sleep(for: .seconds(1))
      }
    }
    defer { group.cancelAll() }
    try await serveHTTP(responder, behind: edge, host: host, port: port, words: words)
  }
}

private func serveHTTP<Answering: HTTPResponder>(
  _ responder: Answering, behind edge: Edge, host: String, port: Int, words: ServerWords
) async throws where Answering.Context == RequestScope {
  let (connections, logger) = (edge.limits.connections, edge.logger)
  var quiet = logger
  quiet.logLevel = .critical
  let application = Application(
    responder: responder,
    server: HTTPServerBuilder { responder in
      OnEventLoop(
        base: HTTP1Channel(
          responder: responder,
          configuration: .init(
            additionalChannelHandlers: [
              ConnectionCount(connections), ArrivalLimit(), MalformedAnswer(),
            ],
            idleTimeout: .seconds(GatewayLimits.idleSeconds),
            httpDecoderConfiguration: .init(
              maxHeaderFieldSize: GatewayLimits.headerBytes,
              maxHeaderListSize: GatewayLimits.headerListBytes,
              maxHeaderFieldCount: GatewayLimits.headers))))
    },
    configuration: .init(
      address: .hostname(host, port: port),
      availableConnectionsDelegate: MaximumAvailableConnections(GatewayLimits.connections)),
    onServerRunning: { channel in
      logger.info(
        "serving \(words.name)",
        metadata: ["address": "\(channel.localAddress?.description ?? "unknown")"])
    },
    logger: quiet)
  do {
    try await application.run()
  } catch let error where !(error is CancellationError) {
    let stopped = WorkerStopped(
      reason: "cannot serve \(words.name) at \(host):\(port): \(error)",
      nextStep: "Choose \(words.nextStep).")
    logger.error("\(words.name) stops", metadata: ["error": "\(stopped)"])
    throw stopped
  }
}
