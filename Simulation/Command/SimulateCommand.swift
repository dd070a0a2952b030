import ArgumentParser
import Foundation
import LaneSimulation

@main struct SimulateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magpie-simulate",
    abstract: "Run the lanes' decisions in generated schedules of faults, faster than real time.",
    discussion: """
      Exits with 1 when a schedule broke a rule, or when some transition of the state machine was \
      never taken. A schedule is what its seed makes it: give the seed that is printed to see it again.
      """)

  @Option(help: "The first schedule's seed; the others follow it. Drawn when not given.")
  var seed: UInt64?

  @Option(help: "How many schedules.")
  var schedules = 1_000_000

  @Option(help: "Take a safeguard away, to see that it is missed: one of \(mutations), or all.")
  var mutation: String?

  @Flag(help: "Print the report as JSON.")
  var json = false

  private static let mutations = Mutation.allCases.map(\.rawValue).joined(separator: ", ")

  func run() throws {
    let seed = seed ?? .random(in: 1...999_999_999)
    if mutation == "all" {
      let survivors = Mutation.allCases.filter { !isCaught($0, seed) }
      if !survivors.isEmpty { throw ExitCode.failure }
      return
    }
    if let mutation {
      guard let known = Mutation(rawValue: mutation) else {
        throw ValidationError("no such mutation: \(mutation); there are \(Self.mutations)")
      }
      if !isCaught(known, seed) { throw ExitCode.failure }
      return
    }
    let report = Simulation(seed: seed, schedules: schedules).run()
    print(json ? try report.json(seed: seed) : report.text(seed: seed))
    if let failure = report.failures.first { explain(failure.seed, nil) }
    if !report.failures.isEmpty || !report.coverage.missing.isEmpty
      || !report.coverage.unlisted.isEmpty
    {
      throw ExitCode.failure
    }
  }

  private func isCaught(_ mutation: Mutation, _ seed: UInt64) -> Bool {
    var simulation = Simulation(seed: seed, schedules: schedules, mutation: mutation)
    simulation.failuresMax = 1
    let report = simulation.run()
    guard let failure = report.failures.first else {
      print("\(mutation.rawValue): NOT caught in \(report.schedules) schedules")
      return false
    }
    print(
      "\(mutation.rawValue): caught within \(report.schedules) schedules, SEED=\(failure.seed): "
        + failure.violation.rule.rawValue)
    return true
  }

  /// The failing schedule, made as small as is easily done, on standard error.
  private func explain(_ seed: UInt64, _ mutation: Mutation?) {
    var settings = Simulation.shrink(.init(seed: seed, mutation: mutation))
    settings.isTraced = true
    var schedule = Schedule(settings)
    schedule.run()
    let text = schedule.trace.joined(separator: "\n")
    FileHandle.standardError.write(
      Data("The first of them, shrunk (SEED=\(seed) SCHEDULES=1):\n\(text)\n".utf8))
  }
}
