import Events
import Foundation
import Kafka
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Handling
@testable import Lanes

/// Records applied outside a consumer group.
@Suite struct RecordApplierTests {
  let fixture: LaneFixture
  let topic: String

  init() throws {
    fixture = try LaneFixture(partitions: 2)
    topic = Topic.likes.name(prefix: fixture.prefix)
  }

  private func applier(isFenced: Bool, breaker: CircuitBreaker? = nil) throws -> RecordApplier {
    let settings = try fixture.settings()
    return RecordApplier(
      handler: LaneFixture.handler, consumerGroup: settings.consumerGroup,
      topicPrefix: fixture.prefix, isFenced: isFenced, breaker: breaker,
      open: settings.openConnection
    ) { _, _ in }
  }

  private func records(_ posts: [String], from first: Int = 0, partition: Int32 = 0) throws
    -> [Record]
  {
    try posts.enumerated().map { index, post in
      let event = Event(
        id: "\(first + index)", source: "test", time: EventTime.now,
        payload: .like("actor", post, of: "owner"))
      return try Record(
        topic: topic, partition: partition, offset: Int64(first + index),
        timestampMilliseconds: 0, wire: EventCodec.encode(event, as: .protobuf))
    }
  }

  private func storedOffsets() throws -> [Int] {
    try fixture.connection()
      .query("SELECT next_offset FROM consumer_offsets ORDER BY partition")
      .map { try $0.int(0) }
  }

  @Test func `with a fence each record is applied once, even if it is given twice`() throws {
    let applier = try applier(isFenced: true)
    try applier.claim([TopicPartition(topic: topic, partition: 0): 0])
    #expect(try applier.apply(records(["a", "b", "c"])).records == 3)
    #expect(try applier.apply(records(["a", "b", "c", "d"])).records == 1)
    #expect(try fixture.applied() == ["0", "1", "2", "3"])
    #expect(try storedOffsets() == [4])
    // Another process claims the partitions.
    let next = try self.applier(isFenced: true)
    try next.claim([TopicPartition(topic: topic, partition: 0): 0])
    #expect(Array(next.nextOffsets.values) == [4])
    #expect(try next.apply(records(["a", "b", "c", "d", "e"])).counts == ["applied": 1])
    // This one is fenced and writes nothing more.
    #expect(throws: WorkerStopped.self) { try applier.apply(records(["x"], from: 5)) }
    #expect(try fixture.applied().count == 5)
  }

  @Test func `a piece of the backlog that waits for a swap of tables holds no lock`() throws {
    let settings = try fixture.settings()
    let swap = try fixture.connection()
    try swap.script("BEGIN; LOCK TABLE consumer_offsets IN EXCLUSIVE MODE")
    let group = DispatchGroup()
    let failure = Mutex<String?>(nil)
    group.runOnOwnThread {
      let store = BatchStore(
        handler: LaneFixture.handler, consumerGroup: settings.consumerGroup,
        open: settings.openConnection
      ) { _, _ in }
      do {
        _ = try store.runBacklog(
          Work([Statement("SELECT FROM follows"), Statement("SELECT FROM applied")]))
      } catch {
        failure.withLock { $0 = "\(error)" }
      }
      store.close()
    }
    var locked: String?
    try block(until: "it waits") {
      locked = try swap.query(
        """
        SELECT string_agg(l.relation::regclass || CASE WHEN l.granted THEN '' ELSE ' waits' END, ', ')
        FROM pg_locks l JOIN pg_locks w ON w.pid = l.pid AND NOT w.granted
        WHERE l.relation IS NOT NULL AND pg_backend_pid() = ANY (pg_blocking_pids(w.pid))
        """
      ).only.textOrNil(0)
      return locked != nil
    }
    #expect(locked == "consumer_offsets waits")
    try swap.script("COMMIT")
    group.wait()
    #expect(failure.withLock { $0 } == nil)
  }

