import Foundation
import LaneSimulation
import Testing

@Suite(.serialized) struct SimulationTests {
  /// Set `SEED` to repeat a run.
  private let seed =
    ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? .random(in: 1...999_999_999)

  @Test("generated schedules break no rule and take every transition")
  func schedules() {
    // The rarest transition, a commit that is found not to have happened before a lane leaves, is taken about once in
    // 3,000 schedules.
    let report = Simulation(seed: seed, schedules: 25_000).run()
    for failure in report.failures {
      Issue.record("SEED=\(failure.seed): \(failure.violation)")
    }
    #expect(report.coverage.missing == [], "SEED=\(seed)")
    #expect(report.coverage.unlisted == [:], "SEED=\(seed)")
  }

  @Test("the absence of a safeguard is detected", arguments: Mutation.allCases)
  func mutations(mutation: Mutation) {
    var simulation = Simulation(seed: seed, schedules: 50_000, mutation: mutation)
    simulation.failuresMax = 1
    #expect(!simulation.run().failures.isEmpty, "SEED=\(seed)")
  }

  @Test("a seed reproduces its schedule, and shrinking preserves the violation")
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
