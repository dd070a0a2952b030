import ArgumentParser
import Events
import Foundation
import Handling
import Kafka
import Postgres
import Service
import Synchronization

/// How to reach Kafka.
struct KafkaOptions: ParsableArguments {
  @Option(help: "Kafka bootstrap servers, host:port[,host:port]. [env: MAGPIE_KAFKA_BOOTSTRAP]")
  var kafkaBootstrap: String?

  @Option(
    name: .customLong("kafka-property"),
    help: ArgumentHelp(
      "A librdkafka property, such as security.protocol=SASL_SSL. May be repeated. "
        + "[env: MAGPIE_KAFKA_PROPERTIES, comma-separated; MAGPIE_KAFKA_PROPERTIES_FILE, one a line]",
      discussion: "Secrets do not come this way, because command lines are visible to everyone on "
        + "the machine: sasl.password has MAGPIE_KAFKA_PASSWORD and MAGPIE_KAFKA_PASSWORD_FILE.",
      valueName: "name=value"))
  var kafkaProperties: [String] = []

  @Option(help: "What topic names begin with (default: magpie.). [env: MAGPIE_TOPIC_PREFIX]")
  var topicPrefix: String?

  var bootstrap: String? { setting(kafkaBootstrap, "MAGPIE_KAFKA_BOOTSTRAP") }
  var prefix: String { setting(topicPrefix, "MAGPIE_TOPIC_PREFIX") ?? Topic.defaultPrefix }

  /// librdkafka's, from files, the environment and the flags.
  func properties() throws -> [String: String] {
    try usage { try ConnectionSettings().kafkaProperties(flags: kafkaProperties) }
  }

  /// The environment's and the flags' as a worker started from here is to have them; what files
  /// hold it finds itself.
  var listed: String {
    ([setting(nil, "MAGPIE_KAFKA_PROPERTIES") ?? ""] + kafkaProperties).filter { !$0.isEmpty }
      .joined(separator: ",")
  }

  func configuration() throws -> ClientConfiguration {
    guard let bootstrap else {
      throw Failure(
        .usage,
        "There is no Kafka address: set MAGPIE_KAFKA_BOOTSTRAP or --kafka-bootstrap. "
          + "`magpie up` starts a broker and prints its address.")
    }
    return try configuration(bootstrap: bootstrap)
  }

  func configuration(bootstrap: String) throws -> ClientConfiguration {
    let properties = try properties()
    return ClientConfiguration(
      bootstrap: bootstrap, clientID: "magpie-tool", properties: properties,
      log: KafkaComplaints.note)
  }
}

/// How to reach PostgreSQL.
struct DatabaseOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "PostgreSQL connection URL, without a password. [env: MAGPIE_DATABASE_URL, "
        + "MAGPIE_DATABASE_URL_FILE]",
      discussion: "Secrets do not come this way, because command lines are visible to everyone on "
        + "the machine: the variables may hold the password; MAGPIE_DATABASE_PASSWORD_FILE names a "
        + "file with it alone."))
  var databaseURL: String?

  func url() throws -> String? {
    try usage { try ConnectionSettings().databaseURL(flag: databaseURL) }
  }

  /// Whether a database was named, in whichever way.
  var isGiven: Bool {
    setting(databaseURL, "MAGPIE_DATABASE_URL") ?? setting(nil, "MAGPIE_DATABASE_URL_FILE") != nil
  }

  func connect(statementTimeoutSeconds: Int = 300) throws -> Connection {
    guard let url = try url() else {
      throw Failure(
        .usage,
        "There is no database: set MAGPIE_DATABASE_URL or --database-url. "
          + "`magpie up` starts one and prints its URL.")
    }
    return try Connection(
      url, applicationName: "magpie", statementTimeoutSeconds: statementTimeoutSeconds)
  }
}

/// librdkafka's complaints, kept for the error message instead of printed as they come.
enum KafkaComplaints {
  private static let newest = Mutex<String?>(nil)

  static var last: String? { newest.withLock { $0 } }

  static func note(level: Int, facility: String, text: String) {
    guard level <= 4 else { return }
    newest.withLock { $0 = "\(facility): \(text.prefix(300))" }
  }
}

/// `body`, whose complaints are about the command line or a setting.
private func usage<T>(_ body: () throws -> T) throws -> T {
  do {
    return try body()
  } catch let error as ValidationError {
    throw Failure(.usage, error.message)
  }
}

/// The flag, else the environment variable; an empty one counts as not set.
func setting(_ flag: String?, _ name: String) -> String? {
  if let flag { return flag.isEmpty ? nil : flag }
  let value = ProcessInfo.processInfo.environment[name] ?? ""
  return value.isEmpty ? nil : value
}
