import Events
import Synchronization

/// The worker's metrics, in the Prometheus text exposition format 0.0.4.
///
/// Our own code, because counters, gauges and histograms with the same buckets, in one text format, are less
/// than a dependency. Thread-safe.
public final class Metrics: Sendable {
  /// A metric's label values, in the order of its label names.
  public typealias Labels = [String]

  /// A metric family of the text format.
  public struct Family: Sendable {
    var name: String
    var help: String
    var kind: String
    var labelNames: [String]
  }

  private struct Histogram {
    var buckets = [Int](repeating: 0, count: Metrics.bucketBoundsSeconds.count)
    var count = 0
    var sum = 0.0

    mutating func add(_ seconds: Double) {
      count += 1
      sum += seconds
      if let bucket = Metrics.bucketBoundsSeconds.firstIndex(where: { seconds <= $0 }) {
        buckets[bucket] += 1
      }
    }

    static func += (total: inout Histogram, added: Histogram) {
      total.count += added.count
      total.sum += added.sum
      for index in total.buckets.indices { total.buckets[index] += added.buckets[index] }
    }
  }

  private struct State {
    var values: [String: [Labels: Double]] = [:]
    var histograms: [String: [Labels: Histogram]] = [:]
  }

  /// Upper bounds of the histograms' buckets, in seconds.
  static let bucketBoundsSeconds: [Double] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600,
  ]

  private let state = Mutex(State())

  package init() {}

  /// Starts series at 0. Prometheus detects no increase in a series that appears with its first value.
  ///
  /// - Parameter topics: full names, which the label `topic` has in every family.
  /// - Parameter isTimed: whether the clock makes work due.
  public func begin(topics: [String], isTimed: Bool = false) {
    if isTimed {
      set(.overdue, to: 0)
      begin(.lateness)
    }
    set(.build, [codeVersion], to: 1)
    set(.startTime, to: Double(EventTime.now.microseconds / 1_000_000))
    for family in [Family.fenced, .rebalances, .groupRenewals, .lostLogLines] {
      increment(family, by: 0)
    }
    increment(.retries, ["connection"], by: 0)
    for outcome in ["committed", "fenced", "not-committed"] {
      increment(.ambiguousCommits, [outcome], by: 0)
    }
    let reasons =
      EventError.Code.allCases.map(\.rawValue)
      + [DeadLetterReason.notApplicable, DeadLetterReason.tooMuch]
    for topic in topics {
      for family in [Family.records, .batches] { increment(family, [topic], by: 0) }
      for reason in reasons { increment(.deadLetters, [topic, reason], by: 0) }
      for family in [Family.commit, .eventAge] { begin(family, [topic]) }
    }
  }

  /// Adds to a counter, which begins at 0.
  public func increment(_ family: Family, _ labels: Labels = [], by amount: Int = 1) {
    state.withLock { $0.values[family.name, default: [:]][labels, default: 0] += Double(amount) }
  }

  /// Sets a gauge.
  public func set(_ family: Family, _ labels: Labels = [], to value: Double) {
    state.withLock { $0.values[family.name, default: [:]][labels] = value }
  }

  /// Changes a gauge by an amount.
  public func add(_ amount: Double, to family: Family) {
    state.withLock { $0.values[family.name, default: [:]][[], default: 0] += amount }
  }

  /// Removes one series, such as the lag of a partition that moved to another process.
  public func remove(_ family: Family, _ labels: Labels) {
    state.withLock { _ = $0.values[family.name]?.removeValue(forKey: labels) }
  }

  /// Starts a histogram without observations.
  public func begin(_ family: Family, _ labels: Labels = []) {
    state.withLock {
      $0.histograms[family.name, default: [:]][labels, default: Histogram()] += Histogram()
    }
  }

  /// Adds one observation to a histogram.
  public func observe(_ family: Family, _ labels: Labels = [], seconds: Double) {
    observe(family, labels, seconds: CollectionOfOne(seconds))
  }

  /// Adds several observations to a histogram, under one lock.
  public func observe(_ family: Family, _ labels: Labels = [], seconds: some Sequence<Double>) {
    var added = Histogram()
    for seconds in seconds { added.add(seconds) }
    guard added.count > 0 else { return }
    state.withLock {
      $0.histograms[family.name, default: [:]][labels, default: Histogram()] += added
    }
  }

  /// The sum of a counter over all its labels.
  package func total(_ family: Family) -> Double {
    state.withLock { $0.values[family.name]?.values.reduce(0, +) ?? 0 }
  }

  /// All metrics, for a Prometheus server.
  public func prometheusText() -> String {
    let state = state.withLock { $0 }
    var text = ""
    for family in Metrics.families {
      text += "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.kind)\n"
      let series = (state.values[family.name] ?? [:]).sorted {
        $0.key.lexicographicallyPrecedes($1.key)
      }
      for (labels, value) in series {
        text += "\(family.name)\(labelText(family.labelNames, labels)) \(number(value))\n"
      }
      for (labels, histogram) in state.histograms[family.name] ?? [:] {
        text += histogramText(family, labels, histogram)
      }
    }
    return text
  }

  private func histogramText(_ family: Family, _ labels: Labels, _ histogram: Histogram) -> String {
    var text = ""
    var cumulative = 0
    let names = family.labelNames
    for (bound, count) in zip(Metrics.bucketBoundsSeconds, histogram.buckets) {
      cumulative += count
      let label = labelText(names + ["le"], labels + [number(bound)])
      text += "\(family.name)_bucket\(label) \(cumulative)\n"
    }
    text += "\(family.name)_bucket\(labelText(names + ["le"], labels + ["+Inf"])) "
    text += "\(histogram.count)\n"
    text += "\(family.name)_sum\(labelText(names, labels)) \(histogram.sum)\n"
    text += "\(family.name)_count\(labelText(names, labels)) \(histogram.count)\n"
    return text
  }

  private func labelText(_ names: [String], _ values: [String]) -> String {
    guard !names.isEmpty else { return "" }
    let pairs = zip(names, values).map { name, value in
      var escaped = ""
      for character in value.unicodeScalars {
        switch character {
        case "\\": escaped += "\\\\"
        case "\"": escaped += "\\\""
        case "\n": escaped += "\\n"
        default: escaped.unicodeScalars.append(character)
        }
      }
      return "\(name)=\"\(escaped)\""
    }
    return "{" + pairs.joined(separator: ",") + "}"
  }

  private func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
  }
}

