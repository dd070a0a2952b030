import ArgumentParser
import Events
import Foundation
import Handling
import Kafka
import Postgres
import Service
import Synchronization

// So that commands need not import Service for their options.
typealias KafkaOptions = Service.KafkaOptions
typealias DatabaseOptions = Service.DatabaseOptions
typealias TopicOptions = Service.TopicOptions

extension TopicOptions {
  var prefix: String { setting(topicPrefix, "MAGPIE_TOPIC_PREFIX") ?? Topic.defaultPrefix }
}

extension KafkaOptions {
  var bootstrap: String? { setting(kafkaBootstrap, "MAGPIE_KAFKA_BOOTSTRAP") }
  var prefix: String { topics.prefix }

  /// The librdkafka properties from files, the environment and the flags.
  func properties() throws -> [String: String] {
    try usage { try ConnectionSettings().kafkaProperties(flags: kafkaProperties) }
  }

  /// The properties from the environment and the flags, for the environment of a worker that this
  /// process starts. The worker reads the files itself.
  var listed: String {
    ([setting(nil, "MAGPIE_KAFKA_PROPERTIES") ?? ""] + kafkaProperties).filter { !$0.isEmpty }
      .joined(separator: ",")
  }

  func configuration() throws -> ClientConfiguration {
    guard let bootstrap else {
      throw Failure(
        .usage,
        "No Kafka address: set MAGPIE_KAFKA_BOOTSTRAP or --kafka-bootstrap. "
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

extension DatabaseOptions {
  func url() throws -> String? {
    try usage { try ConnectionSettings().databaseURL(flag: databaseURL) }
  }

  /// Whether a flag or a variable names a database.
  var isGiven: Bool {
    setting(databaseURL, "MAGPIE_DATABASE_URL") ?? setting(nil, "MAGPIE_DATABASE_URL_FILE") != nil
  }

  func connect(statementTimeoutSeconds: Int = 300) throws -> Connection {
    guard let url = try url() else {
      throw Failure(
        .usage,
        "No database: set MAGPIE_DATABASE_URL or --database-url. "
          + "`magpie up` starts one and prints its URL.")
    }
    return try Connection(
      url, applicationName: "magpie", statementTimeoutSeconds: statementTimeoutSeconds)
  }
}

/// The last warning of librdkafka, for the error message. Warnings are not printed.
enum KafkaComplaints {
  private static let newest = Mutex<String?>(nil)

  static var last: String? { newest.withLock { $0 } }

  static func note(level: Int, facility: String, text: String) {
    guard level <= 4 else { return }
    newest.withLock { $0 = "\(facility): \(text.prefix(300))" }
  }
}

/// Runs `body` and reports its validation errors as usage errors.
private func usage<T>(_ body: () throws -> T) throws -> T {
  do {
    return try body()
  } catch let error as ValidationError {
    throw Failure(.usage, error.message)
  }
}

/// The flag, or else the environment variable. Empty values count as not set.
func setting(_ flag: String?, _ name: String) -> String? {
  if let flag { return flag.isEmpty ? nil : flag }
  let value = ProcessInfo.processInfo.environment[name] ?? ""
  return value.isEmpty ? nil : value
}