  @Test func `a handler is told once that its batch is committed`() throws {
    let settings = try fixture.settings()
    var handler = LaneFixture.handler
    let apply = handler.apply
    let commits = Mutex(0)
    let committed: @Sendable () -> Void = { commits.withLock { $0 += 1 } }
    handler.apply = { topic, events in
      var work = try apply(topic, events)
      let finish = work.finish
      work.finish = { results in
        var outcome = try finish(results)
        outcome.afterCommit = committed
        return outcome
      }
      return work
    }
    let applier = RecordApplier(
      handler: handler, consumerGroup: settings.consumerGroup, topicPrefix: fixture.prefix,
      isFenced: true, breaker: nil, open: settings.openConnection
    ) { _, _ in }
    try applier.claim([TopicPartition(topic: topic, partition: 0): 0])
    try applier.apply(records(["a", "b"]))
    #expect(commits.withLock { $0 } == 1)
  }

  @Test(arguments: [true, false])
  func `a batch that the handler finds too large is applied in pieces, poison among them`(
    isFenced: Bool
  ) throws {
    let settings = try fixture.settings()
    var handler = LaneFixture.handler
    let apply = handler.apply
    let sizes = Mutex<[Int]>([])
    handler.apply = { topic, events in
      if events.count > 3 {
        return Work([Statement("SELECT 1")]) { _ in
          throw BatchTooLarge(sizes: [3, events.count - 3])
        }
      }
      sizes.withLock { $0.append(events.count) }
      return try apply(topic, events)
    }
    let applier = RecordApplier(
      handler: handler, consumerGroup: settings.consumerGroup, topicPrefix: fixture.prefix,
      isFenced: isFenced, breaker: nil, open: settings.openConnection
    ) { _, _ in }
    if isFenced { try applier.claim([TopicPartition(topic: topic, partition: 0): 0]) }
    var batch = try records(["a", "b", "c", "d", "e", "f", "g", "h"])
    for index in [0, 3, 7] { batch[index].value = [0xff] }
    let applied = try applier.apply(
      batch, endOffsets: [TopicPartition(topic: topic, partition: 0): 20])
    #expect(applied.records == 8)
    #expect(applied.deadLetters == 3)
    #expect(sizes.withLock { $0 } == [3, 2])
    #expect(try fixture.applied() == ["1", "2", "4", "5", "6"])
    if isFenced { #expect(try storedOffsets() == [20]) }
  }

  @Test(arguments: [true, false])
  func `a discarded record is not applied by who reads it again, but one that took its place is`(
    isFenced: Bool
  ) throws {
    let partition = TopicPartition(topic: topic, partition: 0)
    let good = try records(["a", "b", "c", "d", "e", "f", "g"])
    var early = good
    for index in [1, 2, 3, 4] { early[index].headers = [] }
    let first = try applier(isFenced: true)
    try first.claim([partition: 0])
    try first.apply(early)
    #expect(try fixture.applied() == ["0", "5", "6"])
    // As if the records had failed for another reason than themselves: the letters hold the good ones.
    let letters = try fixture.connection()
    for index in [1, 2, 3] {
      try letters.query(
        """
        UPDATE dead_letters SET key = $2, value = $3, header_names = $4, header_values = $5,
          state = CASE WHEN record_offset < 3 THEN 'discarded' ELSE 'open' END,
          resolved_at = CASE WHEN record_offset < 3 THEN now() END,
          resolution = CASE WHEN record_offset < 3 THEN 'a test' END
        WHERE record_offset = $1
        """,
        [
          .int8(Int64(index)), .bytea(good[index].key), .bytea(good[index].value),
          .textArray(good[index].headers.map(\.name)),
          .byteaArray(good[index].headers.map(\.value)),
        ])
    }
    try letters.script(
      """
      DELETE FROM applied;
      UPDATE dead_letters SET value = 'of another record' WHERE record_offset = 2;
      UPDATE consumer_offsets SET next_offset = 0, last_offset = NULL, last_identity = NULL;
      """)
    let again = try applier(isFenced: isFenced)
    if isFenced { try again.claim([partition: 0]) }
    #expect(try again.apply(good).records == 7)
    #expect(try fixture.applied() == ["0", "2", "3", "4", "5", "6"])
    if isFenced { #expect(try storedOffsets() == [7]) }
    let states = try letters.query(
      """
      SELECT record_offset || ' ' || state || CASE WHEN topic LIKE '%@gone-%' THEN ', set aside' ELSE '' END
      FROM dead_letters ORDER BY record_offset
      """)
    // A replay may read another log than the group's.
    let aside = isFenced ? ", set aside" : ""
    #expect(
      try states.map { try $0.text(0) } == [
        "1 discarded", "2 discarded\(aside)", "3 redriven", "4 open\(aside)",
      ])
  }

  @Test func `offsets without records are skipped, even if there are no records at all`()
    throws
  {
    let applier = try applier(isFenced: true)
    let partitions = [0, 1].map { TopicPartition(topic: topic, partition: $0) }
    try applier.claim([partitions[0]: 0, partitions[1]: 0])
    try applier.apply(records(["a"]), endOffsets: [partitions[0]: 10, partitions[1]: 7])
    #expect(try storedOffsets() == [10, 7])
  }

  @Test func `bisection finds poison, dead-letters it and applies the rest`() throws {
    let applier = try applier(isFenced: true)
    try applier.claim([TopicPartition(topic: topic, partition: 0): 0])
    var given = try records(["a", "poison", "b", "c", "d"])
    given[3].headers = []
    let applied = try applier.apply(
      given, endOffsets: [TopicPartition(topic: topic, partition: 0): 9])
    #expect(applied.records == 5)
    #expect(applied.deadLetters == 2)
    #expect(try fixture.applied() == ["0", "2", "4"])
    #expect(try fixture.deadLetterCount() == 2)
    #expect(try storedOffsets() == [9])
  }

  @Test func `with a fence, records that do not continue from the last applied one are rejected`()
    throws
  {
    let partition = TopicPartition(topic: topic, partition: 0)
    let given = try records(["a", "b", "c", "d"])
    let applier = try applier(isFenced: true)
    try applier.claim([partition: 0])
    try applier.apply(Array(given[..<3]))
    for (rest, isSame) in [(try records(["x", "y"], from: 2), false), (Array(given[2...]), true)] {
      let next = try self.applier(isFenced: true)
      try next.claim([partition: 0])
      #expect(next.start(of: partition, in: 0..<10) == 2)
      if isSame {
        #expect(try next.apply(rest).records == 1)
      } else {
        #expect(throws: AnotherLog.self) { try next.apply(rest) }
      }
    }
    let last = try self.applier(isFenced: true)
    try last.claim([partition: 0])
    // The log starts at the next offset.
    #expect(last.start(of: partition, in: 4..<10) == 4)
    #expect(try last.apply(records(["e"], from: 4)).records == 1)
    #expect(try fixture.applied() == ["0", "1", "2", "3", "4"])
  }

  @Test func `without a fence no offset moves and records can be applied again`() throws {
    let applier = try applier(isFenced: false)
    #expect(try applier.apply(records(["a", "b"])).records == 2)
    #expect(try applier.apply(records(["a", "b"])).records == 2)
    #expect(try fixture.applied() == ["0", "0", "1", "1"])
    #expect(try storedOffsets() == [])
  }

  @Test("only new dead letters open the circuit breaker")
  func knownDeadLetters() throws {
    let bad = try records(Array(repeating: "poison", count: 30))
    // Like a worker with raised limits.
    #expect(try applier(isFenced: true).apply(bad, claiming: topic).deadLetters == 30)
    let breaker = CircuitBreaker(runLimit: 10)
    let applier = try applier(isFenced: false, breaker: breaker)
    #expect(try applier.apply(bad).deadLetters == 30)
    let stopped = #expect(throws: WorkerStopped.self) {
      try applier.apply(try records(Array(repeating: "poison", count: 10), from: 30))
    }
    #expect(stopped?.reason.contains("10 records in a row") == true)
    #expect(stopped?.nextStep.hasSuffix("--dead-letter-share-limit.") == true)
    #expect(try fixture.deadLetterCount() < 40)
  }

  @Test func `a record of a topic that the handler does not consume is rejected`() throws {
    let applier = try applier(isFenced: false)
    var given = try records(["a"])
    given[0].topic = "other"
    #expect(throws: WorkerStopped.self) { try applier.apply(given) }
  }
}

extension RecordApplier {
  fileprivate func apply(_ records: [Record], claiming topic: String) throws -> Applied {
    try claim([TopicPartition(topic: topic, partition: 0): 0])
    return try apply(records)
  }
}
