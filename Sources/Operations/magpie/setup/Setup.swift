import ArgumentParser
import Foundation
import Kafka
import Postgres
import Schema

struct Setup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prepare database and Kafka for the workers: schema, logins, topics.",
    discussion: """
      What `magpie migrate` and `magpie topics` do, and between them a login for each password in \
      the environment, made or given that password:

        MAGPIE_FANOUT_PASSWORD        fanout_worker, a member of magpie_fanout
        MAGPIE_NOTIFICATION_PASSWORD  notification_worker, of magpie_notification
        MAGPIE_ALARM_PASSWORD         alarm_worker, of magpie_alarm
        MAGPIE_READER_PASSWORD        magpie_backend, of magpie_reader

      Running it again is safe and changes only what is missing or different.
      """)

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions

  @Option(
    parsing: .unconditional,
    help: "Partitions of each topic, as of `magpie topics`: 1 to 10000 (default: 12).")
  var partitions: Int?

  @Option(
    parsing: .unconditional,
    help: "Copies of each partition that is created (default: 3 on three brokers or more, else 1).")
  var replicationFactor: Int?

  @Option(
    help: """
      How long topics that are created keep their records: \(Retention.help) (default: the \
      cluster's own). Rebuilding tables needs all records, or an archive of them.
      """)
  var retention: Retention?

  func validate() throws {
    try Topics.validate(partitions: partitions, replicationFactor: replicationFactor)
  }

  func run() throws {
    let configuration = try kafka.configuration()
    let connection = try database.connect(statementTimeoutSeconds: 3600)
    for migration in try Migrations.apply(connection) {
      Standard.output.line("applied \(migration.fileName)")
    }
    for login in Login.all {
      guard let password = setting(nil, login.variable) else { continue }
      try login.make(connection, password: password)
      Standard.output.line("login \(login.name), a member of \(login.role)")
    }
    connection.close()
    let topics = TopicSet(
      prefix: kafka.prefix, partitions: partitions, replicationFactor: replicationFactor,
      retention: retention)
    try TopicSet.print(topics.createOrCheck(Admin(configuration: configuration)))
  }
}

/// A login of one worker, or of the backends that read.
private struct Login {
  var name: String
  var role: String
  var variable: String

  static let all = [
    Login(name: "fanout_worker", role: "magpie_fanout", variable: "MAGPIE_FANOUT_PASSWORD"),
    Login(
      name: "notification_worker", role: "magpie_notification",
      variable: "MAGPIE_NOTIFICATION_PASSWORD"),
    Login(name: "alarm_worker", role: "magpie_alarm", variable: "MAGPIE_ALARM_PASSWORD"),
    Login(name: "magpie_backend", role: "magpie_reader", variable: "MAGPIE_READER_PASSWORD"),
  ]

  /// The password goes over the wire, and into the server's log, as its SCRAM verifier only.
  func make(_ connection: Connection, password: String) throws {
    let verifier = try connection.encrypted(password: password, user: name)
    let exists = try connection.query(
      "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", [.text(name)])
    let verb = try exists.only.bool(0) ? "ALTER" : "CREATE"
    // The verifier is base64 with $, : and =.
    try connection.script(
      "\(verb) ROLE \(name) LOGIN PASSWORD '\(verifier)'; GRANT \(role) TO \(name)")
  }
}
