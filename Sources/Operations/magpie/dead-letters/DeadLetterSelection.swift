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
  func condition(prefix: String) throws -> SQLCondition {
    try filter.condition(prefix: prefix, ids: ids, states: ["open"])
  }

  /// The state of each selected id that is not open, for `refuse(closed:)`.
  ///
  /// - Throws: `Failure` if there is no dead letter with one of the ids.
  func closed(_ connection: Connection) throws -> [String] {
    try ids.compactMap { id in
      let letters = try id.find(connection)
      guard let first = letters.first, letters.allSatisfy({ $0.state != "open" }) else {
        return nil
      }
      let by = first.resolvedBy.map { " by \($0)" } ?? ""
      let at = first.resolvedAt.map { " at \($0.rfc3339)" } ?? ""
      return "\(id.description) is not open: it was \(first.state)\(by)\(at)."
    }
  }

  /// Reports ids that were not open, after the open ones are changed.
  ///
  /// - Throws: `Failure` if there are any.
  func refuse(closed: [String]) throws {
    guard !closed.isEmpty else { return }
    throw Failure(
      .found,
      closed.joined(separator: "\n") + "\n`magpie dead-letters show ID` prints the history.")
  }

  func count(_ connection: Connection, _ condition: SQLCondition) throws -> Int64 {
    try connection.query(
      "SELECT count(*) FROM dead_letters WHERE \(condition.sql)", condition.parameters
    ).only.int8(0)
  }
}
