/// The metrics of one process that the pages show, parsed from the Prometheus text format as
/// Magpie's own processes write it. Series of a family are summed, or their maximum is taken.
struct Exposition: Sendable {
  /// Nil for a process that is neither a worker nor the gateway.
  private(set) var isReady: Bool?
  private(set) var version: String?
  private(set) var startedAt: Double?
  private(set) var residentBytes: Double?
  private(set) var lagSeconds: Double?
  private(set) var overdueReminders: Double?
  /// Counters since the process started.
  private(set) var retries = 0.0
  private(set) var deadLetters = 0.0
  private(set) var lostLogLines = 0.0
  private(set) var failedRequests = 0.0
  private(set) var requests = 0.0
  /// Histogram of the time from an event to its commit: cumulative counts by upper bound, in
  /// seconds.
  private(set) var eventAges: [Double: Double] = [:]

  init(_ text: String) {
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      // Magpie's processes write no timestamps, and values contain no spaces.
      guard let space = line.lastIndex(of: " "),
        let value = Double(line[line.index(after: space)...]), value.isFinite
      else { continue }
      let series = line[..<space]
      let name = series.prefix { $0 != "{" }
      note(String(name), series.dropFirst(name.count), value)
    }
  }

  private mutating func note(_ name: String, _ labels: Substring, _ value: Double) {
    switch name {
    case "magpie_ready": isReady = value == 1
    case "magpie_build_info": version = Self.label("version", labels)
    case "process_start_time_seconds": startedAt = value
    case "process_resident_memory_bytes": residentBytes = value
    case "magpie_lag_seconds": lagSeconds = max(lagSeconds ?? 0, value)
    case "magpie_reminders_overdue": overdueReminders = value
    case "magpie_retries_total": retries += value
    case "magpie_dead_letters_total": deadLetters += value
    case "magpie_log_lines_lost_total": lostLogLines += value
    case "magpie_gateway_requests_total":
      requests += value
      if Self.label("status", labels)?.hasPrefix("5") == true { failedRequests += value }
    case "magpie_event_to_commit_seconds_bucket":
      guard let bound = Self.label("le", labels) else { return }
      eventAges[bound == "+Inf" ? .infinity : Double(bound) ?? .infinity, default: 0] += value
    default: break
    }
  }

  /// Reads a label's value. Does not unescape: the labels above need no escapes.
  private static func label(_ name: String, _ labels: Substring) -> String? {
    guard let start = labels.firstRange(of: "\(name)=\"") else { return nil }
    return String(labels[start.upperBound...].prefix { $0 != "\"" })
  }
}

/// The quantile of the observations that a histogram gained between two samples, estimated as
/// Prometheus does; nil if there were none.
///
/// - Parameters: cumulative counts by upper bound. A restarted process has smaller counts, all of
///   which are new.
func quantile(
  _ share: Double, of now: [Double: Double], since before: [Double: Double]
) -> Double? {
  let total = now[.infinity] ?? 0
  let isSame = total >= before[.infinity] ?? 0
  let bounds = now.keys.sorted()
  let counts = bounds.map { max(0, (now[$0] ?? 0) - (isSame ? before[$0] ?? 0 : 0)) }
  guard let all = counts.last, all > 0 else { return nil }
  let rank = share * all
  var (lowerBound, lowerCount) = (0.0, 0.0)
  for (bound, count) in zip(bounds, counts) {
    if count >= rank {
      guard bound.isFinite, count > lowerCount else { return lowerBound }
      return lowerBound + (bound - lowerBound) * (rank - lowerCount) / (count - lowerCount)
    }
    (lowerBound, lowerCount) = (bound, count)
  }
  return lowerBound
}
