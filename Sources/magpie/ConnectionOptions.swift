import ArgumentParser
import Events
import Foundation
import Kafka
import Postgres
import Synchronization

/// How to reach Kafka.
struct KafkaOptions: ParsableArguments {
  @Option(help: "Kafka bootstrap servers, host:port[,host:port]. [env: MAGPIE_KAFKA_BOOTSTRAP]")
  var kafkaBootstrap: String?

  @Option(
    name: .customLong("kafka-property"),
    help: ArgumentHelp(
      "A librdkafka property, such as security.protocol=SASL_SSL. May be repeated. "
        + "[env: MAGPIE_KAFKA_PROPERTIES, comma-separated]",
      valueName: "name=value"))
  var kafkaProperties: [String] = []

  @Option(help: "What topic names begin with (default: magpie.). [env: MAGPIE_TOPIC_PREFIX]")
  var topicPrefix: String?

  var bootstrap: String? { setting(kafkaBootstrap, "MAGPIE_KAFKA_BOOTSTRAP") }
  var prefix: String { setting(topicPrefix, "MAGPIE_TOPIC_PREFIX") ?? Topic.defaultPrefix }

  /// `name=value`, from the environment and then from the flags.
  var properties: [String] {
    let listed = ProcessInfo.processInfo.environment["MAGPIE_KAFKA_PROPERTIES"] ?? ""
    return listed.split(separator: ",").map(String.init) + kafkaProperties
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
    var parsed: [String: String] = [:]
    for pair in properties {
      let parts = pair.split(separator: "=", maxSplits: 1).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      guard parts.count == 2, !parts[0].isEmpty else {
        throw Failure(.usage, "--kafka-property takes name=value; the name or the = is missing.")
      }
      parsed[parts[0]] = parts[1]
    }
    return ClientConfiguration(
      bootstrap: bootstrap, clientID: "magpie-tool", properties: parsed, log: KafkaComplaints.note)
  }
}

/// How to reach PostgreSQL.
struct DatabaseOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "PostgreSQL connection URL. [env: MAGPIE_DATABASE_URL]",
      discussion: "Prefer the environment: command lines are visible to everyone on the machine."))
  var databaseURL: String?

  var url: String? { setting(databaseURL, "MAGPIE_DATABASE_URL") }

  func connect(statementTimeoutSeconds: Int = 300) throws -> Connection {
    guard let url else {
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

/// The flag, else the environment variable; an empty one counts as not set.
func setting(_ flag: String?, _ name: String) -> String? {
  if let flag { return flag.isEmpty ? nil : flag }
  let value = ProcessInfo.processInfo.environment[name] ?? ""
  return value.isEmpty ? nil : value
}
