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
/// finished.
///
/// - Throws: `WorkerStopped` if it cannot serve, having logged it.
func serveHTTP<Answering: HTTPResponder>(
  _ responder: Answering, limits: RateLimits, host: String, port: Int, words: ServerWords,
  logger: Logger
) async throws where Answering.Context == RequestScope {
  let connections = limits.connections
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
