import CRDKafka
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Kafka

@Suite("A consumer starts at the given offsets and reports when it cannot continue")
struct ConsumerTests {
  @Test("the first record is the one at the starting offset")
  func startingOffset() throws {
    let fixture = try Fixture(partitions: 2)
    let producer = try fixture.producer()
    try fixture.fill(10, partition: 0, producer)
    try fixture.fill(10, partition: 1, producer)
    let consumer = try fixture.consumer { event in
      guard case .assigned = event else { return [:] }
      return [
        TopicPartition(topic: "t", partition: 0): 7, TopicPartition(topic: "t", partition: 1): 10,
      ]
    }
    var records = try consumer.read(3)
    // The next record of the partition that starts at its end.
    try fixture.fill(1, partition: 1, producer)
    records += try consumer.read(1)
    #expect(records.map(\.offset) == [7, 8, 9, 10])
    #expect(records.map(\.partition) == [0, 0, 0, 1])
    consumer.close()
    producer.close()
  }

  @Test("beginning and end are valid starting offsets")
  func logicalOffsets() throws {
    let fixture = try Fixture(partitions: 2)
    let producer = try fixture.producer()
    try fixture.fill(3, partition: 0, producer)
    try fixture.fill(3, partition: 1, producer)
    let consumer = try fixture.consumer { event in
      guard case .assigned = event else { return [:] }
      return [
        TopicPartition(topic: "t", partition: 0): Consumer.beginning,
        TopicPartition(topic: "t", partition: 1): Consumer.end,
      ]
    }
    #expect(try consumer.read(3).map(\.partition) == [0, 0, 0])
    // Records produced before the consumer has resolved the end are skipped.
    var later: [Record] = []
    try block(until: "a record after the end of the other partition", pauses: false) {
      try fixture.fill(1, partition: 1, producer)
      later += try consumer.poll(maxRecords: 1, maxBytes: .max, timeoutMilliseconds: 50)
      return !later.isEmpty
    }
    #expect(later.allSatisfy { $0.partition == 1 && $0.offset >= 3 })
    let partition = TopicPartition(topic: "t", partition: 0)
    #expect(try consumer.watermarks([partition]) == [partition: Watermarks(low: 0, high: 3)])
    #expect(consumer.cachedWatermarks(partition)?.high == 3)
    consumer.close()
    producer.close()
  }

  @Test("a log counts as read to its end once all of its records were polled, also an empty one")
  func readToEnd() throws {
    let fixture = try Fixture(partitions: 2)
    let producer = try fixture.producer()
    try fixture.fill(3, partition: 0, producer)
    let consumer = try fixture.consumer()
    let (full, empty) = (
      TopicPartition(topic: "t", partition: 0), TopicPartition(topic: "t", partition: 1)
    )
    var polled = 0
    try block(until: "both are read to the end", pauses: false) {
      polled += try consumer.poll(maxRecords: 1, maxBytes: .max, timeoutMilliseconds: 50).count
      #expect(polled == 3 || !consumer.hasReadToEnd(full))
      return consumer.hasReadToEnd(full) && consumer.hasReadToEnd(empty)
    }
    #expect(polled == 3)
    consumer.close()
    producer.close()
  }