/// All metrics. Dashboards and alert rules may use only these.
extension Metrics.Family {
  public static let records = Self(
    name: "magpie_records_total", help: "Records applied, dead-lettered or archived.",
    kind: "counter",
    labelNames: ["topic"])
  public static let batches = Self(
    name: "magpie_batches_total", help: "Transactions committed.", kind: "counter",
    labelNames: ["topic"])
  public static let commit = Self(
    name: "magpie_batch_duration_seconds",
    help: "Time from decoding a batch to its commit's reply.", kind: "histogram",
    labelNames: ["topic"])
  public static let eventAge = Self(
    name: "magpie_event_to_commit_seconds",
    help: "Time from an event's own time to the commit that made it visible. A notification change "
      + "has the time of the event that caused it.", kind: "histogram",
    labelNames: ["topic"])
  public static let fenced = Self(
    name: "magpie_fenced_total", help: "Batches refused because the partition has another owner.",
    kind: "counter", labelNames: [])
  public static let deadLetters = Self(
    name: "magpie_dead_letters_total", help: "Records dead-lettered.", kind: "counter",
    labelNames: ["topic", "reason"])
  public static let openDeadLetters = Self(
    name: "magpie_dead_letters_open",
    help:
      "Dead letters of this consumer group that nobody has dealt with, as the database has them.",
    kind: "gauge", labelNames: ["topic"])
  public static let retries = Self(
    name: "magpie_retries_total", help: "Attempts repeated after a passing fault.",
    kind: "counter", labelNames: ["reason"])
  public static let ambiguousCommits = Self(
    name: "magpie_ambiguous_commits_total",
    help: "Commits whose reply was lost, by what the stored offset said afterwards.",
    kind: "counter", labelNames: ["outcome"])
  public static let rebalances = Self(
    name: "magpie_rebalances_total", help: "Assignments received.", kind: "counter", labelNames: [])
  public static let work = Self(
    name: "magpie_work_total",
    help: "What the handler did: deliveries (feed entries written), notifications, alarms, ...",
    kind: "counter", labelNames: ["kind"])
  public static let overdue = Self(
    name: "magpie_reminders_overdue",
    help: "Reminders due for more than a minute that have not rung, in all partitions.",
    kind: "gauge", labelNames: [])
  public static let lateness = Self(
    name: "magpie_reminder_lateness_seconds",
    help: "Time from when a reminder was due to the commit that published it.",
    kind: "histogram", labelNames: [])
  public static let lag = Self(
    name: "magpie_lag_records",
    help: "Records between the stored offset and the partition's high watermark.",
    kind: "gauge", labelNames: ["topic", "partition"])
  public static let lagSeconds = Self(
    name: "magpie_lag_seconds",
    help: "How long the oldest record that is not applied has been waiting; 0 without lag.",
    kind: "gauge", labelNames: ["topic", "partition"])
  public static let archivedBytes = Self(
    name: "magpie_archived_bytes_total", help: "Bytes of the segments written.", kind: "counter",
    labelNames: [])
  public static let archivedSegments = Self(
    name: "magpie_archived_segments_total", help: "Segments written.", kind: "counter",
    labelNames: [])
  public static let groupRenewals = Self(
    name: "magpie_group_renewals_total",
    help: "Memberships of the consumer group started anew because they led to no assignment.",
    kind: "counter", labelNames: [])
  public static let lanesWaiting = Self(
    name: "magpie_lanes_waiting",
    help:
      "Lanes without an assignment, by what they wait for: their consumer group, or topics that "
      + "do not exist.", kind: "gauge", labelNames: ["for"])
  public static let brokerRefusals = Self(
    name: "magpie_kafka_refusals_total",
    help:
      "Times that a Kafka broker refused a certificate or login, as far as librdkafka logs them.",
    kind: "counter", labelNames: ["broker"])
  public static let ready = Self(
    name: "magpie_ready", help: "1 while every lane can commit.", kind: "gauge", labelNames: [])
  public static let lostLogLines = Self(
    name: "magpie_log_lines_lost_total",
    help: "Log lines that could not be written: standard error is full, or nobody reads it.",
    kind: "counter", labelNames: [])
  public static let databaseSize = Self(
    name: "magpie_database_size_bytes",
    help: "Size of the database, from one process of each worker, once a minute.", kind: "gauge",
    labelNames: [])
  public static let requests = Self(
    name: "magpie_gateway_requests_total",
    help: "Requests answered, by what they asked for and the status of the answer.",
    kind: "counter", labelNames: ["kind", "status"])
  public static let requestDuration = Self(
    name: "magpie_gateway_request_duration_seconds",
    help:
      "Time from a request's head to the beginning of its answer. Waiting for Magpie-After counts.",
    kind: "histogram", labelNames: ["kind"])
  public static let streams = Self(
    name: "magpie_gateway_streams", help: "Streams that are open.", kind: "gauge", labelNames: [])
  public static let streamEvents = Self(
    name: "magpie_gateway_stream_events_total", help: "Screens sent on streams.",
    kind: "counter", labelNames: [])
  public static let pushes = Self(
    name: "magpie_pushes_total",
    help: "Requests to providers of push notifications, by what became of them.", kind: "counter",
    labelNames: ["provider", "outcome"])
  public static let pushDuration = Self(
    name: "magpie_push_duration_seconds",
    help: "Time from taking a claimed push to the provider's answer.", kind: "histogram",
    labelNames: ["provider"])
  public static let pushDelay = Self(
    name: "magpie_push_delay_seconds",
    help: "Time from when an alarm was raised to the answer that accepted its push.",
    kind: "histogram", labelNames: ["provider"])
  public static let pushBroken = Self(
    name: "magpie_push_providers_broken",
    help: "Apps, or origins of endpoints, to which nothing is sent because they refuse everything.",
    kind: "gauge", labelNames: ["provider"])
  public static let build = Self(
    name: "magpie_build_info", help: "1, labelled with what is running.", kind: "gauge",
    labelNames: ["version"])
  public static let processorSeconds = Self(
    name: "process_cpu_seconds_total", help: "Processor time used, user and system.",
    kind: "counter", labelNames: [])
  public static let startTime = Self(
    name: "process_start_time_seconds", help: "When the process began, in seconds since 1970.",
    kind: "gauge", labelNames: [])
  public static let residentMemory = Self(
    name: "process_resident_memory_bytes", help: "Resident memory.", kind: "gauge", labelNames: [])
}

extension Metrics {
  static let families: [Family] = [
    .records, .batches, .commit, .eventAge, .fenced, .deadLetters, .openDeadLetters, .retries,
    .ambiguousCommits, .rebalances, .groupRenewals, .lanesWaiting, .brokerRefusals, .work, .overdue,
    .lateness, .lag,
    .lagSeconds, .archivedBytes, .archivedSegments, .ready, .lostLogLines, .databaseSize,
    .requests, .requestDuration, .streams, .streamEvents, .pushes, .pushDuration, .pushDelay,
    .pushBroken, .build,
    .processorSeconds, .residentMemory, .startTime,
  ]
}
