import ArgumentParser
import Foundation

@main
struct Campaign: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magpie-campaign",
    abstract: "Try to refute that nothing is lost, nothing is applied twice and nobody is delayed.",
    discussion: """
      Starts a broker, PostgreSQL and several processes of each worker, produces a generated workload, \
      and injects faults on a schedule derived from the seed. Then heals all faults and checks the \
      results. Everything is private to the run and is removed afterwards.

      Exit status: 0 no violations; 1 violations found; 3 no violations, but the run lacked evidence that \
      makes it meaningful (see --short); 64 wrong usage; 69 the campaign could not run.

      Faults:
      \(FaultKind.help)
      """)

  enum Status: Int32 {
    case found = 1
    case provedNothing = 3
    case unavailable = 69
  }

  @Option(help: "Seed of load and schedule; incremented each round.")
  var seed: UInt64 = 1

  @Option(help: "Total minutes of faults, in rounds of at most --round-minutes.")
  var minutes = 1.0

  @Option(
    help: "Maximum minutes of faults per round, 0.1 to 60; each round starts its own servers.")
  var roundMinutes = 2.0

  @Option(help: "Processes of each worker: 1 to 8.")
  var processes = 2

  @Option(help: "Lanes per process: 1 to 8.")
  var lanes = 2

  @Option(help: "Events per second: 1 to 2000. The embedded broker keeps 5 MiB per partition.")
  var rate = 60.0

  @Option(help: "People: 2 to 100000.")
  var users = 120

  @Option(
    help: ArgumentHelp(
      "Inject only these faults, separated by commas. Default: all that this machine supports.",
      valueName: "kinds"))
  var faults: String?

  @Option(help: "Time limit in seconds for applying everything after healing.")
  var recoverySeconds = 180.0

  @Option(
    help: ArgumentHelp("Run the round that this plan file describes instead.", valueName: "file"))
  var plan: String?

  @Option(
    help: ArgumentHelp(
      "Save the plan, worker logs and PostgreSQL logs of rounds with violations in this "
        + "directory.", valueName: "dir"))
  var keep: String?

  @Option(
    help: ArgumentHelp(
      "Search for a shorter schedule that fails the same way, running at most this many rounds.",
      valueName: "tries"))
  var shrink: Int?

  @Flag(help: "Do not require every kind of evidence, for rounds of about half a minute.")
  var short = false

  @Option(help: "The commit under test, for the report. [env: MAGPIE_CAMPAIGN_COMMIT]")
  var commit: String?

  @Option(help: .private)
  var report: String?

  @Flag(help: "Print the report as one JSON object.")
  var json = false

  func validate() throws {
    guard minutes > 0, minutes <= 1440, (0.1...60).contains(roundMinutes) else {
      throw ValidationError(
        "--minutes must be above 0 and at most 1440, and --round-minutes 0.1 to 60.")
    }
    guard (1...8).contains(processes), (1...8).contains(lanes) else {
      throw ValidationError("--processes and --lanes must be 1 to 8.")
    }
    guard (1...2000).contains(rate), (2...100_000).contains(users) else {
      throw ValidationError("--rate must be 1 to 2000 and --users 2 to 100000.")
    }
    _ = try kinds()
  }

  func run() throws {
    var report = CampaignReport()
    do {
      if let file = self.report { return try runHere(reportingTo: URL(filePath: file)) }
      for plan in try plans() { try runRound(plan, into: &report) }
    } catch {
      note("the campaign could not run: \(error)")
      throw ExitCode(Status.unavailable.rawValue)
    }
    print(json ? try report.json() : report.text)
    if !report.findings.isEmpty { throw ExitCode(Status.found.rawValue) }
    if !short, !report.unproved.isEmpty { throw ExitCode(Status.provedNothing.rawValue) }
  }

  /// Runs a round in this process, started by `RoundProcess`.
  private func runHere(reportingTo file: URL) throws {
    for plan in try plans() {
      let directory = keep.map { URL(filePath: $0) }
      let report = try Round(
        plan, commit: commitText, keeping: directory, recoverySecondsMax: recoverySeconds,
        note: note
      ).run()
      try JSONEncoder().encode(report).write(to: file)
    }
  }

  private func runRound(_ plan: CampaignPlan, into report: inout CampaignReport) throws {
    note("seed \(plan.seed): \(Int(plan.seconds)) s with \(plan.faults.count) faults")
    let keeping = keep.map { URL(filePath: $0).appending(path: "seed-\(plan.seed)") }
    switch try roundProcess(keeping: keeping).run(plan) {
    case .void(let assertion):
      note("seed \(plan.seed) is void: the embedded broker aborted: \(assertion)")
      report.void.append(plan.seed)
    case .report(let round):
      report.rounds.append(round)
      guard !round.findings.isEmpty else { return }
      note("seed \(plan.seed): \(round.findings.count) findings")
      try save(shrink.map { try shrunk(plan, round, tries: $0) } ?? plan, in: keeping)
    }
  }

  private func roundProcess(keeping: URL? = nil) -> RoundProcess {
    RoundProcess(commit: commitText, keeping: keeping, recoverySecondsMax: recoverySeconds)
  }

  private func shrunk(_ plan: CampaignPlan, _ report: RoundReport, tries: Int) throws
    -> CampaignPlan
  {
    let checks = Set(report.findings.map(\.check))
    var shrinking = Shrinking(
      fails: { candidate in
        note("shrinking: \(candidate.faults.count) faults, \(Int(candidate.seconds)) s")
        guard case .report(let again) = try roundProcess().run(candidate) else {
          return false
        }
        return !checks.isDisjoint(with: again.findings.map(\.check))
      }, triesLeft: tries)
    return try shrinking.shrink(plan)
  }

  /// Prints the plan or saves it to `directory`, to be run again with `--plan`.
  private func save(_ plan: CampaignPlan, in directory: URL?) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let data = try encoder.encode(plan)
    guard let directory else {
      return note("plan (run again with --plan): \(String(decoding: data, as: UTF8.self))")
    }
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let file = directory.appending(path: "plan.json")
    try data.write(to: file)
    note("plan (run again with --plan): \(file.path)")
  }

  private func plans() throws -> [CampaignPlan] {
    if let plan {
      return [
        try JSONDecoder().decode(CampaignPlan.self, from: Data(contentsOf: URL(filePath: plan)))
      ]
    }
    let count = Int((minutes / roundMinutes).rounded(.up))
    let kinds = try kinds()
    return (0..<count).map { index in
      CampaignPlan(
        seed: seed &+ UInt64(index), seconds: minutes * 60 / Double(count), rate: rate,
        users: users, processes: processes, lanes: lanes, kinds: kinds)
    }
  }

  private func kinds() throws -> [FaultKind] {
    guard let faults else { return FaultKind.possible }
    return try faults.split(separator: ",").map { name in
      guard let kind = FaultKind(rawValue: String(name)) else {
        throw ValidationError("unknown fault \(name); --help lists them")
      }
      return kind
    }
  }

  private var commitText: String {
    commit ?? ProcessInfo.processInfo.environment["MAGPIE_CAMPAIGN_COMMIT"] ?? "unknown"
  }
}

/// Prints progress to standard error.
func note(_ text: String) {
  FileHandle.standardError.write(Data("magpie-campaign: \(text)\n".utf8))
}
