import ArgumentParser
import Events
import Postgres

/// One alarm of a person, by its UUID or by the sequence that older clients know.
struct AlarmOptions: ParsableArguments {
  @Option(help: "The recipient of the alarm.") var user: String
  @Option(
    name: .customLong("notification"),
    help: "The alarm's UUID, as `magpie alarms --json` prints it.")
  var uuid: String?
  @OptionGroup var sequence: SequenceOptions

  func validate() throws {
    guard (uuid == nil) != (sequence.sequence == nil) else {
      throw ValidationError("Give either --notification or --sequence.")
    }
  }

  /// The alarm's UUID.
  func notification() throws -> String {
    if let uuid { return uuid }
    return try sequence.query(user, columns: "a.id::text").text(0)
  }
}

/// What `alarm.disabled` turns off, for one alarm or by its parts.
struct AlarmScopeOptions: ParsableArguments {
  @Option(help: "The recipient of the alarms.") var user: String
  @Option(help: "What is turned off or on: kind, subject or actor.") var scope: String
  @Option(help: "For the scopes kind and subject: the kind's code or name.") var kind = ""
  @Option(help: "For the scope subject, such as a post's id.") var subject = ""
  @Option(help: "For the scope actor: the person.") var actor = ""
  @Option(help: "The UUID of the alarm that the reader chose it from.") var notification = ""
  @OptionGroup var sequence: SequenceOptions

  func validate() throws {
    guard sequence.sequence == nil || kind + subject + actor + notification == "" else {
      throw ValidationError(
        "--sequence names an alarm, which has a kind, subject and actor: leave out --kind, "
          + "--subject, --actor and --notification.")
    }
  }

  /// With `--sequence`, the alarm's UUID and the parts that the scope needs.
  func resolved() throws -> Self {
    guard sequence.sequence != nil else { return self }
    let row = try sequence.query(
      user, columns: "a.id::text, s.kind, s.subject, s.actor",
      joining: "LEFT JOIN LATERAL alarm_scopes($1, a.id) s ON true")
    guard let kind = try row.textOrNil(1) else {
      throw Failure(
        .found,
        "the alarm with this sequence is not shown any more; give --kind, --subject or --actor.")
    }
    var options = self
    options.notification = try row.text(0)
    switch AlarmScope(rawValue: scope) {
    case .kind: options.kind = kind
    case .subject: (options.kind, options.subject) = (kind, try row.text(2))
    case .actor: options.actor = try row.text(3)
    case nil: break
    }
    return options
  }
}

/// `--sequence` and the database that resolves it: events carry ids.
struct SequenceOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: """
      The alarm's sequence in legacy_alarm_list, instead of --notification. Looked up in the \
      database.
      """)
  var sequence: Int64?
  @OptionGroup var database: DatabaseOptions

  /// The row of the alarm `a (id)` with the sequence.
  ///
  /// - Parameter joining: SQL that joins further rows.
  fileprivate func query(_ user: String, columns: String, joining: String = "") throws -> Row {
    guard database.isGiven else {
      throw Failure(
        .usage,
        "--sequence is looked up in the database: set MAGPIE_DATABASE_URL or --database-url, or "
          + "give --notification.")
    }
    do {
      return try database.connect().query(
        """
        SELECT \(columns) FROM (SELECT alarm_of_sequence($1, $2) AS id OFFSET 0) a \(joining)
        """, [.text(user), .int8(sequence)]
      ).only
    } catch let error as PostgresError where error.sqlstate == "22P02" {
      throw Failure(.found, "\(error.message)\n\(error.hint ?? "")")
    }
  }
}
