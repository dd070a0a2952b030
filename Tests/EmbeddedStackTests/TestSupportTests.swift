import Events
import Kafka
import TestSupport
import Testing

@Suite struct TestSupportTests {
  @Test("a seed determines the random numbers")
  func seeds() {
    var (one, two, other) = (
      SeededGenerator(seed: 1), SeededGenerator(seed: 1), SeededGenerator(seed: 2)
    )
    let numbers = (0..<10).map { _ in one.next() }
    #expect(numbers == (0..<10).map { _ in two.next() })
    #expect(numbers != (0..<10).map { _ in other.next() })
  }

  @Test("eventually waits for a condition and times out")
  func waiting() async throws {
    var asked = 0
    try await eventually {
      asked += 1
      return asked == 3
    }
    await #expect(throws: TimedOut.self) {
      try await eventually(within: .milliseconds(50)) { false }
    }
  }

  @Test("the test broker has the requested topics")
  func broker() throws {
    let prefix = TestBroker.topicPrefix()
    try TestBroker.shared.createTopics(prefix: prefix, partitions: 3)
    let topics = try Admin(configuration: TestBroker.shared.configuration)
      .topics(Topic.allCases.map { $0.name(prefix: prefix) })
    #expect(topics.count == Topic.allCases.count)
  }

  @Test("executables are found next to the tests")
  func executables() throws {
    #expect(try builtExecutable("fanout-worker").hasSuffix("/fanout-worker"))
    #expect(throws: (any Error).self) { try builtExecutable("no-such-worker") }
  }
}
