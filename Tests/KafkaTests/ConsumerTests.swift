import Foundation
import Kafka
import Testing

@Suite("A consumer starts where it is told and stops where it must")
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
    let records = try consumer.read(4, withinSeconds: 6)
    #expect(records.map(\.offset) == [7, 8, 9])
    #expect(records.allSatisfy { $0.partition == 0 })
    consumer.close()
    producer.close()
  }

  @Test("beginning and end are starting offsets too, and watermarks can be asked in the handler")
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
    #expect(try consumer.read(4, withinSeconds: 6).map(\.partition) == [0, 0, 0])
    let partition = TopicPartition(topic: "t", partition: 0)
    #expect(try consumer.watermarks(partition) == Watermarks(low: 0, high: 3))
    #expect(consumer.cachedWatermarks(partition)?.high == 3)
    consumer.close()
    producer.close()
  }

  @Test("poll ends at its record and byte bounds and loses nothing in between")
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

  @Test("an offset beyond the log is an error with the log's bounds")
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

  @Test("an offset the broker has dropped already is an error with the log's bounds")
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

  @Test("a topic that does not exist is an error with its name")
  func unknownTopic() throws {
    let fixture = try Fixture()
    let consumer = try fixture.consumer(topics: ["t", "nowhere"])
    #expect(consumer.failure() as? ConsumerError == .unknownTopic("nowhere"))
    #expect(throws: ConsumerError.unknownTopic("nowhere")) { try consumer.checkTopics() }
    consumer.close()
  }

  @Test("a consumer that polls too rarely is told, loses its partitions and gets them back")
  func maxPollExceeded() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(1, producer)
    var events: [RebalanceEvent] = []
    let consumer = try fixture.consumer(["max.poll.interval.ms": "4000"]) { event in
      events.append(event)
      return fromBeginning(event)
    }
    #expect(try consumer.read(1).count == 1)
    Thread.sleep(forTimeInterval: 5.5)
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

  @Test("what the rebalance handler throws, poll throws")
  func handlerError() throws {
    let fixture = try Fixture()
    let consumer = try fixture.consumer { _ in throw Stopped() }
    #expect(consumer.failure() is Stopped)
    #expect(consumer.assignment.isEmpty)
    consumer.close()
  }

  @Test("a handler that forgets a partition is an error, not a guess")
  func forgotten() throws {
    let fixture = try Fixture(partitions: 2)
    let consumer = try fixture.consumer { _ in [TopicPartition(topic: "t", partition: 0): 0] }
    #expect((consumer.failure() as? KafkaError)?.code == .invalidArgument)
    consumer.close()
  }

  @Test("commits for lag tools arrive, also those still under way when closing")
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

  @Test("closing is bounded while the broker is away")
  func boundedClose() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(5, producer)
    let consumer = try fixture.consumer()
    #expect(try consumer.read(5).count == 5)
    try fixture.broker.setDown()
    let start = Date()
    consumer.close(withinMilliseconds: 2_000)
    #expect(Date().timeIntervalSince(start) < 6)
    producer.close(withinMilliseconds: 100)
    #expect(throws: KafkaError.self) {
      _ = try consumer.poll(maxRecords: 1, maxBytes: 1, timeoutMilliseconds: 0)
    }
  }

  @Test("a broker that goes away and returns interrupts nothing but time")
  func outage() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(1, producer)
    let consumer = try fixture.consumer(["session.timeout.ms": "6000"])
    #expect(try consumer.read(1).count == 1)
    try fixture.broker.setDown()
    let answers = Collected()
    try producer.send(OutgoingRecord(topic: "t", key: [1], value: nil), completion: answers.add)
    #expect(producer.flush(withinMilliseconds: 300) == 1)
    #expect(try consumer.read(1, withinSeconds: 0.5).isEmpty)
    #expect(consumer.connectionProblem != nil)
    try fixture.broker.setUp()
    #expect(producer.flush(withinMilliseconds: 20_000) == 0)
    #expect(try answers.all.map { try $0.get().offset } == [1])
    #expect(try consumer.read(1).map(\.offset) == [1])
    #expect(consumer.connectionProblem == nil)
    consumer.close()
    producer.close()
  }
}
