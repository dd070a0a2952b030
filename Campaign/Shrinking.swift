/// Finds a shorter schedule that fails the same way, by Zeller's delta debugging.
///
/// Failures are not deterministic, so the result is short but not necessarily minimal.
struct Shrinking {
  /// Runs a plan and returns whether it fails the same way.
  var fails: (CampaignPlan) throws -> Bool
  /// The number of plans that may still be run.
  var triesLeft: Int

  mutating func shrink(_ plan: CampaignPlan) throws -> CampaignPlan {
    var best = plan
    var parts = 2
    while best.faults.count > 1, triesLeft > 0 {
      let size = (best.faults.count + parts - 1) / parts
      var found: CampaignPlan?
      for start in stride(from: 0, to: best.faults.count, by: size) {
        guard triesLeft > 0, found == nil else { break }
        triesLeft -= 1
        var faults = best.faults
        faults.removeSubrange(start..<min(start + size, faults.count))
        let candidate = best.keeping(faults)
        if try fails(candidate) { found = candidate }
      }
      if let found {
        best = found
        parts = max(parts - 1, 2)
      } else if parts >= best.faults.count {
        break
      } else {
        parts = min(parts * 2, best.faults.count)
      }
    }
    return best
  }
}

extension CampaignPlan {
  /// The plan with fewer faults, shortened accordingly.
  func keeping(_ faults: [PlannedFault]) -> CampaignPlan {
    var plan = self
    plan.faults = faults
    let end = faults.map { $0.at + $0.seconds }.max() ?? 0
    plan.seconds = min(seconds, end + 5)
    return plan
  }
}
