import Foundation

/// Random numbers determined by a seed (SplitMix64), for reproducible property tests.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  /// The seed; print it when a test fails.
  public let seed: UInt64
  private var state: UInt64

  /// Creates a generator with this seed.
  public init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// Creates a generator with the seed in `MAGPIE_TEST_SEED`, or with a random seed, which it
  /// prints.
  public init(for test: String = #function) {
    let given = ProcessInfo.processInfo.environment["MAGPIE_TEST_SEED"].flatMap { UInt64($0) }
    self.init(seed: given ?? .random(in: .min ... .max))
    print("\(test): repeat with MAGPIE_TEST_SEED=\(seed)")
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
