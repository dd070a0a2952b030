import Events
import Kafka

/// The values of all plots at one moment.
struct Sample: Encodable, Sendable {
  /// A sequence number, starting from 1 when the process starts.
  var number: Int
  /// In seconds since 1970.
  var time: Double
  /// By worker: the lag in records, and the sum of the next offsets, whose growth is the
  /// throughput. Both are empty if PostgreSQL did not answer, `lag` also if Kafka did not.
  var lag: [String: Int64] = [:]
  var applied: [String: Int64] = [:]
  var openDeadLetters: Int64?
  /// By process name: the number of ready processes, and the age of the oldest record that waits.
  var ready: [String: Int] = [:]
  var lagSeconds: [String: Double] = [:]
  /// By process name: the 95th percentile of the time from event to commit, in seconds, of the
  /// events committed since the previous sample.
  var eventAge: [String: Double] = [:]
  /// By process name, per second: retries, dead letters, lost log lines and failed requests.
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

  /// Adds the workers' progress.
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

  /// Adds the values that are differences from an earlier sample.
  ///
  /// - Parameter seconds: the time between the two.
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
      // The counters of a restarted process begin at 0.
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
  /// The number of errors of all kinds since the process started.
  fileprivate var errors: Double { retries + deadLetters + lostLogLines + failedRequests }
}
