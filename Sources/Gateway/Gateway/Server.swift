import Hummingbird
import HummingbirdCore
import Lanes
import Logging
import NIOCore
import Serving

/// How a server's log names it.
struct ServerWords: Sendable {
  /// Such as "the API".
  var name: String
  /// What to choose if the address is in use.
  var nextStep: String
}

/// Serves HTTP within the limits of each connection until it is stopped; in-flight requests are
/// finished. Meanwhile runs `work` and keeps the keys up to date.
///
/// - Parameters:
///   - drainSeconds: the process's time to drain; requests are finished one second earlier, so that
///     what they need is stopped after them.
///   - work: must end when its task is cancelled.
/// - Throws: `WorkerStopped` if it cannot serve; the error has been logged.
func serveHTTP<Answering: HTTPResponder>(
  _ responder: Answering, behind edge: Edge, host: String, port: Int, words: ServerWords,
  drainSeconds: Int, beside work: @escaping @Sendable () async -> Void
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
    try await serveHTTP(
      responder, behind: edge, host: host, port: port, words: words,
      openSecondsMax: max(1, drainSeconds - 1))
  }
}

private func serveHTTP<Answering: HTTPResponder>(
  _ responder: Answering, behind edge: Edge, host: String, port: Int, words: ServerWords,
  openSecondsMax: Int
) async throws where Answering.Context == RequestScope {
  let (connections, logger) = (edge.limits.connections, edge.logger)
  var quiet = logger
  quiet.logLevel = .critical
  let application = Application(
    responder: responder,
    server: HTTPServerBuilder { responder in
      OnEventLoop(
        base: HTTP1Channel(
          responder: untilLastResponse(responder),
          configuration: .init(
            additionalChannelHandlers: [
              ConnectionCount(connections), LastRequest(), ArrivalLimit(), DeliveryLimit(),
              MalformedAnswer(),
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
    try await application.serve(openSecondsMax: openSecondsMax)
  } catch {
    let stopped = WorkerStopped(
      reason: "cannot serve \(words.name) at \(host):\(port): \(error)",
      nextStep: "Choose \(words.nextStep).")
    logger.error("\(words.name) stops", metadata: ["error": "\(stopped)"])
    throw stopped
  }
}

/// Processes no request after a response with `Connection: close`. Waits instead until the
/// connection has been closed, a second later at the latest.
private func untilLastResponse(
  _ respond: @escaping HTTPChannelHandler.Responder
) -> HTTPChannelHandler.Responder {
  { (request, writer: consuming ResponseWriter, channel) in
    // ``OnEventLoop`` runs this on the connection's event loop. Nil if the client has closed the
    // connection: what it has asked for is done all the same.
    let pipeline = channel.pipeline.syncOperations
    let isAnswered = try? pipeline.handler(type: LastRequest.self).isAnswered
    guard isAnswered != true else {
      channel.close(in: .seconds(1))
      try await channel.closeFuture.get()
      throw ChannelError.eof
    }
    try await respond(request, writer, channel)
  }
}
