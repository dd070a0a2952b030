import ArgumentParser
import Foundation
import Hummingbird
public import Kafka
public import Lanes
public import Logging
public import ServiceLifecycle

/// The environment of a process that consumes Kafka until it is stopped: logging, health endpoints,
/// metrics, watchdog, signals. At most one per process.
public struct ConsumerProcess: Sendable {
  public let logger: Logger
  public let metrics = Metrics()
  /// Kafka's configuration, with librdkafka's messages directed to the log.
  public let kafka: ClientConfiguration
  private let settings: ProcessSettings

  /// Configures logging for the process, and raises its limit of open files.
  public init(label: String, settings: ProcessSettings) {
    let (format, level) = (settings.logFormat, settings.logLevel)
    // If standard error is closed, writes fail instead of ending the process.
    signal(SIGPIPE, SIG_IGN)
    raiseDescriptorLimit()
    let output = LogOutput(descriptor: STDERR_FILENO) { [metrics] in
      metrics.increment(.lostLogLines)
    }
    LoggingSystem.bootstrap {
      LineLogHandler(label: $0, format: format, logLevel: level, output: output)
    }
    let logger = Logger(label: label)
    self.logger = logger
    self.settings = settings
    var kafka = settings.kafka
    kafka.log = { level, facility, text in
      logger.log(
        level: level <= 3 ? .error : level <= 5 ? .warning : .debug, "librdkafka: \(text)",
        metadata: ["facility": "\(facility)"])
    }
    self.kafka = kafka
  }

  /// Runs `body` on `threads` threads until SIGTERM or SIGINT, until all of them have ended, or until
  /// one throws.
  ///
  /// - Parameters:
  ///   - threads: how many run `body`.
  ///   - reload: called on SIGHUP, which never ends the process; its result or error is logged.
  ///   - service: runs beside the threads and ends first: they stop once it has. If it does not end within
  ///     the time to drain, it is cancelled. If it throws, having logged its error, all end.
  ///   - body: returns soon after its status says `isStopping`, and calls `beat` and sets `isReady`.
  /// - Throws: `ExitCode.failure` after an error that has been logged.
  public func run(
    threads: Int, reload: (@Sendable () throws -> String)? = nil,
    beside service: (any Service)? = nil,
    _ body: @escaping @Sendable (LaneStatus, Logger) throws -> Void
  ) async throws {
    for warning in warningsAboutSettings(ProcessInfo.processInfo.environment) {
      logger.warning("\(warning)")
    }
    let hangups = answerHangups(with: reload, logger: logger)
    defer { hangups.cancel() }
    let statuses = (0..<threads).map { _ in LaneStatus() }
    startWatchdog(lanes: statuses, limitSeconds: settings.watchdogSeconds, logger: logger)
    let lanes = LaneService(
      drainSeconds: settings.drainSeconds, statuses: statuses, logger: logger, body: body)
    let health = HealthService(
      settings: settings, lanes: statuses, metrics: metrics, logger: logger)
    logger.info("starting", metadata: ["version": "\(codeVersion)", "lanes": "\(threads)"])
    var configuration = ServiceGroupConfiguration(
      services: [
        .init(service: health),
        .init(
          service: lanes, successTerminationBehavior: .gracefullyShutdownGroup,
          failureTerminationBehavior: .cancelGroup),
      ],
      gracefulShutdownSignals: [.sigterm, .sigint], logger: quietLifecycle(logger))
    if let service {
      // Services are stopped in the reverse order.
      configuration.services.append(.init(service: service))
      configuration.maximumGracefulShutdownDuration = .seconds(settings.drainSeconds)
    }
    let group = ServiceGroup(configuration: configuration)
    do {
      try await group.run()
    } catch let error where !(error is ServiceGroupError) && logger.logLevel <= .error {
      // The service that failed has logged its error: do not print it again.
      throw ExitCode.failure
    }
    logger.info("stopped", metadata: ["records": "\(Int(metrics.total(.records)))"])
  }
}

private func quietLifecycle(_ logger: Logger) -> Logger {
  var logger = logger
  logger.logLevel = .error
  return logger
}
