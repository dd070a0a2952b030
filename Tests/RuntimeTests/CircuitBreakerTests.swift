import Events
import Kafka
import Testing

@testable import Lanes

@Suite struct CircuitBreakerTests {
  @Test("stays closed while dead letters are rare")
  func staysClosed() {
    var breaker = CircuitBreaker(runLimit: 10, shareLimit: 0.5, windowRecords: 100)
    for index in 0..<10_000 { breaker.record(deadLettered: index % 3 == 0) }
    #expect(breaker.openReason == nil)
  }

  @Test("opens exactly at the limit of consecutive dead letters")
  func opensAtRunLimit() {
    var breaker = CircuitBreaker(runLimit: 10, shareLimit: 1, windowRecords: 100)
    for _ in 0..<9 { breaker.record(deadLettered: true) }
    #expect(breaker.openReason == nil)
    breaker.record(deadLettered: true)
    #expect(breaker.openReason == "10 records in a row could not be applied")
  }

  @Test("opens when the share of dead letters in a full window exceeds the limit")
  func opensAtShareLimit() {
    var breaker = CircuitBreaker(runLimit: 1000, shareLimit: 0.5, windowRecords: 100)
    for index in 0..<99 { breaker.record(deadLettered: index % 4 != 0) }
    #expect(breaker.openReason == nil)
    breaker.record(deadLettered: true)
    #expect(breaker.openReason?.hasSuffix("of the last 100 records could not be applied") == true)
  }

  @Test("old dead letters lose weight after enough good records")
  func forgets() {
    var breaker = CircuitBreaker(runLimit: 1000, shareLimit: 0.5, windowRecords: 100)
    for _ in 0..<90 { breaker.record(deadLettered: true) }
    for _ in 0..<400 { breaker.record(deadLettered: false) }
    #expect(breaker.openReason == nil)
  }

  @Test("continues from stored counts, and only a dead letter opens it")
  func remembers() {
    var breaker = CircuitBreaker(runLimit: 10, shareLimit: 0.5, windowRecords: 100)
    breaker.remember(DeadLetterPast(run: 20, records: 100, deadLetters: 60))
    #expect(breaker.counting(Batch(topic: .likes, items: [good, good])).openReason == nil)
    #expect(
      breaker.counting(Batch(topic: .likes, items: [bad])).openReason
        == "21 records in a row could not be applied")
    #expect(
      breaker.counting(Batch(topic: .likes, items: [good, bad])).openReason
        == "61 of the last 102 records could not be applied")
  }

  @Test("a run of dead letters in the middle of a batch opens it despite good records after it")
  func opensWithinBatch() {
    let breaker = CircuitBreaker(runLimit: 10, shareLimit: 1, windowRecords: 100)
    func reason(deadLetters: Int) -> String? {
      let items = [good] + Array(repeating: bad, count: deadLetters) + [good, good]
      return breaker.counting(Batch(topic: .likes, items: items)).openReason
    }
    #expect(reason(deadLetters: 9) == nil)
    #expect(reason(deadLetters: 10) == "10 records in a row could not be applied")
  }

  @Test(
    "dead letters that one person can cause count for nothing, and end no run",
    arguments: DeadLetterReason.uncounted)
  func uncounted(code: String) {
    let letter = Batch.Item(
      record: Self.record, content: .poison(DeadLetterReason(code: code, message: "m")))
    let breaker = CircuitBreaker(runLimit: 10, shareLimit: 0.5, windowRecords: 100)
    func reason(_ items: [Batch.Item]) -> String? {
      breaker.counting(Batch(topic: .reminders, items: items)).openReason
    }
    #expect(reason(Array(repeating: letter, count: 1000)) == nil)
    let run = Array(repeating: bad, count: 5)
    #expect(reason(run + [letter] + run) == "10 records in a row could not be applied")
  }

  private static let record = Record(
    topic: "t", partition: 0, offset: 0, timestampMilliseconds: 0, key: nil, value: nil)
  private let good = Batch.Item(
    record: record,
    content: .event(
      Event(id: "e", source: "s", time: .now, payload: .likeCreated(LikeCreated()))))
  private let bad = Batch.Item(
    record: record, content: .poison(DeadLetterReason(code: "c", message: "m")))
}
