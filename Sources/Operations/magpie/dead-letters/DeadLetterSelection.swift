import ArgumentParser
import Events
import Postgres

/// The options of commands that change dead letters.
struct DeadLetterSelection: ParsableArguments {
  @OptionGroup var filter: DeadLetterFilter

  @Argument(help: "GROUP:TOPIC/PARTITION/OFFSET, as `magpie dead-letters list` prints them.")
  var ids: [LetterID] = []

  @Flag(help: "All open dead letters; required without ids and filters.")
  var all = false

  @Flag(help: "Change nothing; print the number of dead letters.")
  var dryRun = false

  @Option(help: "The operator to record (default: user and host).")
  var by: String?

  var resolvedBy: String { by ?? operatorName() }

  func validate() throws {
    guard all != (!filter.isEmpty || !ids.isEmpty) else {
      throw ValidationError(
        all
          ? "--all excludes ids and filters."
          : "Select dead letters by id, by a filter such as --reason-code, or with --all.")
    }
    guard ids.count <= 10_000 else { throw ValidationError("At most 10000 ids are allowed.") }
  }

  /// The condition that selects the open dead letters.
  ///
  /// - Throws: `Failure` if there is no dead letter with one of the ids.
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
