import Foundation
import LaneSimulation
import Testing

@Suite(.serialized) struct SimulationTests {
  /// `SEED` repeats a run.
  private let seed =
    ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? .random(in: 1...999_999_999)

  @Test("in generated schedules no rule is broken, and every transition is taken")
  func schedules() {
    let report = Simulation(seed: seed, schedules: 10_000).run()
    for failure in report.failures {
      Issue.record("SEED=\(failure.seed): \(failure.violation)")
    }
    #expect(report.coverage.missing == [], "SEED=\(seed)")
    #expect(report.coverage.unlisted == [:], "SEED=\(seed)")
  }

  @Test("a safeguard that is taken away is missed", arguments: Mutation.allCases)
  func mutations(mutation: Mutation) {
    var simulation = Simulation(seed: seed, schedules: 50_000, mutation: mutation)
    simulation.failuresMax = 1
    #expect(!simulation.run().failures.isEmpty, "SEED=\(seed)")
  }

  @Test("a seed makes the same schedule every time, and shrinking keeps what it shows")
  func replays() throws {
    var simulation = Simulation(seed: seed, schedules: 10_000, mutation: .fenceRemoved)
    simulation.failuresMax = 1
    let failure = try #require(simulation.run().failures.first)
    var settings = Schedule.Settings(seed: failure.seed, mutation: .fenceRemoved)
    var schedule = Schedule(settings)
    schedule.run()
    #expect(schedule.violation == failure.violation)
    settings = Simulation.shrink(settings)
    settings.isTraced = true
    var shrunk = Schedule(settings)
    shrunk.run()
    #expect(shrunk.violation?.rule == failure.violation.rule)
    #expect(shrunk.trace.contains { $0.contains("VIOLATION") })
  }
}
