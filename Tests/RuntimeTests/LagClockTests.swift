import Kafka
import Testing

@testable import Lanes

@Suite struct LagClockTests {
  private let partition = TopicPartition(topic: "t", partition: 0)

  @Test("with lag it reports the age of the last applied record")
  func backlog() {
    var clock = LagClock()
    clock.start(partition, nowMilliseconds: 1_000_000)
    // The age of the waiting records is unknown before the first batch.
    #expect(clock.seconds(partition, lagRecords: 5, nowMilliseconds: 1_002_000) == 2)
    clock.applied(partition, recordMilliseconds: 400_000, nowMilliseconds: 1_002_000)
    #expect(clock.seconds(partition, lagRecords: 3, nowMilliseconds: 1_002_000) == 602)
    #expect(clock.seconds(partition, lagRecords: 0, nowMilliseconds: 1_003_000) == 0)
  }

  @Test("a record that arrives after an idle hour has no lag of an hour")
  func idle() {
    var clock = LagClock()
    clock.applied(partition, recordMilliseconds: 0, nowMilliseconds: 0)
    #expect(clock.seconds(partition, lagRecords: 0, nowMilliseconds: 3_600_000) == 0)
    #expect(clock.seconds(partition, lagRecords: 1, nowMilliseconds: 3_600_500) == 0.5)
    #expect(clock.seconds(partition, lagRecords: 1, nowMilliseconds: 3_660_000) == 60)
  }

  @Test("wrong or missing producer timestamps cause no negative lag")
  func clocks() {
    var clock = LagClock()
    for recordMilliseconds: Int64 in [-1, 9_999_999_999_999, .max] {
      clock.applied(partition, recordMilliseconds: recordMilliseconds, nowMilliseconds: 1000)
      #expect(clock.seconds(partition, lagRecords: 1, nowMilliseconds: 3000) == 2)
    }
  }
}
