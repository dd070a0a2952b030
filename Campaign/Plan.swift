import Events
import Workload

/// All that a round follows from: written down, it can be run again.
struct CampaignPlan: Codable, Equatable {
  var seed: UInt64
  /// How long faults are injected.
  var seconds: Double
  /// Events a second. The embedded broker keeps 5 MiB a partition.
  var rate: Double
  var users: Int
  /// Of each worker.
  var processes: Int
  /// Of each process.
  var lanes: Int
  var faults: [PlannedFault]

  /// - Parameter kinds: what may go wrong.
  init(
    seed: UInt64, seconds: Double, rate: Double, users: Int, processes: Int, lanes: Int,
    kinds: [FaultKind]
  ) {
    self.seed = seed
    self.seconds = seconds
    self.rate = rate
    self.users = users
    self.processes = processes
    self.lanes = lanes
    faults = Self.schedule(seed: seed, seconds: seconds, kinds: kinds)
  }

  /// Each kind as often as any other, in an order of the seed's own, once those have been that a round
  /// proves little without; a new one every few seconds, so that two are in force at once more often
  /// than not.
  private static func schedule(seed: UInt64, seconds: Double, kinds: [FaultKind]) -> [PlannedFault]
  {
    var random = SplitMix64(seed: seed ^ 0xFA17)
    var faults: [PlannedFault] = []
    var deck = FaultKind.essential.filter(kinds.contains).shuffled(using: &random)
    var at = 1.0
    while at < seconds, !kinds.isEmpty {
      if deck.isEmpty { deck = kinds.shuffled(using: &random) }
      let kind = deck.removeLast()
      let lasting = Double.random(in: kind.duration, using: &random)
      faults.append(
        PlannedFault(
          at: hundredths(at), kind: kind, seconds: hundredths(min(lasting, seconds - at)),
          target: UInt32.random(in: 0..<1000, using: &random)))
      at += Double.random(in: 1...5, using: &random)
    }
    return faults
  }

  private static func hundredths(_ seconds: Double) -> Double { (seconds * 100).rounded() / 100 }

  /// How many partitions a topic has: those of the workers' own records take the most.
  func partitions(of topic: Topic) -> Int { topic == .notificationChanges ? 12 : 4 }
}
