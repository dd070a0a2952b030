import ArgumentParser
import Events
import Gateway
import Kafka
import Logging
import Rebuild
import Service

struct Operate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "operate",
    abstract: "Serve pages for operators until stopped: what the workers do, and dead letters.",
    discussion: """
      Runs like a worker: serves /livez, /readyz and /metrics, and stops gracefully on SIGTERM. Who \
      looks is the subject of a JWT of an audience of its own. The handlers that redrive dead letters \
      are those of this tool: use the version and the settings that the workers have. \
      docs/operators.md describes the pages.
      """)

  @OptionGroup var process: ProcessOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var serving: OperatorOptions
  @OptionGroup var handlers: HandlerOptions

  @Option(
    name: .customLong("operate-processes"),
    help: """
      Where processes serve /metrics: NAME=HOST:PORT, separated by commas. Each address of a host is a \
      process of that name (default: the ports of workers and gateway on this machine). \
      [env: MAGPIE_OPERATE_PROCESSES]
      """)
  var processes: String?

  /// The number of connections for reading. Changes open one of their own, one at a time.
  private static let connections = 4

  func run() throws {
    try waiting(for: serveUntilStopped)
  }

  @Sendable private func serveUntilStopped() async throws {
    let settings = try await process.settings(defaultHTTPPort: 9479)
    let databaseURL = try await process.databaseURL(database)
    let sources = try MetricsSource.all(
      try await process.setting("operateProcesses", flag: processes))
    let handlerOptions = try await self.handlers.filled(from: process)
    let handlers = try handlerOptions.redriveHandlers()
    let consumer = ConsumerProcess(label: "magpie_operate", settings: settings)
    if let warning = handlerOptions.missingSecret { consumer.logger.warning("\(warning)") }
    consumer.metrics.begin(topics: [])
    let pool = ConnectionPool(
      databaseURL: databaseURL, connections: Self.connections,
      applicationName: "magpie-operate")
    let watch = Watch(
      pool: pool, admin: try Admin(configuration: consumer.kafka), prefix: settings.topicPrefix,
      sources: sources)
    let verification = VerificationRun(databaseURL: databaseURL, logger: consumer.logger)
    let letters = LetterDesk(
      pool: pool, databaseURL: databaseURL, kafka: consumer.kafka, prefix: settings.topicPrefix,
      handlers: handlers, logger: consumer.logger)
    let erasures = ErasureDesk(
      kafka: consumer.kafka, prefix: settings.topicPrefix, logger: consumer.logger)
    let service = try await serving.service(
      process, logger: consumer.logger,
      api: SignedAPI(
        files: OperatorPages.files, pages: OperatorPages.addresses,
        routes: operatorRoutes(watch, letters, erasures, verification)),
      drainSeconds: settings.drainSeconds,
      beside: { await watch.run() })
    try await consumer.run(threads: Self.connections, beside: service) { status, logger in
      service.waitForKeys(status)
      pool.serve(status, logger)
      verification.stop()
    }
  }
}
