import ArgumentParser
import Events
import Foundation
import Postgres

struct ErasureReport: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Show erasures: when each was requested and completed; exit 1 if one takes too long.",
    discussion: """
      One line for each person, named by the first digits of their hash: the id is kept nowhere. \
      --user finds the line of one person.

      "asked" is the time of the event, "applied" when the first worker applied it, "done" when no worker's \
      table named the person any longer. For the others, it says which workers are not done \
      and what they are doing. Exits with 1 if the workers have been busy with a person for longer \
      than --max-age, or if --user was never erased.
      """)

  @OptionGroup var database: DatabaseOptions

  @Option(help: "Show one person, by id.")
  var user: String?

  @Option(help: "The longest time that an erasure may take, such as 12h or 2d (default: 1d).")
  var maxAge: Moment?

  @Option(parsing: .unconditional, help: "The number of lines: 1 to 1000000.")
  var limit = 1000

  @Flag(
    help: """
      Print one JSON object per person (hash, erasedAt, appliedAt, doneAt, seconds, waitsFor: worker, \
      stage, since, isWaiting) and one with erased, underWay and late.
      """)
  var json = false

  private struct Shown: Encodable {
    var hash: String
    var erasedAt: String
    var appliedAt: String
    var doneAt: String?
    /// From applied until done, or until now.
    var seconds: Double
    var isLate: Bool
    var waitsFor: [ErasureState.Waiting]
  }

  private struct Total: Encodable {
    var erased: Int
    var underWay: Int
    var late: Int
  }

  func validate() throws {
    guard (1...1_000_000).contains(limit) else {
      throw ValidationError("--limit is \(limit), but must be 1 to 1000000.")
    }
  }

  func run() throws {
    let connection = try database.connect()
    let now = EventTime.now
    let latest =
      maxAge?.time ?? EventTime(microseconds: now.microseconds - 86_400 * 1_000_000)
    let states = try ErasureState.read(connection, users: user.map { [$0] }, limit: limit)
    for state in states { show(state, latest: latest, now: now) }
    if user != nil {
      guard let state = states.first else {
        throw Failure(
          .found,
          "No worker has applied an erasure of this person. `magpie erasure request` asks for one; "
            + "`magpie lag` shows whether the workers are behind.")
      }
      if !state.isDone, state.appliedAt < latest { throw ExitCode(Failure.Code.found.rawValue) }
      return
    }
    let row = try connection.query(
      """
      SELECT count(*), count(*) FILTER (WHERE done_at IS NULL),
        count(*) FILTER (WHERE done_at IS NULL AND applied_at < $1)
      FROM erasures
      """, [.timestamptz(latest.microseconds)]
    ).only
    let total = Total(erased: try row.int(0), underWay: try row.int(1), late: try row.int(2))
    if json {
      printJSON(total)
    } else {
      let late = total.late == 0 ? "" : Style.red(", \(total.late) of them for too long")
      Console.output.line("\(total.erased) people erased, \(total.underWay) under way\(late)")
    }
    if total.late > 0 { throw ExitCode(Failure.Code.found.rawValue) }
  }

  private func show(_ state: ErasureState, latest: EventTime, now: EventTime) {
    let end = state.doneAt ?? now
    let seconds = Double(end.microseconds - state.appliedAt.microseconds) / 1_000_000
    let isLate = !state.isDone && state.appliedAt < latest
    if json {
      return printJSON(
        Shown(
          hash: state.hash, erasedAt: state.erasedAt.rfc3339, appliedAt: state.appliedAt.rfc3339,
          doneAt: state.doneAt?.rfc3339, seconds: seconds, isLate: isLate,
          waitsFor: state.waitsFor))
    }
    var text = "\(state.hash.prefix(12))  asked \(state.erasedAt)  applied \(state.appliedAt)  "
    let took = Duration.seconds(seconds).formatted(.time(pattern: .hourMinuteSecond))
    if let done = state.doneAt {
      text += Style.green("done \(done)") + "  in \(took)"
    } else {
      let waiting = state.waitsFor.map(\.text).joined(separator: ", ")
      let line = "waits for \(waiting), for \(took)"
      text += isLate ? Style.red(line) : Style.yellow(line)
    }
    Console.output.line(text)
  }
}
