import ArgumentParser
public import Handling
public import Lanes
public import Logging
public import ServiceLifecycle

/// Runs a worker process until SIGTERM or SIGINT, or until only an operator can help.
///
/// - Parameters:
///   - warnings: logged at the start.
///   - reload: called on SIGHUP, which never ends a worker; its result or error is logged.
///   - beside: makes what runs beside the lanes, with the process's metrics and log; it ends first.
/// - Throws: `ExitCode.failure` after an error that has been logged, `ValidationError` for invalid
///   settings.
public func runWorker(
  _ handler: Handler, options: WorkerOptions, defaultHTTPPort: Int, warnings: [String] = [],
  reload: (@Sendable () throws -> String)? = nil,
  beside: ((Metrics, Logger) throws -> any ServiceLifecycle.Service)? = nil
) async throws {
  let settings = try await options.settings(for: handler, defaultHTTPPort: defaultHTTPPort)
  let process = ConsumerProcess(label: handler.databaseRole, settings: settings.process)
  process.metrics.begin(
    topics: handler.topics.map { $0.name(prefix: settings.process.topicPrefix) },
    isTimed: handler.overdue != nil)
  for warning in warnings { process.logger.warning("\(warning)") }
  var lane = settings.lane
  lane.kafka = process.kafka
  lane.handler = sabotaged(handler)
  let service = try beside?(process.metrics, process.logger)
  try await process.run(threads: settings.lanes, reload: reload, beside: service) {
    [lane, metrics = process.metrics] status, logger in
    try Lane(settings: lane, status: status, metrics: metrics, logger: logger).run()
  }
}
