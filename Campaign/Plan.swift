import Events
import Workload

/// Everything that determines a round. Saved as JSON, it can be run again.
struct CampaignPlan: Codable, Equatable {
  var seed: UInt64
  /// The duration of fault injection.
  var seconds: Double
  /// Events per second. The embedded broker keeps 5 MiB per partition.
  var rate: Double
  var users: Int
  /// Processes of each worker.
  var processes: Int
  /// Lanes per process.
  var lanes: Int
  var faults: [PlannedFault]

  /// - Parameter kinds: the kinds of faults to schedule.
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

  /// Schedules the essential kinds first, then every kind equally often, in an order determined by
  /// the seed. Faults start every few seconds, so that two are usually active at a time.
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

  /// The number of partitions. Notification changes, the most frequent records, get the most.
  func partitions(of topic: Topic) -> Int { topic == .notificationChanges ? 12 : 4 }
}
