public import ArgumentParser

/// The command-line options of every process that consumes Kafka until it is stopped. A flag wins
/// over its environment variable, which wins over the configuration file.
public struct ProcessOptions: ParsableArguments, Sendable {
  @OptionGroup var kafka: KafkaOptions

  @Option(
    help: """
      Address of /livez, /readyz and /metrics (default: 127.0.0.1). [env: MAGPIE_HTTP_HOST]
      """)
  var httpHost: String?

  @Option(
    parsing: .unconditional,
    help: "Port of the same; 0 takes a free one and logs it. [env: MAGPIE_HTTP_PORT]")
  var httpPort: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Seconds without progress of a lane after which /livez fails and the process exits \
      (default: 600). [env: MAGPIE_WATCHDOG_SECONDS]
      """)
  var watchdogSeconds: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Seconds to finish the batch in hand after SIGTERM (default: 20). [env: MAGPIE_DRAIN_SECONDS]
      """)
  var drainSeconds: Int?

  @Option(help: "text or json (default: text). [env: MAGPIE_LOG_FORMAT]")
  var logFormat: String?

  @Option(
    help: "trace, debug, info, notice, warning, error (default: info). [env: MAGPIE_LOG_LEVEL]")
  var logLevel: String?

  @Option(
    help: ArgumentHelp(
      "A JSON file with the same settings, such as {\"magpie\":{\"kafkaBootstrap\":\"…\"}}. "
        + "[env: MAGPIE_CONFIG]"))
  var config: String?

  public init() {}
}
