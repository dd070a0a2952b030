import ArgumentParser
import Foundation
import LaneSimulation

@main struct SimulateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magpie-simulate",
    abstract: "Simulate lanes in generated fault schedules, faster than real time.",
    discussion: """
      Exits with 1 if a schedule broke a rule, or if a transition of the state machine was never \
      taken. The seed determines the schedule: pass a printed seed to reproduce one.
      """)

  @Option(help: "The first schedule's seed, incremented for each further one. Default: random.")
  var seed: UInt64?

  @Option(help: "The number of schedules.")
  var schedules = 1_000_000

  @Option(
    help: "Remove a safeguard and check that the simulation notices: one of \(mutations), or all.")
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
        throw ValidationError("unknown mutation \(mutation); must be one of \(Self.mutations)")
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

  /// Prints the failing schedule, shrunk where easily possible, on standard error.
  private func explain(_ seed: UInt64, _ mutation: Mutation?) {
    var settings = Simulation.shrink(.init(seed: seed, mutation: mutation))
    settings.isTraced = true
    var schedule = Schedule(settings)
    schedule.run()
    let text = schedule.trace.joined(separator: "\n")
    FileHandle.standardError.write(
      Data("The first failure, shrunk (SEED=\(seed) SCHEDULES=1):\n\(text)\n".utf8))
  }
}
