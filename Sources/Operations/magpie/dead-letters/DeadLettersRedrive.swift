import ArgumentParser
import Events
import Handling
import Kafka
import Lanes
import Postgres

struct DeadLettersRedrive: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "redrive",
    abstract: "Apply dead letters again after their cause is fixed.",
    discussion: """
      Applies each dead letter with its worker's handler, in one transaction with the change of its \
      state. The handlers are those of this tool: use the version that the workers run. Workers may keep \
      running. A dead letter that fails again stays open, with a new entry in its history; the others \
      are still applied, and the exit code is 1. Those of `devices` stay open, too, because their values are \
      not stored: they can only be discarded. The exit code is also 1 if the dead letter of an id is not open. It is \
      safe to interrupt this and to run it twice.
      """)

  @OptionGroup var selection: DeadLetterSelection
  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var handlers: HandlerOptions

  @Option(parsing: .unconditional, help: "The maximum number per second.")
  var rate: Double?

  @Option(parsing: .unconditional, help: "The maximum number per transaction: 1 to 2000.")
  var batch = 200

  @Option(
    parsing: .unconditional,
    help: "Seconds to retry while Kafka or PostgreSQL does not answer: 0 to 86400.")
  var patience = 60

  @Option(help: "Why, stored with the dead letters; at most 2000 bytes (default: applied).")
  var reason: String?

  @Flag(help: "Print one JSON object: redriven, failed, passedOver, discardOnly, dryRun.")
  var json = false

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  func validate() throws {
    try Pace.validate(rate)
    guard (0...86_400).contains(patience) else {
      throw ValidationError("--patience is \(patience), but must be 0 to 86400.")
    }
    guard isReason(reason ?? "applied") else {
      throw ValidationError("--reason must have 1 to \(reasonBytesMax) bytes.")
    }
    guard (1...2000).contains(batch) else {
      throw ValidationError("--batch is \(batch), but must be 1 to 2000.")
    }
  }

  func run() throws {
    let connection = try database.connect()
    if let other = selection.ids.first(where: { !$0.topic.hasPrefix(kafka.prefix) }) {
      throw Failure(
        .usage,
        "\(other.description) is of a topic without the prefix \(kafka.prefix); set --topic-prefix."
      )
    }
    let condition = try selection.condition(prefix: kafka.prefix)
    let closed = try selection.closed(connection)
    let total = try selection.count(connection, condition)
    var result = RedriveResult()
    if selection.dryRun {
      var ofSecretTopics = condition
      ofSecretTopics.and(
        recordTopic, "= ANY",
        .textArray(Topic.allCases.filter(\.isSecret).map { $0.name(prefix: kafka.prefix) }))
      result.discardOnly = Int(try selection.count(connection, ofSecretTopics))
      result.redriven = Int(total) - result.discardOnly
      result.dryRun = true
      report(result)
      return try selection.refuse(closed: closed)
    }
    var ofReminders = condition
    ofReminders.and(
      "consumer_group", "=", .text(ConsumerGroup.reminder.name(prefix: kafka.prefix)))
    if try selection.count(connection, ofReminders) > 0 { handlers.warnOfMissingSecret() }
    let all = try handlers.redriveHandlers()
    var shown = Progress(forced: progress)
    var pace = Pace(perSecond: rate)
    let producer = EventProducer(
      configuration: try kafka.configuration(), topicPrefix: kafka.prefix)
    defer { producer.close() }
    // Even if it fails half-way.
    defer {
      shown.clear()
      report(result)
    }
    for handler in all {
      let redrive = DeadLetterRedrive(
        handler: handler, topicPrefix: kafka.prefix, resolvedBy: selection.resolvedBy,
        resolution: reason ?? "applied",
        open: { try database.connect(as: handler) }, deliver: { try producer.send($0) })
      redrive.patience = .seconds(patience)
      defer { redrive.close() }
      try redrive.all(
        condition, limit: { pace.portion(of: batch) },
        stepped: { step in
          result.add(step)
          shown.show("\(result.redriven) of \(total) redriven, \(result.failed) failed")
          pace.wait(for: step.redriven + step.failed)
        })
    }
    try selection.refuse(closed: closed)
    if result.failed + result.discardOnly > 0 { throw ExitCode(Failure.Code.found.rawValue) }
  }

  private func report(_ result: RedriveResult) {
    if json { return printJSON(result) }
    var text = "\(result.redriven) \(result.dryRun ? "would be " : "")redriven"
    if result.failed > 0 { text += ", \(result.failed) failed again and stay open" }
    if result.passedOver > 0 { text += ", \(result.passedOver) in somebody else's hands" }
    if result.discardOnly > 0 { text += ", \(result.discardOnly) can only be discarded" }
    Console.output.line(text)
  }
}

/// What became of the dead letters of a redrive.
struct RedriveResult: Encodable, Sendable {
  var redriven = 0
  var failed = 0
  /// Dead letters that another redrive has locked or resolved meanwhile.
  var passedOver = 0
  /// Dead letters of secret topics, whose values are not stored. They stay open.
  var discardOnly = 0
  var dryRun = false

  mutating func add(_ step: DeadLetterRedrive.Step) {
    redriven += step.redriven
    failed += step.failed
    passedOver += step.passedOver
    discardOnly += step.discardOnly
  }
}

extension DeadLetterRedrive {
  /// Redrives all that satisfy the condition, in steps.
  ///
  /// - Parameters:
  ///   - limit: how many the next step may redrive.
  ///   - stepped: called after each step.
  func all(
    _ condition: SQLCondition, limit: () -> Int, stepped: (Step) -> Void
  ) throws {
    var place: Place? = Place()
    while let here = place {
      let step = try self.step(
        after: here, limit: limit(), condition: condition.sql, condition.parameters)
      place = step.next
      stepped(step)
    }
  }
}
