import ArgumentParser
import Events
import Postgres

struct DeadLettersDiscard: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Decide that records will never be applied. They stay readable, with your reason.",
    discussion: """
      Only open dead letters are discarded. Nothing is deleted: `list --state discarded` lists them, \
      `show` shows the record, who discarded it and why.
      """)

  @OptionGroup var selection: DeadLetterSelection
  @OptionGroup var database: DatabaseOptions

  @Option(help: "What topic names begin with (default: magpie.). [env: MAGPIE_TOPIC_PREFIX]")
  var topicPrefix: String?

  @Option(help: "Why; it stays with them. At most 2000 bytes.")
  var reason: String

  @Flag(help: "Print one JSON object: discarded, dryRun.")
  var json = false

  @Flag(help: "Show progress also when standard error is no terminal.")
  var progress = false

  func validate() throws {
    guard !reason.allSatisfy(\.isWhitespace), reason.utf8.count <= 2000 else {
      throw ValidationError("--reason must say why, in at most 2000 bytes.")
    }
  }

  private struct Result: Encodable {
    var discarded: Int64
    var dryRun: Bool
  }

  func run() throws {
    let connection = try database.connect()
    let prefix = setting(topicPrefix, "MAGPIE_TOPIC_PREFIX") ?? Topic.defaultPrefix
    let condition = try selection.condition(connection, prefix: prefix)
    var count = selection.dryRun ? try selection.count(connection, condition) : 0
    var shown = Progress(forced: progress)
    // In pieces: a worker that adds a dead letter, or a redrive, waits for one piece at most.
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
    Standard.output.line(
      selection.dryRun ? "\(count) would be discarded" : "\(count) discarded")
  }
}
