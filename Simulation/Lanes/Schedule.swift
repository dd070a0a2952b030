import Workload

/// One history of several lanes, a broker, a store and operators, generated from a seed.
///
/// Faults happen for a while; then all faults end, and everything must be applied soon.
public struct Schedule {
  /// The inputs of a schedule. Equal settings produce equal histories.
  public struct Settings: Sendable {
    public var seed: UInt64
    public var mutation: Mutation?
    /// Hazards that are disabled.
    public var without: Set<Hazard> = []
    /// The maximum number of steps with faults.
    public var faultyStepsMax = Int.max
    /// Whether to record a trace.
    public var isTraced = false

    public init(seed: UInt64, mutation: Mutation? = nil) {
      self.seed = seed
      self.mutation = mutation
    }
  }

  /// The maximum number of steps to apply everything after the faults.
  static let healingStepsMax = 3000

  let settings: Settings
  let mutation: Mutation?
  var random: SplitMix64
  /// By hazard: chances of 1024.
  private var likelihoods: [UInt64]
  var coverage = Coverage()
  var isFaulty = true
  var step = 0
  var now: Int64 = 0
  public internal(set) var violation: Violation?
  public internal(set) var trace: [String] = []
  /// Occurrences by hazard, for the report.
  var happened = [Int](repeating: 0, count: Hazard.allCases.count)

  var logs: [SimulatedLog]
  var store = SimulatedStore()
  var isRebalancing = false
  var lanes: [SimulatedLane]
  private let plan: Int

  public init(_ settings: Settings) {
    self.settings = settings
    mutation = settings.mutation
    random = SplitMix64(seed: settings.seed)
    let (mask, scale) = (random.next(), random.next())
    likelihoods = Hazard.allCases.map { hazard in
      let bit = UInt64(hazard.rawValue)
      guard mask >> bit & 1 == 1, !settings.without.contains(hazard) else { return 0 }
      return hazard.likelihood * (1 + (scale >> bit & 3))
    }
    plan = Int(random.next() % 3)
    lanes = []
    logs = Fixed.partitions.map { _ in SimulatedLog() }
    for _ in 0...Int(random.next() % 4) { lanes.append(SimulatedLane(Fixed.plans[plan])) }
    for partition in logs.indices { produce(below(8), to: partition) }
  }

  /// Occurrences by hazard, in the order of `Hazard.allCases`.
  public var hazards: [Int] { happened }

  public mutating func run() {
    let faultySteps = min(40 + below(160), settings.faultyStepsMax)
    while step < faultySteps, violation == nil {
      step += 1
      if below(8) == 0 { happen() } else { act(below(lanes.count)) }
    }
    isFaulty = false
    var left = Self.healingStepsMax
    while violation == nil, !isQuiet {
      guard left > 0 else {
        return note(isApplied ? .ready : .live, "not within \(Self.healingStepsMax) steps")
      }
      (step, left) = (step + 1, left - 1)
      mend()
      act(below(lanes.count))
    }
    if violation == nil, let broken = store.missing(logs) { note(broken.rule, broken.detail) }
  }

  // MARK: Chance

  /// A number below `limit`.
  mutating func below(_ limit: Int) -> Int {
    Int(truncatingIfNeeded: ((random.next() >> 33) &* UInt64(limit)) >> 31)
  }

  /// Whether the hazard occurs now.
  mutating func hits(_ hazard: Hazard) -> Bool {
    guard isFaulty, likelihoods[hazard.rawValue] > 0,
      random.next() & 1023 < likelihoods[hazard.rawValue]
    else { return false }
    happened[hazard.rawValue] += 1
    if settings.isTraced { trace.append("\(step): \(hazard)") }
    return true
  }

  mutating func note(_ rule: Violation.Rule, _ detail: String) {
    guard violation == nil else { return }
    violation = Violation(rule: rule, detail: detail, step: step)
    if settings.isTraced { trace.append("\(step): VIOLATION \(rule.rawValue): \(detail)") }
  }

  // MARK: The world

