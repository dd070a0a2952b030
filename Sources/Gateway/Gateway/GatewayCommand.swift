public import ArgumentParser
import Foundation
import Kafka
import Lanes
import MagpieProducer
import Service
import Synchronization

/// The command line of `magpie-gateway`.
public struct GatewayCommand: AsyncParsableCommand {
  /// The connections to PostgreSQL that read screens, unless set.
  static let connectionsDefault = 8

  public static let configuration = CommandConfiguration(
    commandName: "magpie-gateway",
    abstract: "The HTTP API that an app talks to.",
    discussion: """
      Reads screens through PostgreSQL's functions and publishes what people do to Kafka. The caller \
      is the subject of a JWT. /openapi.yaml describes the API; it needs no token.
      """,
    version: codeVersion)

  /// The parser's prefix of error messages.
  public static var _errorPrefix: String { "\(_commandName): " }

  @OptionGroup var process: ProcessOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var edge: EdgeOptions
  @OptionGroup var keySet: KeyOptions

  @Option(help: "Address of the API (default: 127.0.0.1). [env: MAGPIE_API_HOST]")
  var apiHost: String?

  @Option(
    parsing: .unconditional,
    help: "Port of the API; 0 takes a free one and logs it (default: 9476). [env: MAGPIE_API_PORT]")
  var apiPort: Int?

  @Option(help: "The aud that every token must have. [env: MAGPIE_TOKEN_AUDIENCE]")
  var tokenAudience: String?

  @Option(
    parsing: .unconditional,
    help: """
      Connections to PostgreSQL, each on a thread of its own (default: \(connectionsDefault)). \
      [env: MAGPIE_API_CONNECTIONS]
      """)
  var apiConnections: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Seconds that a request waits for the position in its Magpie-After (default: 5). \
      [env: MAGPIE_WAIT_SECONDS]
      """)
  var waitSeconds: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Seconds that the replay of a replica may be behind; 0 for no limit (default: 60). \
      [env: MAGPIE_REPLICA_SECONDS]
      """)
  var replicaSeconds: Int?

  @Option(
    name: .customLong("visits-database-url"),
    help: """
      The connection string for recording visits with feed_touch: the primary server, if the gateway \
      reads from a replica (default: that of --database-url). \
      [env: MAGPIE_VISITS_DATABASE_URL, MAGPIE_VISITS_DATABASE_URL_FILE]
      """)
  var visitsDatabaseURL: String?

  @Option(
    help: """
      The workers' directory of catalogs, if they have one: its kinds.json names kinds of alarms. \
      [env: MAGPIE_CATALOG_DIR]
      """)
  var catalogDir: String?

  @Option(
    help: """
      The directory of the IANA time zones' TZif files (default: /usr/share/zoneinfo). \
      [env: MAGPIE_ZONEINFO_DIR]
      """)
  var zoneinfoDir: String?

  public init() {}

  public func run() async throws {
    let settings = try await process.settings(defaultHTTPPort: 9477)
    let port = try await process.number("apiPort", flag: apiPort, 0...65_535, default: 9476)
    let connections = try await process.number(
      "apiConnections", flag: apiConnections, 1...256,
      default: Self.connectionsDefault)
    let wait = try await process.number("waitSeconds", flag: waitSeconds, 0...60, default: 5)
    let replicaSeconds = try await process.number(
      "replicaSeconds", flag: replicaSeconds, 0...86_400, default: 60)
    let rules = TokenRules(
      issuer: try await keySet.issuer(process),
      audience: try await process.required("tokenAudience", flag: tokenAudience))
    let origins = try await edge.origins(process)
    let limits = try await edge.limits(process)
    let acceptance = try Acceptance(
      catalogDirectory: try await process.setting("catalogDir", flag: catalogDir),
      zoneinfoDirectory: try await process.setting("zoneinfoDir", flag: zoneinfoDir))
    let consumer = ConsumerProcess(label: "magpie_gateway", settings: settings)
    consumer.metrics.begin(topics: [])
    consumer.metrics.beginRequests()
    let keys = try await keySet.keys(process, consumer.logger)
    let databaseURL = try await process.databaseURL(database)
    let pool = ConnectionPool(
      databaseURL: databaseURL, connections: connections, replicaSecondsMax: replicaSeconds)
    let visits = Visits(
      databaseURL: try await process.databaseURL(
        "visitsDatabaseUrl", flag: visitsDatabaseURL) ?? databaseURL)
    var producing = ProducerConfiguration(
      bootstrap: settings.kafka.bootstrap, source: "magpie-gateway",
      topicPrefix: settings.topicPrefix, properties: settings.kafka.properties)
    producing.properties["message.timeout.ms"] = "\(GatewayLimits.acknowledgementMilliseconds)"
    // Twice what requests may hold, so that none waits for room: JSON that escapes more is longer.
    producing.maxBufferedBytes = 2 * GatewayLimits.actionBytes
    let producer = try Producer(producing)
    let hints = Hints()
    let api = APIService(
      host: try await process.setting("apiHost", flag: apiHost) ?? "127.0.0.1", port: port,
      responder: Responder(
        reader: Reader(
          pool: pool, admin: try Admin(configuration: consumer.kafka),
          topicPrefix: settings.topicPrefix, waitLimit: .seconds(wait)),
        hints: hints, turns: Turns(max(1, connections / 2)), visits: visits, producer: producer,
        acceptance: acceptance, origins: origins,
        edge: Edge(keys: keys, rules: rules, limits: limits, logger: consumer.logger),
        metrics: consumer.metrics),
      hints: hints, drainSeconds: settings.drainSeconds)
    let readers = HintReader.topics.map {
      HintReader(
        kafka: consumer.kafka, topicPrefix: settings.topicPrefix, topic: $0, hints: hints)
    }
    // Each single-instance task takes one of the first threads; the others serve the pool.
    let untaken = Mutex(readers.map { $0.run } + [visits.serve])
    try await consumer.run(threads: readers.count + 1 + connections, beside: api) {
      status, logger in
      keys.wait(status)
      let run = untaken.withLock { $0.popLast() } ?? pool.serve
      run(status, logger)
    }
    _ = await producer.close()
  }
}
