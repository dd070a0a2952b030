/// The result of a round.
struct RoundReport: Codable {
  struct Ambiguous: Codable {
    var committed = 0
    var notCommitted = 0
    var fenced = 0
  }

  /// The time from the end of a fault until everything acknowledged by then was applied.
  struct Recovery: Codable {
    var count: Int
    var p50: Double
    var p99: Double
    var max: Double

    init(_ seconds: [Double]) {
      let sorted = seconds.sorted()
      func at(_ share: Double) -> Double {
        sorted.isEmpty ? 0 : sorted[Int((Double(sorted.count - 1) * share).rounded(.up))]
      }
      (count, p50, p99, max) = (sorted.count, at(0.5), at(0.99), sorted.last ?? 0)
    }
  }

  var seed: UInt64
  var commit: String
  /// The duration of fault injection.
  var seconds: Double
  var faults: [String: Int] = [:]
  var acknowledged = 0
  /// Records that the producer sent again.
  var producerFailures = 0
  /// New records that the embedded broker mistook for duplicates and did not store.
  var takenForResent = 0
  /// Events in the log.
  var events = 0
  var commits = 0
  var fences = 0
  var ambiguous = Ambiguous()
  var rebalances = 0
  /// Partitions that moved to another process while records were waiting.
  var handoversWithWork = 0
  var deadLetters = 0
  var reads = 0
  /// In seconds, by kind.
  var recovery: [String: [Double]] = [:]
  /// Seconds from the last healing until everything was applied.
  var drainedAfter: Double?
  /// Offsets per second over all groups, while faults were active and while none was.
  var throughputDuringFaults: Double?
  var throughputOtherwise: Double?
  var findings: [Finding] = []
  /// Missing evidence, without which the round proves little.
  var unproved: [String] = []
}
