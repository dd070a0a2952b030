import Foundation
import Synchronization

/// Runs schedules on all processors.
public struct Simulation: Sendable {
  /// The seed of the first schedule, incremented for each further one.
  public var seed: UInt64
  public var schedules: Int
  public var mutation: Mutation?
  public var threads = ProcessInfo.processInfo.activeProcessorCount
  /// The number of failing schedules after which to stop.
  public var failuresMax = 10

  /// The results.
  public struct Report: Sendable {
    public var schedules = 0
    public var steps = 0
    public var seconds = 0.0
    public var coverage = Coverage()
    /// In the order of `Hazard.allCases`.
    public var hazards = [Int](repeating: 0, count: Hazard.allCases.count)
    public var failures: [(seed: UInt64, violation: Violation)] = []

    mutating func add(_ other: Report) {
      schedules += other.schedules
      steps += other.steps
      coverage.add(other.coverage)
      for index in hazards.indices { hazards[index] += other.hazards[index] }
      failures += other.failures
    }
  }

  public init(seed: UInt64, schedules: Int, mutation: Mutation? = nil) {
    self.seed = seed
    self.schedules = schedules
    self.mutation = mutation
  }

  /// Blocks until all schedules have run or `failuresMax` have failed.
  public func run() -> Report {
    let started = ContinuousClock.now
    let total = Mutex((report: Report(), next: 0))
    DispatchQueue.concurrentPerform(iterations: threads) { _ in
      while true {
        let range = total.withLock { total -> Range<Int> in
          guard total.report.failures.count < failuresMax else { return 0..<0 }
          let first = total.next
          total.next = min(first + 100, schedules)
          return first..<total.next
        }
        if range.isEmpty { return }
        let part = run(range)
        total.withLock { $0.report.add(part) }
      }
    }
    var report = total.withLock { $0.report }
    report.failures.sort { $0.seed < $1.seed }
    report.seconds = (ContinuousClock.now - started) / .seconds(1)
    return report
  }

  private func run(_ range: Range<Int>) -> Report {
    var report = Report()
    for index in range {
      let seed = seed &+ UInt64(index)
      var schedule = Schedule(.init(seed: seed, mutation: mutation))
      // The schedule uses the report's counters directly: copying them would cost more than the
      // run.
      swap(&schedule.coverage, &report.coverage)
      schedule.run()
      swap(&schedule.coverage, &report.coverage)
      report.schedules += 1
      report.steps += schedule.step
      for (index, count) in schedule.hazards.enumerated() { report.hazards[index] += count }
      if let violation = schedule.violation { report.failures.append((seed, violation)) }
    }
    return report
  }

  /// Finds the same violation with fewer hazards and fewer faulty steps, by removing them one at a
  /// time.
  public static func shrink(_ settings: Schedule.Settings) -> Schedule.Settings {
    func violates(_ settings: Schedule.Settings) -> Violation.Rule? {
      var schedule = Schedule(settings)
      schedule.run()
      return schedule.violation?.rule
    }
    guard let rule = violates(settings) else { return settings }
    var smallest = settings
    for hazard in Hazard.allCases {
      var smaller = smallest
      smaller.without.insert(hazard)
      if violates(smaller) == rule { smallest = smaller }
    }
    for steps in 0..<200 {
      var smaller = smallest
      smaller.faultyStepsMax = steps
      guard violates(smaller) == rule else { continue }
      return smaller
    }
    return smallest
  }
}
