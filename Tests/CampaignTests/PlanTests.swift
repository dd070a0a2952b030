import Foundation
import Testing

@testable import magpie_campaign

@Suite struct PlanTests {
  private func plan(seed: UInt64 = 5) -> CampaignPlan {
    CampaignPlan(
      seed: seed, seconds: 120, rate: 10, users: 10, processes: 2, lanes: 1,
      kinds: [.kill, .suspend, .terminate])
  }

  @Test("a plan is determined by its seed and survives encoding")
  func deterministic() throws {
    #expect(plan() == plan())
    #expect(plan().faults != plan(seed: 6).faults)
    let again = try JSONDecoder().decode(CampaignPlan.self, from: JSONEncoder().encode(plan()))
    #expect(again == plan())
    #expect(plan().faults.allSatisfy { $0.at + $0.seconds <= 120 })
  }

  @Test("shrinking finds the two faults that fail together")
  func shrinks() throws {
    let whole = plan()
    let culprits = [whole.faults[3], whole.faults[17]]
    var runs = 0
    var shrinking = Shrinking(
      fails: { candidate in
        runs += 1
        return culprits.allSatisfy(candidate.faults.contains)
      }, triesLeft: 200)
    let short = try shrinking.shrink(whole)
    #expect(short.faults == culprits)
    #expect(short.seconds <= whole.seconds)
    #expect(runs <= 200)
  }

  @Test("shrinking stops after the maximum number of runs")
  func bounded() throws {
    let whole = plan()
    var runs = 0
    var shrinking = Shrinking(
      fails: { candidate in
        runs += 1
        return candidate.faults.contains(whole.faults[0])
      }, triesLeft: 3)
    #expect(try shrinking.shrink(whole).faults.contains(whole.faults[0]))
    #expect(runs == 3)
  }
}
