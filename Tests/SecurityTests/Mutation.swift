import Foundation
import TestSupport

/// The duration and seed of fuzzing each target; `MAGPIE_FUZZ_SECONDS` and `MAGPIE_FUZZ_SEED`
/// override them.
enum Fuzzing {
  static let seconds =
    Double(ProcessInfo.processInfo.environment["MAGPIE_FUZZ_SECONDS"] ?? "") ?? 2
  static let seed =
    UInt64(ProcessInfo.processInfo.environment["MAGPIE_FUZZ_SEED"] ?? "") ?? 20_261_121

  /// Fragments with special meaning in parsers.
  private static let tokens = [
    "{", "}", "[", "]", "\"", "\\", "\\u", "\\ud83d", ",", ":", "=", "@", "/", "//", "%", "%00",
    "%zz", "null", "true", "-0", "1e999", "9223372036854775808", "-9223372036854775809", "NaN",
    "\u{FEFF}", "\u{202E}", "\u{0}", "\n", "\r\n", "#", "'", "''", " ", "host", "password",
    "2026-11-21T00:00:00Z", "2026-02-30T25:61:61.9999999999+99:99", "ce_id", "magpie.",
  ]

  /// A mutated copy of `bytes`.
  static func mutated(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let at = Int.random(in: 0...bytes.count, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0: bytes.insert(.random(in: 0...255, using: &random), at: at)
      case 1:
        let end = min(bytes.count, at + Int.random(in: 1...20, using: &random))
        bytes.removeSubrange(at..<end)
      case 2:
        bytes.insert(contentsOf: (tokens.randomElement(using: &random) ?? "").utf8, at: at)
      case 3 where at < bytes.count: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 4 where at < bytes.count: bytes[at] = [0, 0x7F, 0x80, 0xFF][Int(bytes[at] & 3)]
      case 5:
        let end = min(bytes.count, at + Int.random(in: 0...60, using: &random))
        bytes.insert(contentsOf: Array(bytes[at..<end]), at: at)
      case 6 where Int.random(in: 0..<20, using: &random) == 0:
        // Deep or long input, for costs that grow with nesting or repetition.
        let piece = Array((tokens.randomElement(using: &random) ?? "x").utf8)
        let many = Array(repeating: piece, count: Int.random(in: 1...20_000, using: &random))
        bytes.insert(contentsOf: many.joined(), at: at)
      default:
        let end = min(bytes.count, at + 1)
        bytes.removeSubrange(at..<end)
      }
    }
    return bytes
  }

  /// Feeds mutations of `corpus` to `target` until the time is over. Accepted input (for which it
  /// returns true) joins the corpus, so that mutations accumulate. Every call must take less than
  /// five seconds of processor time, and memory must not grow by more than 300 MiB.
  ///
  /// - Returns: the numbers of accepted and refused inputs.
  static func run(
    _ name: String, _ corpus: [[UInt8]], _ target: ([UInt8], inout SeededGenerator) throws -> Bool
  ) throws -> (accepted: Int, refused: Int) {
    var random = SeededGenerator(seed: seed)
    var corpus = corpus
    var counts = (accepted: 0, refused: 0)
    var slowest = Duration.zero
    let before = residentMebibytes()
    let end = ContinuousClock.now + .seconds(seconds)
    // A minimum number even on a busy machine.
    while ContinuousClock.now < end || counts.accepted + counts.refused < 200 {
      let index = Int.random(in: 0..<corpus.count, using: &random)
      let bytes = mutated(corpus[index], &random)
      let start = processorTime()
      if try target(bytes, &random) {
        counts.accepted += 1
        if bytes.count < 8_000 { corpus[index] = bytes }
      } else {
        counts.refused += 1
      }
      slowest = max(slowest, processorTime() - start)
    }
    let growth = residentMebibytes() - before
    print(
      "fuzzing \(name), seed \(seed): \(counts.accepted) accepted, \(counts.refused) refused, "
        + "slowest \(slowest), \(growth) MiB growth")
    // Other tests run concurrently in the same process.
    guard slowest < .seconds(5), growth < 300 else {
      throw Unbounded(description: "\(name) took \(slowest) and \(growth) MiB")
    }
    return counts
  }

  /// The processor time of this thread, which is independent of other load.
  private static func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  private static func residentMebibytes() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096 >> 20
  }

  struct Unbounded: Error, CustomStringConvertible {
    let description: String
  }
}
