import ArgumentParser
import Postgres

struct DeadLettersDiscard: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Close dead letters without applying them. They stay readable, with your reason.",
    discussion: """
      Discards only open dead letters and deletes nothing: `list --state discarded` lists them, and \
      `show` prints the record, who discarded it and why. If the dead letter of an id is not open, the \
      others are discarded, and the exit code is 1.
      """)

  @OptionGroup var selection: DeadLetterSelection
  @OptionGroup var database: DatabaseOptions

  @OptionGroup var topics: TopicOptions

  @Option(help: "The reason, stored with the dead letters; at most 2000 bytes.")
  var reason: String

  @Flag(help: "Print one JSON object: discarded, dryRun.")
  var json = false

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  func validate() throws {
    guard isReason(reason) else {
      throw ValidationError("--reason must have 1 to \(reasonBytesMax) bytes.")
    }
  }

  private struct Result: Encodable {
    var discarded: Int64
    var dryRun: Bool
  }

  func run() throws {
    let connection = try database.connect()
    let condition = try selection.condition(prefix: topics.prefix)
    let closed = try selection.closed(connection)
    if selection.dryRun {
      report(try selection.count(connection, condition))
    } else {
      var shown = Progress(forced: progress)
      var count: Int64 = 0
      // Even if it fails half-way.
      defer {
        shown.clear()
        report(count)
      }
      _ = try discardLetters(
        connection, condition, by: selection.resolvedBy, reason: reason
      ) {
        count = $0
        shown.show("\($0) discarded")
      }
    }
    try selection.refuse(closed: closed)
  }

  private func report(_ count: Int64) {
    if json { return printJSON(Result(discarded: count, dryRun: selection.dryRun)) }
    Console.output.line(selection.dryRun ? "\(count) would be discarded" : "\(count) discarded")
  }
}

/// The longest reason that an operator may give.
let reasonBytesMax = 2000

/// Whether it says something, in at most ``reasonBytesMax`` bytes.
func isReason(_ text: String) -> Bool {
  !text.allSatisfy(\.isWhitespace) && text.utf8.count <= reasonBytesMax && !text.utf8.contains(0)
}

/// Discards the dead letters that satisfy the condition, which must select open ones only: otherwise it
/// would never end.
///
/// In small transactions, so that workers and redrives wait for at most one of them.
///
/// - Parameter shown: called with the number so far.
/// - Returns: how many were discarded.
func discardLetters(
  _ connection: Connection, _ condition: SQLCondition, by name: String, reason: String,
  shown: (Int64) -> Void = { _ in }
) throws -> Int64 {
  var count: Int64 = 0
  while true {
    let rows = try connection.query(
      """
      UPDATE dead_letters SET state = 'discarded', resolved_at = now(),
        resolved_by = $\(condition.parameters.count + 1)::text,
        resolution = $\(condition.parameters.count + 2)::text
      WHERE (consumer_group, topic, partition, record_offset) IN (
        SELECT consumer_group, topic, partition, record_offset FROM dead_letters
        WHERE \(condition.sql)
        ORDER BY consumer_group, topic, partition, record_offset LIMIT 1000 FOR UPDATE)
      """, condition.parameters + [.text(name), .text(reason)])
    guard rows.affectedRows > 0 else { return count }
    count += Int64(rows.affectedRows)
    shown(count)
  }
}
