import ServiceLifecycle

/// The HTTP server of the API. Runs until it is stopped; in-flight requests are finished.
struct APIService: Service {
  let host: String
  let port: Int
  let responder: Responder
  let hints: Hints
  let drainSeconds: Int

  func run() async throws {
    try await withTaskCancellationOrGracefulShutdownHandler {
      try await serveHTTP(
        responder, behind: responder.edge, host: host, port: port,
        words: ServerWords(
          name: "the API",
          nextStep: "another --api-port (0 takes a free one), or another --api-host"),
        drainSeconds: drainSeconds
      ) {
        async let following: Void = hints.follow(responder.reader.nextOffsets)
        async let noting: Void = responder.reader.notePublishedChanges()
        var number = 0
        while !Task.isCancelled {
          try? await Task.sleep(for: .seconds(GatewayLimits.heartbeatSeconds))
          number += 1
          hints.wakeAll(looking: number % GatewayLimits.heartbeatsPerLook)
        }
        await following
        await noting
      }
    } onCancelOrGracefulShutdown: {
      // The server waits for all responses, including open streams, so end the streams.
      hints.close()
    }
  }
}
