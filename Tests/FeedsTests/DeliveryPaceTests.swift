import Handling
import Testing

@testable import Feeds

@Suite struct DeliveryPaceTests {
  private let pace = DeliveryPace()

  private func writing(_ deliveries: Int, by events: Int, for duration: Duration)
    -> DeliveryPace.Writing
  {
    .init(pace: pace, deliveries: deliveries, events: events, started: .now - duration)
  }

  @Test(
    "a transaction may hold what was written in half a second, and no fewer than 1,000 deliveries")
  func halfASecond() {
    #expect(pace.deliveriesMax == 100_000)
    writing(80_000, by: 10, for: .seconds(20)).end()
    #expect((1_000...2_000).contains(pace.deliveriesMax))
    writing(10, by: 1, for: .zero).end()
    #expect(pace.deliveriesMax <= 2_000, "a few say nothing about many")
    writing(80_000, by: 10, for: .seconds(1000)).end()
    #expect(pace.deliveriesMax == 1_000)
  }

  @Test(
    "a COPY that has taken a second and is not half done is abandoned, unless it is of one event")
  func abandoned() throws {
    try writing(80_000, by: 1, for: .seconds(9)).check(sent: 8_000)
    try writing(80_000, by: 9, for: .seconds(9)).check(sent: 40_000)
    #expect(pace.deliveriesMax == 100_000)
    let error = #expect(throws: BatchTooLarge.self) {
      try writing(80_000, by: 9, for: .seconds(2)).check(sent: 8_000)
    }
    #expect(error?.sizes == [4, 5])
    #expect((1_000...2_000).contains(pace.deliveriesMax))
  }

  @Test("the backlog's pieces grow with the last transaction")
  func backlog() {
    #expect(pace.backlogShare == 1)
    writing(390_000, by: 900, for: .milliseconds(500)).end()
    #expect(pace.backlogShare == 3)
    writing(20, by: 1, for: .milliseconds(2)).end()
    #expect(pace.backlogShare == 1)
  }
}
