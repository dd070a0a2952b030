import ArgumentParser
import Events
import Lanes
import Rebuild

/// The options of `--apply` and `--republish`, apart from the filters.
struct ReplayAgainOptions: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: "With --apply and --republish: the maximum number of records per second."
  )
  var rate: Double?

  @Option(
    help: ArgumentHelp(
      "With --apply and --republish: store the position in this file, from which the same command "
        + "continues.", valueName: "file"))
  var position: String?

  @Option(
    parsing: .unconditional,
    help: """
      With --apply: pause while the lag of the running workers is larger than this (default: 10000). \
      Workers that are not running are not waited for.
      """)
  var maxLag: Int64?

  @Option(
    name: .customLong("worker"),
    help: ArgumentHelp(
      "With --apply: apply only with this worker's handler: fanout, notification, alarm or reminder. "
        + "May be repeated.",
      valueName: "name"))
  var workers: [String] = []

  @Option(
    parsing: .unconditional,
    help: """
      With --apply: stop after this many new dead letters in a row (default: 500). Records that the \
      worker had dead-lettered do not count. [env: MAGPIE_DEAD_LETTER_RUN_LIMIT]
      """)
  var deadLetterRunLimit: Int?

  @Option(
    parsing: .unconditional,
    help: """
      With --apply: stop when more than this share of the last 1000 to 2000 records becomes new dead \
      letters (default: 0.5). [env: MAGPIE_DEAD_LETTER_SHARE_LIMIT]
      """)
  var deadLetterShareLimit: Double?

  /// The workers' circuit breaker, with the settings of the workers.
  func breaker() throws -> CircuitBreaker {
    let run = setting(deadLetterRunLimit.map(String.init), "MAGPIE_DEAD_LETTER_RUN_LIMIT") ?? "500"
    guard let runLimit = Int(run), runLimit > 0 else {
      throw Failure(.usage, "--dead-letter-run-limit is \(run), but must be 1 or more.")
    }
    let share =
      setting(deadLetterShareLimit.map { "\($0)" }, "MAGPIE_DEAD_LETTER_SHARE_LIMIT") ?? "0.5"
    guard let shareLimit = Double(share), (0...1).contains(shareLimit) else {
      throw Failure(.usage, "--dead-letter-share-limit is \(share), but must be 0 to 1.")
    }
    return CircuitBreaker(runLimit: runLimit, shareLimit: shareLimit)
  }

  func validate() throws {
    try Pace.validate(rate)
    guard (maxLag ?? 0) >= 0 else { throw ValidationError("--max-lag must not be negative.") }
    for worker in workers where TableGroup.allCases.allSatisfy({ $0.worker != worker }) {
      throw ValidationError(
        "--worker is \(worker), but must be fanout, notification, alarm or reminder.")
    }
  }
}

extension ReplayFilterOptions {
  /// The filters in words, stored with a position so that it is not used by a different replay.
  var description: String {
    let lists = [
      ("topic", topics), ("partition", partitions), ("type", types), ("user", users),
      ("from-offset", fromOffsets),
    ]
    let parts = lists.filter { !$0.1.isEmpty }.map {
      "\($0.0) \($0.1.sorted().joined(separator: ","))"
    }
    return (parts + [since.map { "since \($0)" }, until.map { "until \($0)" }].compactMap { $0 })
      .joined(separator: ", ")
  }
}
