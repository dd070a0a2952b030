import Events
import Kafka

/// What the plots show of one moment.
struct Sample: Encodable, Sendable {
  /// Counts up as long as the process runs, from 1.
  var number: Int
  /// In seconds since 1970.
  var time: Double
  /// By worker: the records to apply, and the sum of the next offsets, whose growth is the throughput.
  /// Empty if PostgreSQL did not answer, and the first one if Kafka did not.
  var lag: [String: Int64] = [:]
  var applied: [String: Int64] = [:]
  var openDeadLetters: Int64?
  /// By name of the processes: those that can commit, and the age of the oldest record that waits.
  var ready: [String: Int] = [:]
  var lagSeconds: [String: Double] = [:]
  /// By name: of the events committed since the sample before, the time since the event that 95 % were
  /// within, in seconds.
  var eventAge: [String: Double] = [:]
  /// By name, per second: attempts repeated, dead letters, and requests that failed.
  var errors: [String: Double] = [:]

  init(number: Int, time: Double, processes: [ProcessLook]) {
    (self.number, self.time) = (number, time)
    for process in processes {
      ready[process.name, default: 0] += process.isReady ? 1 : 0
      if let seconds = process.metrics?.lagSeconds {
        lagSeconds[process.name] = max(lagSeconds[process.name] ?? 0, seconds)
      }
    }
  }

  /// Adds how far the workers are.
  ///
  /// - Parameter report: nil if Kafka did not answer.
  mutating func note(
    _ offsets: [String: [TopicPartition: StoredOffset]], _ report: LagReport?, prefix: String
  ) {
    for group in ConsumerGroup.allCases {
      let name = group.name(prefix: prefix)
      applied[group.rawValue] = (offsets[name] ?? [:]).values.reduce(0) { $0 + $1.nextOffset }
      if let report {
        lag[group.rawValue] = report.partitions.filter { $0.group == name }
          .reduce(0) { $0 + ($1.lag ?? 0) }
      }
    }
  }

  /// Adds what is the difference to an earlier look.
  ///
  /// - Parameter seconds: between the two.
  mutating func compare(
    _ processes: [ProcessLook], with earlier: [ProcessLook], after seconds: Double
  ) {
    let before = Dictionary(
      earlier.map { ("\($0.name) \($0.address)", $0) }, uniquingKeysWith: { first, _ in first })
    var ages: [String: (now: [Double: Double], before: [Double: Double])] = [:]
    for process in processes {
      guard let now = process.metrics,
        let then = before["\(process.name) \(process.address)"]?.metrics
      else { continue }
      // Counters of a process that was started again begin at 0.
      let isSame = now.startedAt == then.startedAt
      errors[process.name, default: 0] += (now.errors - (isSame ? then.errors : 0)) / seconds
      var both = ages[process.name] ?? (now: [:], before: [:])
      both.now.merge(now.eventAges) { $0 + $1 }
      if isSame { both.before.merge(then.eventAges) { $0 + $1 } }
      ages[process.name] = both
    }
    for (name, both) in ages {
      eventAge[name] = quantile(0.95, of: both.now, since: both.before)
    }
  }
}

extension Exposition {
  /// All that should not be, since the process began.
  fileprivate var errors: Double { retries + deadLetters + lostLogLines + failedRequests }
}
