import ArgumentParser
import Foundation
import Hummingbird
import Kafka
import Logging
import ServiceLifecycle

/// Runs a worker process around a handler until SIGTERM or SIGINT, or until only a person can
/// help.
///
/// - Parameter reload: called on SIGHUP, which never ends a worker; what it returns or throws is
///   logged.
/// - Throws: `WorkerStopped` in that case and `ValidationError` for unusable settings.
public func runWorker(
  _ handler: Handler, options: WorkerOptions, defaultHTTPPort: Int,
  reload: (@Sendable () throws -> String)? = nil
) async throws {
  var settings = try await options.settings(for: handler, defaultHTTPPort: defaultHTTPPort)
  let (format, level) = (settings.logFormat, settings.logLevel)
  LoggingSystem.bootstrap { LineLogHandler(label: $0, format: format, logLevel: level) }
  let logger = Logger(label: handler.databaseRole)
  settings.lane.kafka.log = { level, facility, text in
    logger.log(
      level: level <= 3 ? .error : level <= 5 ? .warning : .debug, "librdkafka: \(text)",
      metadata: ["facility": "\(facility)"])
  }
  let hangups = answerHangups(with: reload, logger: logger)
  defer { hangups.cancel() }
  let metrics = Metrics()
  metrics.begin(topics: handler.topics.map(\.rawValue))
  let statuses = (0..<settings.lanes).map { _ in LaneStatus() }
  startWatchdog(lanes: statuses, limitSeconds: settings.watchdogSeconds, logger: logger)
  let lanes = LaneService(
    settings: settings, statuses: statuses, metrics: metrics, logger: logger)
  let health = HealthService(
    settings: settings, lanes: statuses, metrics: metrics, logger: logger)
  logger.info(
    "starting", metadata: ["version": "\(codeVersion)", "lanes": "\(settings.lanes)"])
  let group = ServiceGroup(
    configuration: .init(
      services: [
        .init(service: health),
        .init(
          service: lanes, successTerminationBehavior: .gracefullyShutdownGroup,
          failureTerminationBehavior: .cancelGroup),
      ],
      gracefulShutdownSignals: [.sigterm, .sigint], logger: quietLifecycle(logger)))
  try await group.run()
  logger.info("stopped", metadata: ["records": "\(Int(metrics.total(.records)))"])
}

private func quietLifecycle(_ logger: Logger) -> Logger {
  var logger = logger
  logger.logLevel = .error
  return logger
}
