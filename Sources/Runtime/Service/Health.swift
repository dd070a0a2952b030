import HTTPTypes
import Hummingbird
import Lanes
import Logging
import ServiceLifecycle
import Serving

/// The HTTP endpoints of a worker: `/livez`, `/readyz`, `/metrics`.
///
/// They expose only counts and states, and listen on loopback unless configured otherwise.
struct HealthService: Service {
  let settings: ProcessSettings
  let lanes: [LaneStatus]
  let metrics: Metrics
  let logger: Logger

  func run() async throws {
    do {
      try await healthApplication(
        settings: settings, lanes: lanes, metrics: metrics, logger: logger
      ).serve()
    } catch {
      let stopped = WorkerStopped(
        reason: "cannot serve HTTP at \(settings.httpHost):\(settings.httpPort): \(error)",
        nextStep: "Choose another --http-port (0 takes a free one), or another --http-host.")
      logger.error("the health server stops", metadata: ["error": "\(stopped)"])
      throw stopped
    }
  }
}

private func healthApplication(
  settings: ProcessSettings, lanes: [LaneStatus], metrics: Metrics, logger: Logger
) -> some ApplicationProtocol {
  let router = Router()
  let limit = Duration.seconds(settings.watchdogSeconds)
  router.get("livez") { _, _ in
    let silence = lanes.map(\.silence).max() ?? .zero
    return silence < limit
      ? answer(.ok, "ok") : answer(.serviceUnavailable, "a lane made no progress for \(silence)")
  }
  router.get("readyz") { _, _ in
    let unready = lanes.count { !$0.isReady }
    return unready == 0
      ? answer(.ok, "ok")
      : answer(
        .serviceUnavailable,
        "\(unready) of \(lanes.count) lanes cannot commit" + waits(of: lanes.filter { !$0.isReady })
      )
  }
  router.get("metrics") { _, _ in
    metrics.set(.ready, to: lanes.allSatisfy(\.isReady) ? 1 : 0)
    metrics.set(waits: lanes.compactMap(\.wait))
    let usage = ProcessUsage.now()
    metrics.set(.processorSeconds, to: usage.processorSeconds)
    if let bytes = usage.residentBytes { metrics.set(.residentMemory, to: bytes) }
    var response = answer(.ok, metrics.prometheusText())
    response.headers[.contentType] = "text/plain; version=0.0.4; charset=utf-8"
    return response
  }
  return Application(
    router: router,
    server: .http1(
      configuration: .init(
        additionalChannelHandlers: [LastRequest()], idleTimeout: .seconds(90))),
    configuration: .init(address: .hostname(settings.httpHost, port: settings.httpPort)),
    onServerRunning: { channel in
      logger.info(
        "serving /livez, /readyz and /metrics",
        metadata: ["address": "\(channel.localAddress?.description ?? "unknown")"])
    },
    logger: quiet(logger))
}

/// What lanes wait for, one line each, without repetitions. Reasons for retries come last, sorted.
private func waits(of lanes: [LaneStatus]) -> String {
  let now = ContinuousClock.now
  var lines: [String] = []
  var retries: Set<String> = []
  for wait in lanes.compactMap(\.wait) {
    let text = wait.description(at: now)
    if case .retry = wait {
      retries.insert(text)
    } else if !lines.contains("a lane \(text)") {
      lines.append("a lane \(text)")
    }
  }
  return (lines + retries.sorted()).map { "\n\($0)" }.joined()
}

extension Metrics {
  fileprivate func set(waits: [LaneWait]) {
    set(.lanesWaiting, ["group"], to: Double(waits.count { $0.isForGroup }))
    set(.lanesWaiting, ["topics"], to: Double(waits.count { $0.isForTopics }))
  }
}

extension LaneWait {
  fileprivate var isForGroup: Bool { if case .group = self { true } else { false } }
  fileprivate var isForTopics: Bool { if case .topics = self { true } else { false } }
}

private func answer(_ status: HTTPResponse.Status, _ text: String) -> Response {
  Response(
    status: status, headers: [.contentType: "text/plain; charset=utf-8"],
    body: .init(byteBuffer: ByteBuffer(string: text.hasSuffix("\n") ? text : text + "\n")))
}

/// The server's messages repeat ours, and it logs an error for each connection that it closes at
/// shutdown.
private func quiet(_ logger: Logger) -> Logger {
  var logger = logger
  logger.logLevel = .critical
  return logger
}
