public import ArgumentParser

/// The options of the connection to Kafka, of workers and tools.
public struct KafkaOptions: ParsableArguments, Sendable {
  @Option(help: "Kafka bootstrap servers, host:port[,host:port]. [env: MAGPIE_KAFKA_BOOTSTRAP]")
  public var kafkaBootstrap: String?

  @Option(
    name: .customLong("kafka-property"),
    help: ArgumentHelp(
      "A librdkafka property, such as security.protocol=SASL_SSL. May be repeated. "
        + "[env: MAGPIE_KAFKA_PROPERTIES, comma-separated; MAGPIE_KAFKA_PROPERTIES_FILE, one per line]",
      discussion: "Do not pass secrets here, because command lines are visible to everyone on the "
        + "machine: set MAGPIE_KAFKA_PASSWORD or MAGPIE_KAFKA_PASSWORD_FILE for sasl.password.",
      valueName: "name=value"))
  public var kafkaProperties: [String] = []

  @OptionGroup public var topics: TopicOptions

  public init() {}
}

/// The option for the names of topics and consumer groups.
public struct TopicOptions: ParsableArguments, Sendable {
  @Option(
    help: """
      The prefix of the names of topics and consumer groups (default: magpie.). \
      [env: MAGPIE_TOPIC_PREFIX]
      """)
  public var topicPrefix: String?

  public init() {}

  /// Refuses an empty prefix: a variable of the shell that is not set must not select another deployment.
  public func validate() throws {
    guard topicPrefix != "" else {
      throw ValidationError(
        "--topic-prefix is empty. Leave it out to use MAGPIE_TOPIC_PREFIX or the default, magpie.")
    }
  }
}

/// The options of the connection to PostgreSQL, of workers and tools.
public struct DatabaseOptions: ParsableArguments, Sendable {
  @Option(
    help: ArgumentHelp(
      "PostgreSQL connection URL, without a password. [env: MAGPIE_DATABASE_URL, "
        + "MAGPIE_DATABASE_URL_FILE]",
      discussion: "Do not pass secrets here, because command lines are visible to everyone on the "
        + "machine: the variables may hold the password, and MAGPIE_DATABASE_PASSWORD_FILE may name "
        + "a file that contains only the password."))
  public var databaseURL: String?

  public init() {}
}
