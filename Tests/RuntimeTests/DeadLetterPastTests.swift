import Events
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Lanes

/// The circuit breaker's counts across restarts.
@Suite struct DeadLetterPastTests {
  private let fixture: LaneFixture
  private let topic: String

  init() throws {
    fixture = try LaneFixture(partitions: 1)
    topic = Topic.likes.name(prefix: fixture.prefix)
  }

  private func insertLetters(
    _ offsets: [Int64], partition: Int32, state: String = "open", code: String = "c"
  ) throws {
    try fixture.connection().query(
      """
      INSERT INTO dead_letters (consumer_group, topic, partition, record_offset, header_names,
        header_values, reason_code, reason, code_version, state, resolved_at, resolution)
      SELECT $1, $2, $3, o, '{}', '{}', $6, 'r', '0', $5,
        CASE WHEN $5 <> 'open' THEN now() END, CASE WHEN $5 <> 'open' THEN 'because' END
      FROM unnest($4::bigint[]) AS o
      """,
      [
        .text(try fixture.settings().consumerGroup), .text(topic), .int4(partition),
        .int8Array(offsets), .text(state), .text(code),
      ])
  }

  private func past(_ nextOffsets: [Int32: Int64], window: Int = 100) throws -> DeadLetterPast {
    let owned = nextOffsets.map {
      (TopicPartition(topic: topic, partition: $0.key), Ownership(nextOffset: $0.value, epoch: 1))
    }
    return try DeadLetterPast.read(
      before: Dictionary(uniqueKeysWithValues: owned),
      for: CircuitBreaker(runLimit: 20, windowRecords: window),
      consumerGroup: fixture.settings().consumerGroup, on: fixture.connection())
  }

  @Test func `the run ends at the stored offsets without a gap and sums over partitions`() throws {
    try insertLetters([3, 7, 8, 9], partition: 0)
    try insertLetters([98, 99, 100], partition: 1)
    #expect(try past([0: 10]).run == 3)
    #expect(try past([0: 11]).run == 0)
    #expect(try past([1: 100]).run == 2)
    #expect(try past([0: 10, 1: 101]).run == 6)
    #expect(try past([:]) == DeadLetterPast())
  }

  @Test func `the share counts the same number of offsets of each partition`() throws {
    try insertLetters([3, 7, 8, 9], partition: 0)
    try insertLetters([10, 70, 98, 99], partition: 1)
    #expect(try past([0: 10]) == DeadLetterPast(run: 3, records: 10, deadLetters: 4))
    #expect(try past([0: 10, 1: 100]) == DeadLetterPast(run: 5, records: 60, deadLetters: 7))
  }

  @Test func `resolved dead letters count as applied`() throws {
    try insertLetters([6, 7, 9], partition: 0)
    try insertLetters([8], partition: 0, state: "discarded")
    #expect(try past([0: 10]) == DeadLetterPast(run: 1, records: 10, deadLetters: 3))
  }

  @Test(arguments: DeadLetterReason.uncounted)
  func `dead letters that one person can cause count for nothing, and end no run`(
    code: String
  ) throws {
    try insertLetters([3, 7, 9], partition: 0)
    try insertLetters([2, 6, 8], partition: 0, code: code)
    #expect(try past([0: 10]) == DeadLetterPast(run: 2, records: 7, deadLetters: 3))
  }

  private func publishBad(_ count: Int) throws {
    try fixture.produce(
      (0..<count).map {
        OutgoingRecord(topic: topic, key: Array("k".utf8), value: Array("\($0)".utf8))
      })
  }

  @Test func `a successor continues the count, and a good record resets it`() async throws {
    var settings = try fixture.settings()
    settings.circuitBreaker = CircuitBreaker(runLimit: 20)
    for round in 0..<2 {
      try publishBad(15)
      let lane = RunningLane(settings)
      try await eventually { try fixture.deadLetterCount() == 15 * (round + 1) }
      try fixture.publish(posts: round == 0 ? ["good"] : [])
      try await eventually { try fixture.lag() == 0 }
      try await lane.stop()
    }
    // The last fifteen records are bad.
    try publishBad(5)
    let last = RunningLane(settings)
    let stopped = await #expect(throws: WorkerStopped.self) { try await last.end() }
    #expect(stopped?.reason.contains("20 records in a row") == true)
    #expect(stopped?.nextStep.contains("those redriven or discarded do not count") == true)
    #expect(try fixture.deadLetterCount() < 35)
  }
}
