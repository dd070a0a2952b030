import ArgumentParser

struct Replay: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Rebuild tables from the log, compare and swap them; apply or publish records again.",
    discussion: """
      After a bug has written wrong rows:

        magpie replay --rebuild feeds     fills a second set of tables from the log
        magpie replay --diff              compares it with the live tables
        magpie replay --swap              exchanges the two
        magpie replay --swap-back         undoes the exchange
        magpie replay --drop-old          drops the former tables
        magpie replay --drop-rebuilt      drops the rebuilt tables instead of exchanging them

      --rebuild takes feeds, notifications (with their alarms), alarms, reminders, or all. After \
      an interruption, the same command resumes it. Readers and workers continue throughout.

      --apply and --republish take filters. --rebuild takes none, because a table depends on all of \
      its records.
      """)

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var filter: ReplayFilterOptions
  @OptionGroup var handlers: HandlerOptions
  @OptionGroup var comparison: ComparisonOptions
  @OptionGroup var again: ReplayAgainOptions

  @Option(
    help: ArgumentHelp(
      "Rebuild these tables from the log: feeds, notifications, alarms, reminders or all.",
      valueName: "tables"))
  var rebuild: String?

  @Option(
    parsing: .unconditional,
    help: """
      The number of threads that fill the tables of one group, each with a connection: 1 to 64. More are \
      faster, and leave less of PostgreSQL to the workers (default: 2).
      """)
  var lanes: Int32?

  @Flag(help: "Compare the rebuilt tables with the live tables, by table and by person.")
  var diff = false

  @Flag(help: "Exchange the live tables for the rebuilt ones.")
  var swap = false

  @Flag(help: "Exchange the live tables for the former ones.")
  var swapBack = false

  @Flag(help: "Drop the former tables; if there are none, an unfinished rebuild.")
  var dropOld = false

  @Flag(help: "Drop the rebuilt tables, finished or not.")
  var dropRebuilt = false

  @Option(
    help: ArgumentHelp(
      "Publish the records again, to the topics with this prefix. Those that workers publish are left "
        + "out unless --topic names them.", valueName: "prefix"))
  var republish: String?

  @Flag(help: "Apply the records to the live tables again.")
  var apply = false

  @Flag(help: "Rebuild although the log's first records are gone; the tables will lack their data.")
  var acceptMissingRecords = false

  @Flag(
    help: """
      Exchange the tables without first applying the records since the rebuild: readers see an older \
      state until the workers have caught up. Refused if anybody was erased since.
      """)
  var withoutCatchingUp = false

  @Option(
    parsing: .unconditional,
    help: """
      Seconds that each attempt to exchange waits for open transactions: 1 to 600 (default: 5).
      """)
  var waitReaders: Int?

  @Flag(help: "Change nothing; print the records to read and an estimate of the time.")
  var dryRun = false

  @Flag(help: "Print JSON, one object per line.")
  var json = false

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  /// The selected mode. Exactly one is required.
  func mode() throws -> ReplayMode {
    var modes: [ReplayMode] = []
    if let rebuild { modes.append(.rebuild(rebuild)) }
    if diff { modes.append(.diff) }
    if swap { modes.append(.swap) }
    if swapBack { modes.append(.swapBack) }
    if dropOld { modes.append(.dropOld) }
    if dropRebuilt { modes.append(.dropRebuilt) }
    if let republish { modes.append(.republish(republish)) }
    if apply { modes.append(.apply) }
    guard modes.count == 1, let mode = modes.first else {
      let given = modes.map(\.flag).joined(separator: " and ")
      throw ValidationError(
        (modes.isEmpty ? "Nothing to do: give one of " : "\(given) were given; give one of ")
          + "--rebuild TABLES, --diff, --swap, --swap-back, --drop-old, --drop-rebuilt, "
          + "--republish PREFIX, --apply.")
    }
    return mode
  }

  func validate() throws {
    if let waitReaders, !(1...600).contains(waitReaders) {
      throw ValidationError("--wait-readers is \(waitReaders), but must be 1 to 600.")
    }
    if let lanes, !(1...64).contains(lanes) {
      throw ValidationError("--lanes is \(lanes), but must be 1 to 64.")
    }
    let mode = try mode().flag
    let (records, swaps) = (["--apply", "--republish"], ["--swap", "--swap-back"])
    guard !filter.isFiltering || records.contains(mode) else {
      throw ValidationError(
        "\(mode) takes no filters: a table is made from all of its records.")
    }
    let options: [(name: String, isGiven: Bool, modes: [String])] = [
      ("--rate", again.rate != nil, records),
      ("--position", again.position != nil, records),
      ("--max-lag", again.maxLag != nil, ["--apply"]),
      ("--worker", !again.workers.isEmpty, ["--apply"]),
      ("--dead-letter-run-limit", again.deadLetterRunLimit != nil, ["--apply"]),
      ("--dead-letter-share-limit", again.deadLetterShareLimit != nil, ["--apply"]),
      ("--lanes", lanes != nil, ["--rebuild"] + swaps),
      ("--wait-readers", waitReaders != nil, swaps),
      ("--without-catching-up", withoutCatchingUp, swaps),
      ("--html", comparison.html != nil, ["--diff"]),
      ("--samples", comparison.samples != nil, ["--diff"]),
    ]
    for option in options where option.isGiven && !option.modes.contains(mode) {
      throw ValidationError(
        "\(option.name) is for \(option.modes.joined(separator: ", ")), not for \(mode).")
    }
  }

  func run() throws {
    switch try mode() {
    case .rebuild(let tables): try runRebuild(tables)
    case .diff: try runDiff()
    case .swap: try runSwap(back: false)
    case .swapBack: try runSwap(back: true)
    case .dropOld: try runDrop(rebuilt: false)
    case .dropRebuilt: try runDrop(rebuilt: true)
    case .republish(let prefix): try republish(to: prefix)
    case .apply: try applyAgain()
    }
  }
}
