import ArgumentParser
import Events
import Kafka
import Lanes
import Postgres

struct DeadLettersRedrive: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "redrive",
    abstract: "Apply them after all, once what they failed for is mended.",
    discussion: """
      Each is applied as its worker would apply it, in one transaction with the change of its state, by \
      the code of this tool: use the version that the workers run. Workers may go on running. One that \
      fails again stays open, with another entry in its history, and stops none of the others; the exit \
      code is then 1. Ending this at any time, and starting it twice, does no harm.
      """)

  @OptionGroup var selection: DeadLetterSelection
  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var handlers: HandlerOptions

  @Option(parsing: .unconditional, help: "At most so many a second.")
  var rate: Double?

  @Option(parsing: .unconditional, help: "How many in one transaction at most: 1 to 2000.")
  var batch = 200

  @Option(
    parsing: .unconditional,
    help: "Seconds to try again while Kafka or PostgreSQL does not answer: 0 to 86400.")
  var patience = 60

  @Flag(help: "Print one JSON object: redriven, failed, passedOver, dryRun.")
  var json = false

  @Flag(help: "Show progress also when standard error is no terminal.")
  var progress = false

  func validate() throws {
    guard (rate ?? 1) > 0, (rate ?? 1) <= 1_000_000 else {
      throw ValidationError("--rate must be more than 0 and at most 1000000.")
    }
    guard (0...86_400).contains(patience) else {
      throw ValidationError("--patience is \(patience), but must be 0 to 86400.")
    }
    guard (1...2000).contains(batch) else {
      throw ValidationError("--batch is \(batch), but must be 1 to 2000.")
    }
  }

  private struct Result: Encodable {
    var redriven = 0
    var failed = 0
    /// Somebody else had them in hand, or has dealt with them meanwhile.
    var passedOver = 0
    var dryRun = false
  }

  func run() throws {
    let connection = try database.connect()
    let condition = try selection.condition(connection, prefix: kafka.prefix)
    let total = try selection.count(connection, condition)
    var result = Result()
    if selection.dryRun {
      result.dryRun = true
      if json { return printJSON(result) }
      return Standard.output.line("\(total) would be redriven")
    }
    var shown = Progress(forced: progress)
    var pace = Pace(perSecond: rate)
    let producer = EventProducer(
      configuration: try kafka.configuration(), topicPrefix: kafka.prefix)
    defer { producer.close() }
    for handler in try handlers.handlers().all {
      let redrive = DeadLetterRedrive(
        handler: handler, topicPrefix: kafka.prefix, resolvedBy: selection.resolvedBy,
        open: { try database.connect(as: handler) }, deliver: { try producer.send($0) })
      redrive.patience = .seconds(patience)
      defer { redrive.close() }
      var place: DeadLetterRedrive.Place? = DeadLetterRedrive.Place()
      while let here = place {
        let limit = pace.portion(of: batch)
        let step = try redrive.step(
          after: here, limit: limit, condition: condition.sql, condition.parameters)
        place = step.next
        result.redriven += step.redriven
        result.failed += step.failed
        result.passedOver += step.passedOver
        let done = step.redriven + step.failed
        shown.show("\(result.redriven) of \(total) redriven, \(result.failed) failed")
        pace.wait(for: done)
      }
    }
    shown.clear()
    report(result)
    if result.failed > 0 { throw ExitCode(Failure.Code.found.rawValue) }
  }

  private func report(_ result: Result) {
    if json { return printJSON(result) }
    var text = "\(result.redriven) redriven"
    if result.failed > 0 { text += ", \(result.failed) failed again and stay open" }
    if result.passedOver > 0 { text += ", \(result.passedOver) in somebody else's hands" }
    Standard.output.line(text)
  }
}
