import ArgumentParser
import Events
import Postgres

/// Options of the commands that change dead letters.
struct DeadLetterSelection: ParsableArguments {
  @OptionGroup var filter: DeadLetterFilter

  @Argument(help: "GROUP:TOPIC/PARTITION/OFFSET, as `magpie dead-letters list` prints them.")
  var ids: [LetterID] = []

  @Flag(help: "All open dead letters: needed where no id and no filter says which.")
  var all = false

  @Flag(help: "Change nothing; say how many there are.")
  var dryRun = false

  @Option(help: "Who is said to have done it (default: user and host).")
  var by: String?

  var resolvedBy: String { by ?? operatorName() }

  func validate() throws {
    guard all != (!filter.isEmpty || !ids.isEmpty) else {
      throw ValidationError(
        all
          ? "--all goes with no id and no filter."
          : "Say which dead letters: by id, by a filter such as --reason-code, or --all.")
    }
    guard ids.count <= 10_000 else { throw ValidationError("At most 10000 ids at once.") }
  }

  /// The open dead letters that are meant.
  ///
  /// - Throws: `Failure` if an id names none.
  func condition(_ connection: Connection, prefix: String) throws -> SQLCondition {
    for id in ids { _ = try id.find(connection) }
    return filter.condition(prefix: prefix, ids: ids, states: ["open"])
  }

  func count(_ connection: Connection, _ condition: SQLCondition) throws -> Int64 {
    try connection.query(
      "SELECT count(*) FROM dead_letters WHERE \(condition.sql)", condition.parameters
    ).only.int8(0)
  }
}
