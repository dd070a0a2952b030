import ArgumentParser
import Foundation
import Kafka
import Postgres
import Schema

struct Setup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prepare the database and Kafka for the workers: schema, logins, topics.",
    discussion: """
      Does what `magpie migrate` and `magpie topics` do, and creates a login for each password in \
      the environment or sets that login's password:

        MAGPIE_FANOUT_PASSWORD        fanout_worker, a member of magpie_fanout
        MAGPIE_NOTIFICATION_PASSWORD  notification_worker, of magpie_notification
        MAGPIE_ALARM_PASSWORD         alarm_worker, of magpie_alarm
        MAGPIE_REMINDER_PASSWORD      reminder_worker, of magpie_reminder
        MAGPIE_PUSH_PASSWORD          push_worker, of magpie_push
        MAGPIE_READER_PASSWORD        magpie_backend, of magpie_reader
        MAGPIE_OPERATOR_PASSWORD      magpie_operator, of all of these roles, for `magpie operate`

      magpie_backend may also write feed_visits and feed_returns, as the function feed_touch does.

      Running it again is safe: it changes only what is missing or differs.
      """)

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions

  @Option(
    parsing: .unconditional,
    help: "Partitions of each topic, as of `magpie topics`: 1 to 10000 (default: 12).")
  var partitions: Int?

  @Option(
    parsing: .unconditional,
    help: "Copies of each new partition (default: 3 on three brokers or more, else 1).")
  var replicationFactor: Int?

  @Option(
    help: """
      How long new topics keep their records: \(Retention.help) (default: the \
      cluster's). Rebuilding tables needs all records, or an archive of them.
      """)
  var retention: Retention?

  func validate() throws {
    try Topics.validate(partitions: partitions, replicationFactor: replicationFactor)
  }

  func run() throws {
    let configuration = try kafka.configuration()
    let connection = try database.connect(statementTimeoutSeconds: 3600)
    for migration in try Migrations.apply(connection) {
      Console.output.line("applied \(migration.fileName)")
    }
    try warnAboutLocale(of: connection)
    for login in Login.all {
      guard let password = setting(nil, login.variable) else { continue }
      try login.make(connection, password: password)
      Console.output.line("login \(login.name), a member of \(login.roles.joined(separator: ", "))")
    }
    connection.close()
    let topics = TopicSet(
      prefix: kafka.prefix, partitions: partitions, replicationFactor: replicationFactor,
      retention: retention)
    try TopicSet.print(topics.createOrCheck(Admin(configuration: configuration)))
  }
}

/// A login of a worker, of the backends or of the operators' pages.
private struct Login {
  var name: String
  var roles: [String]
  var variable: String

  static let all = [
    Login(name: "fanout_worker", roles: ["magpie_fanout"], variable: "MAGPIE_FANOUT_PASSWORD"),
    Login(
      name: "notification_worker", roles: ["magpie_notification"],
      variable: "MAGPIE_NOTIFICATION_PASSWORD"),
    Login(name: "alarm_worker", roles: ["magpie_alarm"], variable: "MAGPIE_ALARM_PASSWORD"),
    Login(
      name: "reminder_worker", roles: ["magpie_reminder"], variable: "MAGPIE_REMINDER_PASSWORD"),
    Login(name: "push_worker", roles: ["magpie_push"], variable: "MAGPIE_PUSH_PASSWORD"),
    Login(name: "magpie_backend", roles: ["magpie_reader"], variable: "MAGPIE_READER_PASSWORD"),
    Login(
      name: "magpie_operator",
      roles: [
        "magpie_fanout", "magpie_notification", "magpie_alarm", "magpie_reminder", "magpie_push",
        "magpie_reader",
      ],
      variable: "MAGPIE_OPERATOR_PASSWORD"),
  ]

  /// Sends only the password's SCRAM verifier, so that the server's log cannot contain the password.
  func make(_ connection: Connection, password: String) throws {
    let verifier = try connection.encrypted(password: password, user: name)
    let exists = try connection.query(
      "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", [.text(name)])
    let verb = try exists.only.bool(0) ? "ALTER" : "CREATE"
    // Needs no quoting: the verifier consists of Base64, $, : and =.
    try connection.script(
      "\(verb) ROLE \(name) LOGIN PASSWORD '\(verifier)'; "
        + "GRANT \(roles.joined(separator: ", ")) TO \(name)")
  }
}
