import ArgumentParser
import Events

struct Publish: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send events from a file, or one event made from options.",
    discussion: """
      `magpie publish FILE` sends structured CloudEvents, one JSON object per line:
        {"type":"magpie.like.created.v1","id":"1","source":"app","time":"2025-05-17T09:00:00Z",
         "data":{"actor":"minji","post":"p1","postOwner":"somchai"}}
      (on one line). The other subcommands send one event each. Only workers write \
      notification-changes and alarm-changes, so no subcommand does.
      """,
    subcommands: [PublishLines.self] + events,
    defaultSubcommand: PublishLines.self)
}

struct PublishLines: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lines",
    abstract: "Send structured CloudEvents, one JSON object per line.",
    discussion: """
      Checks every line as a worker does before sending it. Invalid lines are reported with their \
      numbers (the first \(shownRejections), and the count of each reason) and not sent; the others are \
      sent, and the exit code is 1. Empty lines are skipped.
      """)

  private static let shownRejections = 20

  @Argument(help: "The file; - is standard input.")
  var file: String

  @OptionGroup var kafka: KafkaOptions

  @Flag(help: "Check the lines and send nothing; needs no broker.")
  var dryRun = false

  @Flag(
    help: """
      Print one JSON object per rejected line (line, code, message) and one with the counts: read, \
      acknowledged, rejected, undelivered.
      """)
  var json = false

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  private struct Rejection: Encodable {
    var line: Int
    var code: String
    var message: String
  }

  private struct Counts: Encodable {
    var read = 0
    var acknowledged = 0
    var rejected = 0
    var undelivered = 0
  }

  func run() throws {
    var lines = try LineReader(path: file, maximumBytes: Limits.valueBytes + 8192)
    let sender =
      dryRun
      ? nil : try EventSender(configuration: kafka.configuration(), prefix: kafka.prefix)
    var counts = Counts()
    var reasons: [String: Int] = [:]
    var shown = Progress(forced: progress)
    var interruption: (any Error)?
    while true {
      do {
        guard let line = try lines.next() else { break }
        guard let event = try decode(line) else { continue }
        counts.read += 1
        try sender?.send(event, number: lines.number)
      } catch let error as EventError {
        counts.read += 1
        counts.rejected += 1
        reasons[error.code.rawValue, default: 0] += 1
        guard json || counts.rejected <= Self.shownRejections else { continue }
        shown.clear()
        report(Rejection(line: lines.number, code: error.code.rawValue, message: error.message))
      } catch {
        interruption = error
        break
      }
      shown.show("\(counts.read) events read, \(sender?.progress.acknowledged ?? 0) acknowledged")
    }
    let outcome = sender?.finish() ?? EventSender.Outcome()
    shown.clear()
    counts.acknowledged = outcome.acknowledged
    counts.undelivered = outcome.undelivered
    if !json, counts.rejected > Self.shownRejections { report(reasons, of: counts.rejected) }
    summarize(counts)
    if let failure = interruption ?? EventSender.failure(outcome) { throw failure }
    if counts.rejected > 0 { throw ExitCode(Failure.Code.found.rawValue) }
  }

  private func decode(_ line: LineReader.Line) throws -> Event? {
    switch line {
    case .unreadable(let reason): throw EventError(.badJSON, reason)
    case .text(let text):
      guard !text.utf8.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else { return nil }
      return try StructuredEvent.decode(text, now: .now)
    }
  }

  private func report(_ rejection: Rejection) {
    if json { return printJSON(rejection) }
    let name = file == "-" ? "standard input" : file
    Console.error.line(
      escapedForDisplay("\(name):\(rejection.line): \(rejection.code): \(rejection.message)"))
  }

  private func report(_ reasons: [String: Int], of count: Int) {
    let listed = reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    Console.error.line("and \(count - Self.shownRejections) more; of all \(count): \(listed)")
  }

  private func summarize(_ counts: Counts) {
    if json { return printJSON(counts) }
    let done =
      dryRun ? "\(counts.read - counts.rejected) valid" : "\(counts.acknowledged) acknowledged"
    var text = "\(done), \(counts.rejected) rejected"
    if counts.undelivered > 0 { text += ", \(counts.undelivered) undelivered" }
    Console.output.line(text)
  }
}