  /// A random event of the world.
  private mutating func happen() {
    let (lane, partition) = (below(lanes.count), below(logs.count))
    switch below(6) {
    case 0: produce(1 + below(6), to: partition)
    case 1: if !store.orphans.isEmpty { resolveOrphan(below(store.orphans.count)) }
    case 2: if !lanes[lane].isRunning { restart(lane) }
    case 3: lanes[lane].isStalled = false
    default:
      if hits(.stall) { lanes[lane].isStalled = true }
      if hits(.rebalance) { rebalance() }
      if hits(.sessionTimeout) { expel(lane) }
      if hits(.kill) { kill(lane) }
      if hits(.terminate) { lanes[lane].isStopping = true }
      if store.rows[partition].exists, store.rows[partition].lock == 0 {
        let next = store.rows[partition].next
        if hits(.claimByOther) { _ = store.claim([Fixed.partitions[partition]: 0], bumping: true) }
        if hits(.resetBack) {
          store.reset(partition, to: max(logs[partition].low, next - below(5)))
        }
        if hits(.resetForward) {
          store.reset(partition, to: next + below(logs[partition].high - next + 1))
        }
      }
      if hits(.logTruncated) {
        let low = logs[partition].low
        logs[partition].low = low + below(logs[partition].high - low + 1)
      }
      if lanes[lane].isStalled, lanes[lane].transaction != nil, hits(.sessionEnded) {
        endSession(lane)
      }
    }
  }

  private mutating func produce(_ count: Int, to partition: Int) {
    for _ in 0..<count where logs[partition].high + 2 < Fixed.offsetsMax {
      switch below(16) {
      case 0: logs[partition].kinds.append(.undecodable)
      case 1: logs[partition].kinds.append(.unappliable)
      case 2: logs[partition].kinds += [.hole, .plain]
      case 3 where below(4) == 0: logs[partition].kinds.append(.endless)
      default: logs[partition].kinds.append(.plain)
      }
    }
  }

  /// All faults end, and operators do what they were asked to.
  private mutating func mend() {
    while !store.orphans.isEmpty { resolveOrphan(0) }
    for lane in lanes.indices {
      lanes[lane].isStalled = false
      if !lanes[lane].isRunning { restart(lane) }
    }
    for partition in logs.indices
    where store.rows[partition].exists && store.rows[partition].lock == 0
      && store.rows[partition].next < logs[partition].low
    {
      store.reset(partition, to: logs[partition].low)
    }
  }

  private mutating func resolveOrphan(_ index: Int) {
    let (transaction, commits) = store.orphans.remove(at: index)
    if settings.isTraced { trace.append("\(step): orphan \(commits ? "commits" : "rolls back")") }
    if commits { commit(transaction) } else { store.release(transaction) }
  }

  mutating func commit(_ transaction: SimulatedStore.Transaction) {
    if let broken = store.commit(transaction, logs, mutation: mutation) {
      note(broken.rule, broken.detail)
    }
  }

  /// Starts a lane that has ended, after an operator has fixed the cause.
  private mutating func restart(_ lane: Int) {
    if settings.isTraced { trace.append("\(step): lane \(lane) starts") }
    for partition in logs.indices
    where store.rows[partition].exists && store.rows[partition].lock == 0
      && store.rows[partition].next < logs[partition].low && lanes[lane].needsPerson
    {
      store.reset(partition, to: logs[partition].low)
    }
    lanes[lane] = SimulatedLane(Fixed.plans[isFaulty ? plan : 2])
  }

  /// The process dies, and its open transaction is rolled back later.
  private mutating func kill(_ lane: Int) {
    if let transaction = lanes[lane].transaction { store.orphans.append((transaction, false)) }
    lanes[lane].transaction = nil
    expel(lane)
    lanes[lane].isRunning = false
  }

  /// An idle transaction is rolled back and its session terminated.
  private mutating func endSession(_ lane: Int) {
    guard let transaction = lanes[lane].transaction else { return }
    store.release(transaction)
    lanes[lane].transaction?.id = 0
  }

  private var isApplied: Bool {
    store.orphans.isEmpty
      && logs.indices.allSatisfy { store.rows[$0].next == logs[$0].high }
  }

  private var isQuiet: Bool {
    isApplied && lanes.allSatisfy { $0.isRunning && !$0.isStopping && $0.machine.isReady }
  }
}
