import Testing
import Workload

@testable import Feeds

@Suite struct SortTests {
  @Test("recipients are sorted by owner, and those of one owner keep their order")
  func radix() {
    var random = SplitMix64(seed: 1)
    for count in [0, 1, 2, 3, 100, 5_000] {
      for largest in [0, 1, 2_047, 2_048, 1 << 22, Int64.max] {
        let keys = (0..<count).map { _ in Int64.random(in: 0...largest, using: &random) }
        let expected = keys.enumerated().sorted {
          ($0.element, $0.offset) < ($1.element, $1.offset)
        }
        let found = sorted(Array(keys.enumerated()), by: \.element)
        #expect(found.map(\.offset) == expected.map(\.offset))
      }
    }
  }
}
