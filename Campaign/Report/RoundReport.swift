/// What a round came to.
struct RoundReport: Codable {
  struct Ambiguous: Codable {
    var committed = 0
    var notCommitted = 0
    var fenced = 0
  }

  /// How long it took until what was acknowledged when a fault was over was applied.
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
  /// While faults were injected.
  var seconds: Double
  var faults: [String: Int] = [:]
  var acknowledged = 0
  /// Records that the producer had to send again.
  var producerFailures = 0
  /// Records that the embedded broker took for others sent before, and did not store.
  var takenForResent = 0
  /// In the log, and decoded.
  var events = 0
  var commits = 0
  var fences = 0
  var ambiguous = Ambiguous()
  var rebalances = 0
  /// Partitions that moved to another process while records of them were waiting.
  var handoversWithWork = 0
  var deadLetters = 0
  var reads = 0
  /// Seconds, by kind.
  var recovery: [String: [Double]] = [:]
  /// Seconds from the last healing until nothing was left to apply.
  var drainedAfter: Double?
  /// Offsets that all groups advanced by in a second, while a fault was in force and while none was.
  var throughputDuringFaults: Double?
  var throughputOtherwise: Double?
  var findings: [Finding] = []
  /// What did not happen, without which the round proves little.
  var unproved: [String] = []
}
