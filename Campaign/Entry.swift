import ArgumentParser
import Foundation

@main
struct Campaign: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magpie-campaign",
    abstract: "Try to refute that nothing is lost, nothing is applied twice and nobody is delayed.",
    discussion: """
      Starts a broker, PostgreSQL and several processes of each worker, produces a generated workload, \
      and meanwhile injects faults on a schedule that follows from the seed. Then it heals everything \
      and checks what it can think of. Everything is private to the run and removed after it.

      Exit status: 0 nothing was found; 1 something was; 3 nothing was found, but what makes a run worth \
      something did not happen (see --short); 64 wrong usage; 69 the campaign could not be carried out.

      Faults:
      \(FaultKind.help)
      """)

  enum Status: Int32 {
    case found = 1
    case provedNothing = 3
    case unavailable = 69
  }

  @Option(help: "What load and schedule follow from; each round adds one.")
  var seed: UInt64 = 1

  @Option(help: "Minutes of faults in all, in rounds of at most --round-minutes.")
  var minutes = 1.0

  @Option(help: "Minutes of faults in a round; each round has a world of its own.")
  var roundMinutes = 2.0

  @Option(help: "Processes of each worker: 1 to 8.")
  var processes = 2

  @Option(help: "Lanes of each process: 1 to 8.")
  var lanes = 2

  @Option(help: "Events a second: 1 to 2000. The embedded broker keeps 5 MiB a partition.")
  var rate = 60.0

  @Option(help: "People: 2 to 100000.")
  var users = 120

  @Option(
    help: ArgumentHelp(
      "Only these faults, separated by commas; without it all that are possible here.",
      valueName: "kinds"))
  var faults: String?

  @Option(help: "Seconds within which everything must be applied once everything is healed.")
  var recoverySeconds = 90.0

  @Option(help: ArgumentHelp("Run the round that this file describes instead.", valueName: "file"))
  var plan: String?

  @Option(
    help: ArgumentHelp(
      "Put the plan of a round in which something was found here, and the logs of its workers and "
        + "of PostgreSQL.", valueName: "dir"))
  var keep: String?

  @Option(
    help: ArgumentHelp(
      "Look for a shorter schedule that fails in the same way, running so many at most.",
      valueName: "tries"))
  var shrink: Int?

  @Flag(help: "A round that need not see every kind of evidence, such as one of half a minute.")
  var short = false

  @Option(help: "What is tested, for the report. [env: MAGPIE_CAMPAIGN_COMMIT]")
  var commit: String?

  @Option(help: .private)
  var report: String?

  @Flag(help: "Print the report as one JSON object.")
  var json = false

  func validate() throws {
    guard minutes > 0, minutes <= 1440, roundMinutes > 0, roundMinutes <= 60 else {
      throw ValidationError("--minutes must be above 0 and at most 1440, --round-minutes 60.")
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
      note("the campaign could not be carried out: \(error)")
      throw ExitCode(Status.unavailable.rawValue)
    }
    print(json ? try report.json() : report.text)
    if !report.findings.isEmpty { throw ExitCode(Status.found.rawValue) }
    if !short, !report.unproved.isEmpty { throw ExitCode(Status.provedNothing.rawValue) }
  }

  /// What a `RoundProcess` does.
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
      note("seed \(plan.seed) is void, the embedded broker ended itself: \(assertion)")
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

  /// Prints the plan, or puts it where it was asked for: with `--plan` it can be run again.
  private func save(_ plan: CampaignPlan, in directory: URL?) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let data = try encoder.encode(plan)
    guard let directory else {
      return note("its plan, for --plan: \(String(decoding: data, as: UTF8.self))")
    }
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let file = directory.appending(path: "plan.json")
    try data.write(to: file)
    note("its plan, for --plan: \(file.path)")
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
        throw ValidationError("there is no fault named \(name); --help lists them")
      }
      return kind
    }
  }

  private var commitText: String {
    commit ?? ProcessInfo.processInfo.environment["MAGPIE_CAMPAIGN_COMMIT"] ?? "unknown"
  }
}

/// Progress, for people.
func note(_ text: String) {
  FileHandle.standardError.write(Data("magpie-campaign: \(text)\n".utf8))
}
