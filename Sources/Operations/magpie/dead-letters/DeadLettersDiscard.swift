import ArgumentParser
import Postgres

struct DeadLettersDiscard: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Mark dead letters as never to be applied. They stay readable, with your reason.",
    discussion: """
      Discards only open dead letters and deletes nothing: `list --state discarded` lists them, and \
      `show` prints the record, who discarded it and why.
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
    guard !reason.allSatisfy(\.isWhitespace), reason.utf8.count <= 2000 else {
      throw ValidationError("--reason must have 1 to 2000 bytes.")
    }
  }

  private struct Result: Encodable {
    var discarded: Int64
    var dryRun: Bool
  }

  func run() throws {
    let connection = try database.connect()
    let prefix = topics.prefix
    let condition = try selection.condition(connection, prefix: prefix)
    var count = selection.dryRun ? try selection.count(connection, condition) : 0
    var shown = Progress(forced: progress)
    // In small transactions, so that workers and redrives wait for at most one of them.
    while !selection.dryRun {
      let rows = try connection.query(
        """
        UPDATE dead_letters SET state = 'discarded', resolved_at = now(),
          resolved_by = $\(condition.parameters.count + 1)::text,
          resolution = $\(condition.parameters.count + 2)::text
        WHERE (consumer_group, topic, partition, record_offset) IN (
          SELECT consumer_group, topic, partition, record_offset FROM dead_letters
          WHERE \(condition.sql)
          ORDER BY consumer_group, topic, partition, record_offset LIMIT 1000 FOR UPDATE)
        """, condition.parameters + [.text(selection.resolvedBy), .text(reason)])
      guard rows.affectedRows > 0 else { break }
      count += Int64(rows.affectedRows)
      shown.show("\(count) discarded")
    }
    shown.clear()
    if json { return printJSON(Result(discarded: count, dryRun: selection.dryRun)) }
    Console.output.line(
      selection.dryRun ? "\(count) would be discarded" : "\(count) discarded")
  }
}