  @Test("poll stops at its record and byte bounds without losing records")
  func bounds() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(50, bytes: 1_000, producer)
    let consumer = try fixture.consumer()
    var offsets = try consumer.read(1).map(\.offset)
    while offsets.count < 50 {
      let some = try consumer.poll(maxRecords: 20, maxBytes: 5_000, timeoutMilliseconds: 1_000)
      // 5 records of a little over 1,000 bytes each reach 5,000.
      #expect(some.count <= 5)
      let few = try consumer.poll(maxRecords: 3, maxBytes: .max, timeoutMilliseconds: 1_000)
      #expect(few.count <= 3)
      offsets += (some + few).map(\.offset)
    }
    #expect(offsets == Array(0..<50))
    consumer.close()
    producer.close()
  }

  @Test("poll's byte bound counts keys and headers, also empty ones")
  func boundsOfKeysAndHeaders() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try producer.send([
      OutgoingRecord(
        topic: "t", partition: 0, key: [UInt8](repeating: 7, count: 100_000), value: nil),
      OutgoingRecord(
        topic: "t", partition: 0, key: nil, value: nil,
        headers: Array(repeating: Header(name: "", value: nil), count: 10_000)),
      OutgoingRecord(topic: "t", partition: 0, key: nil, value: nil),
    ])
    let consumer = try fixture.consumer()
    var offsets: [Int64] = []
    try block(until: "all records are polled", pauses: false) {
      let some = try consumer.poll(maxRecords: 10, maxBytes: 50_000, timeoutMilliseconds: 50)
      #expect(some.count <= 1)
      offsets += some.map(\.offset)
      return offsets.count >= 3
    }
    #expect(offsets == [0, 1, 2])
    consumer.close()
    producer.close()
  }

  @Test("an offset beyond the end of the log is an error with the log's bounds")
  func beyond() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(10, producer)
    let partition = TopicPartition(topic: "t", partition: 0)
    let consumer = try fixture.consumer { event in
      guard case .assigned = event else { return [:] }
      return [partition: 100]
    }
    #expect(
      consumer.failure() as? ConsumerError
        == .offsetOutOfRange(partition, offset: 100, low: 0, high: 10))
    consumer.close()
    producer.close()
  }

  @Test("an offset before the log start is an error with the log's bounds")
  func dropped() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer(["compression.type": "none"])
    // The embedded broker keeps 5 MiB.
    try fixture.fill(20, bytes: 500_000, producer)
    let partition = TopicPartition(topic: "t", partition: 0)
    let low = try fixture.admin().watermarks(partition).low
    #expect(low > 0)
    let consumer = try fixture.consumer()
    #expect(
      consumer.failure() as? ConsumerError
        == .offsetOutOfRange(partition, offset: 0, low: low, high: 20))
    consumer.close()
    producer.close()
  }

  @Test("the consumer waits for a missing topic, reports its name, and consumes it once it exists")
  func unknownTopic() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    let consumer = try fixture.consumer(topics: ["t", "later"], RebalanceTests.shortSession)
    try consumer.poll(until: "the missing topic is known") {
      $0.membership == .waitingForTopics(["later"])
    }
    let unknown = #expect(throws: ConsumerError.unknownTopic("later")) {
      try consumer.checkTopics()
    }
    // Brokers say the same of both.
    #expect(
      unknown?.description.contains("does not exist, or the Kafka user may not Describe") == true)
    #expect(try fixture.admin().topics() == ["t": 1])
    try fixture.broker.createTopic("later", partitions: 1)
    try consumer.poll(until: "it is a settled member") { $0.membership == .settled }
    try fixture.fill(1, producer)
    #expect(try consumer.read(1).count == 1)
    consumer.close()
    producer.close()
  }

  @Test("a consumer joins although brokers take longer to answer than its poll waits")
  func slowBroker() throws {
    let fixture = try Fixture()
    try fixture.broker.setRoundTripTime(milliseconds: 300)
    let consumer = try fixture.consumer()
    try consumer.poll(until: "it is a settled member") { $0.membership == .settled }
    try fixture.broker.setRoundTripTime(milliseconds: 0)
    consumer.close()
  }

  @Test("a log truncation without an offset ends the consumer instead of naming an offset")
  func truncation() throws {
    let fixture = try Fixture()
    let client = try fixture.producer().client
    var message = rd_kafka_message_t()
    message.err = RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET
    message.offset = -1001
    guard case .fatal(let error) = client.consumerError(&message) else {
      Issue.record("not fatal")
      return
    }
    #expect(error.name == "_AUTO_OFFSET_RESET")
  }

  @Test("a batch that librdkafka cannot read ends the consumer instead of being skipped")
  func unreadable() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    defer { producer.close() }
    for code in [
      RD_KAFKA_RESP_ERR__BAD_MSG, RD_KAFKA_RESP_ERR__BAD_COMPRESSION,
      RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED,
    ] {
      var message = rd_kafka_message_t()
      message.err = code
      let error = producer.client.consumerError(&message)
      guard case .unreadable = error else {
        Issue.record("\(error)")
        continue
      }
      #expect(!error.isRetriable)
    }
  }

  @Test("a closed client has no connection problem, after one that it had")
  func closedHasNoProblem() throws {
    let fixture = try Fixture()
    try fixture.broker.setDown()
    let consumer = try fixture.consumer()
    try consumer.poll(until: "a problem") { $0.connectionProblem != nil }
    consumer.close(withinMilliseconds: 100)
    #expect(consumer.connectionProblem == nil)
    let producer = try fixture.producer()
    try block(until: "a problem") { producer.connectionProblem != nil }
    producer.close(withinMilliseconds: 100)
    #expect(producer.connectionProblem == nil)
  }

  @Test("a broker that reports a topic as unknown does not stop the consumer")
  func staleMetadata() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(1, producer)
    let consumer = try fixture.consumer(RebalanceTests.shortSession)
    #expect(try consumer.read(1).count == 1)
    fixture.broker.setError(ofTopic: "t", to: .unknownTopicOrPartition)
    #expect(throws: ConsumerError.unknownTopic("t")) { try consumer.checkTopics() }
    #expect(consumer.membership == .waitingForTopics(["t"]))
    fixture.broker.setError(ofTopic: "t", to: nil)
    try consumer.poll(until: "it is a settled member again") { $0.membership == .settled }
    try fixture.fill(1, producer)
    // After a new assignment the fixture starts from the first record again.
    #expect(try consumer.read(1).count == 1)
    consumer.close()
    producer.close()
  }

  @Test("a consumer without an assignment is joining")
  func joining() throws {
    let fixture = try Fixture()
    fixture.broker.pushErrors(.syncGroup, Array(repeating: .init(rawValue: 27), count: 10_000))
    let consumer = try fixture.consumer()
    // The embedded broker delays a group's first join by three seconds.
    let joined = ContinuousClock.now + .seconds(6)
    try consumer.poll(until: "the group has had time to form") { _ in .now >= joined }
    #expect(consumer.membership == .joining)
    consumer.close()
  }

  @Test("a member with an assignment is settled, even if the assignment is empty")
  func settled() throws {
    let fixture = try Fixture()
    let first = try fixture.consumer(RebalanceTests.shortSession)
    #expect(first.membership == .joining)
    try first.poll(until: "it is a settled member") { $0.membership == .settled }
    let second = try fixture.consumer(RebalanceTests.shortSession)
    try second.poll(until: "both are settled") { second in
      _ = try first.poll(maxRecords: 1, maxBytes: .max, timeoutMilliseconds: 10)
      return second.membership == .settled && first.membership == .settled
    }
    #expect([first, second].map(\.assignment.count).sorted() == [0, 1])
    first.close()
    second.close()
  }

  @Test("a consumer that exceeds the poll interval gets an error, loses its partitions and rejoins")
  func maxPollExceeded() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(1, producer)
    var events: [RebalanceEvent] = []
    let isLate = Mutex(false)
    var configuration = fixture.configuration([
      "max.poll.interval.ms": "4000", "session.timeout.ms": "4000",
    ])
    configuration.log = { _, facility, _ in
      if facility == "MAXPOLL" { isLate.withLock { $0 = true } }
    }
    let consumer = try Consumer(configuration: configuration, group: "g", topics: ["t"]) { event in
      events.append(event)
      return fromBeginning(event)
    }
    #expect(try consumer.read(1).count == 1)
    try block(until: "the interval is exceeded") { isLate.withLock { $0 } }
    guard case .maxPollExceeded? = consumer.failure() as? ConsumerError else {
      Issue.record("no maxPollExceeded")
      return
    }
    #expect(try consumer.read(1).count == 1)
    let partition = TopicPartition(topic: "t", partition: 0)
    #expect(events == [.assigned([partition]), .lost([partition]), .assigned([partition])])
    consumer.close()
    producer.close()
  }

  @Test("poll rethrows the rebalance handler's errors")
  func handlerError() throws {
    let fixture = try Fixture()
    let consumer = try fixture.consumer { _ in throw Stopped() }
    #expect(consumer.failure() is Stopped)
    #expect(consumer.assignment.isEmpty)
    consumer.close()
  }

  @Test("a missing starting offset is an error")
  func forgotten() throws {
    let fixture = try Fixture(partitions: 2)
    let consumer = try fixture.consumer { _ in [TopicPartition(topic: "t", partition: 0): 0] }
    #expect((consumer.failure() as? KafkaError)?.code == .invalidArgument)
    consumer.close()
  }

  @Test("commits for lag tools arrive, even if the consumer closes immediately")
  func commit() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(5, producer)
    let consumer = try fixture.consumer()
    #expect(try consumer.read(5).count == 5)
    let partition = TopicPartition(topic: "t", partition: 0)
    #expect(consumer.commitAsync([partition: 5]) == nil)
    consumer.close()
    #expect(try fixture.admin().committedOffsets(group: "g", [partition]) == [partition: 5])
    producer.close()
  }

  @Test("closing is bounded while the broker is down")
  func boundedClose() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(5, producer)
    let consumer = try fixture.consumer()
    #expect(try consumer.read(5).count == 5)
    try fixture.broker.setDown()
    let start = Date()
    consumer.close(withinMilliseconds: 2_000)
    // Without the bound, close would wait for the broker.
    #expect(Date().timeIntervalSince(start) < 60)
    producer.close(withinMilliseconds: 100)
    #expect(throws: KafkaError.self) {
      _ = try consumer.poll(maxRecords: 1, maxBytes: 1, timeoutMilliseconds: 0)
    }
  }

  @Test("producer and consumer continue after the broker was down")
  func outage() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(1, producer)
    let consumer = try fixture.consumer()
    #expect(try consumer.read(1).count == 1)
    try fixture.broker.setDown()
    let answers = Collected()
    try producer.send(OutgoingRecord(topic: "t", key: [1], value: nil), completion: answers.add)
    #expect(producer.flush(withinMilliseconds: 300) == 1)
    var early: [Record] = []
    try block(until: "the consumer reports the problem", pauses: false) {
      early += try consumer.poll(maxRecords: 1, maxBytes: .max, timeoutMilliseconds: 50)
      return consumer.connectionProblem != nil
    }
    #expect(early.isEmpty)
    try fixture.broker.setUp()
    #expect(producer.flush(withinMilliseconds: Int(hangLimitSeconds * 1000)) == 0)
    #expect(try answers.all.map { try $0.get().offset } == [1])
    #expect(try consumer.read(1).map(\.offset) == [1])
    #expect(consumer.connectionProblem == nil)
    consumer.close()
    producer.close()
  }
}
