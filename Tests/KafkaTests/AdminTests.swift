import TestSupport
import Testing

@testable import Kafka

@Suite("Admin queries topics and offsets")
struct AdminTests {
  @Test("topics returns partition counts and creates nothing")
  func topics() throws {
    let fixture = try Fixture(partitions: 3)
    let admin = try fixture.admin()
    #expect(try admin.topics(["t", "nowhere"]) == ["t": 3])
    #expect(try admin.topics() == ["t": 3])
  }

  @Test("the error for creating topics on an embedded broker says who can create them")
  func unsupported() throws {
    let fixture = try Fixture()
    let error = #expect(throws: KafkaError.self) {
      try fixture.admin().createTopics(
        [NewTopic(name: "n", partitions: 1)], timeoutMilliseconds: 3_000)
    }
    #expect(error?.code == .unsupported)
    #expect(error?.message.contains("process that hosts it") == true)
  }

  @Test("watermarks returns the bounds of every partition")
  func watermarks() throws {
    let fixture = try Fixture(partitions: 2)
    let producer = try fixture.producer()
    try fixture.fill(4, partition: 1, producer)
    #expect(
      try fixture.admin().watermarks(topics: ["t"]) == [
        TopicPartition(topic: "t", partition: 0): Watermarks(low: 0, high: 0),
        TopicPartition(topic: "t", partition: 1): Watermarks(low: 0, high: 4),
      ])
    producer.close()
  }

  @Test("while a broker is down, the other leaders' watermarks arrive in bounded time")
  func brokerDown() throws {
    let fixture = try Fixture(partitions: 6, brokers: 3)
    let producer = try fixture.producer()
    let partitions = (0..<6).map { TopicPartition(topic: "t", partition: $0) }
    for (index, partition) in partitions.enumerated() {
      try fixture.broker.moveLeader(partition, to: 1 + index % 3)
      try fixture.fill(index + 1, partition: partition.partition, producer)
    }
    producer.close()
    let admin = try fixture.admin()
    #expect(try admin.availableWatermarks(topics: ["t"]).watermarks.count == 6)
    try fixture.broker.setDown(broker: 2)
    let start = ContinuousClock.now
    let answers = try admin.availableWatermarks(
      topics: ["t", "nowhere"], timeoutMilliseconds: 2_000)
    // The bound is 2 s; leave room for a busy machine. One by one, the requests take a minute or
    // more.
    #expect(ContinuousClock.now - start < .seconds(20))
    #expect(answers.topics == ["t": 6])
    #expect(Set(answers.unanswered.keys) == [partitions[1], partitions[4]])
    #expect(
      answers.watermarks.mapValues(\.high) == [
        partitions[0]: 1, partitions[2]: 3, partitions[3]: 4, partitions[5]: 6,
      ])
    #expect(throws: KafkaError.self) {
      try admin.watermarks(topics: ["t"], timeoutMilliseconds: 500)
    }
    // Another leader takes over.
    for partition in [partitions[1], partitions[4]] {
      try fixture.broker.moveLeader(partition, to: 3)
    }
    #expect(
      try admin.watermarks(topics: ["t"], timeoutMilliseconds: 60_000).mapValues(\.high).values
        .sorted() == [1, 2, 3, 4, 5, 6])
  }

  @Test("every request to a cluster that is down is bounded")
  func clusterDown() throws {
    let fixture = try Fixture()
    let admin = try fixture.admin()
    let partition = TopicPartition(topic: "t", partition: 0)
    #expect(try admin.watermarks(partition).high == 0)
    try fixture.broker.setDown()
    let start = ContinuousClock.now
    #expect(throws: KafkaError.self) { try admin.topics(timeoutMilliseconds: 500) }
    #expect(throws: KafkaError.self) { try admin.watermarks(partition, timeoutMilliseconds: 500) }
    #expect(throws: KafkaError.self) {
      try admin.offset(of: partition, atOrAfterMilliseconds: 1, timeoutMilliseconds: 500)
    }
    #expect(throws: KafkaError.self) {
      try admin.committedOffsets(group: "g", [partition], timeoutMilliseconds: 500)
    }
    #expect(throws: KafkaError.self) {
      try admin.createTopics([NewTopic(name: "n", partitions: 1)], timeoutMilliseconds: 500)
    }
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test("partitions without a commit are missing from the committed offsets")
  func noCommit() throws {
    let fixture = try Fixture()
    let partition = TopicPartition(topic: "t", partition: 0)
    #expect(try fixture.admin().committedOffsets(group: "none", [partition]) == [:])
  }

  @Test("offsets by time are correct although the embedded broker does not support them")
  func offsetsByTime() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    let start: Int64 = 1_700_000_000_000
    try producer.send(
      (0..<20).map {
        OutgoingRecord(
          topic: "t", partition: 0, key: nil, value: nil,
          timestampMilliseconds: start + Int64($0) * 1_000)
      })
    let admin = try fixture.admin()
    let partition = TopicPartition(topic: "t", partition: 0)
    for (time, offset) in [(start - 1, 0), (start, 0), (start + 6_500, 7), (start + 19_001, 20)] {
      #expect(try admin.offset(of: partition, atOrAfterMilliseconds: time) == Int64(offset))
    }
    producer.close()
  }

  @Test("the first record at or after a time is found although earlier ones follow it")
  func decreasingTimes() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    let start: Int64 = 1_700_000_000_000
    try producer.send(
      ([100, 10, 20, 30] as [Int64]).map {
        OutgoingRecord(
          topic: "t", partition: 0, key: nil, value: nil,
          timestampMilliseconds: start + $0 * 1_000)
      })
    let partition = TopicPartition(topic: "t", partition: 0)
    #expect(
      try fixture.admin().offset(of: partition, atOrAfterMilliseconds: start + 50_000) == 0)
    producer.close()
  }

  @Test("the end of a log has no first record, without waiting for one")
  func noFirstRecord() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try fixture.fill(3, producer)
    let partition = TopicPartition(topic: "t", partition: 0)
    let admin = try fixture.admin()
    let deadline = Deadline(milliseconds: Int(hangLimitSeconds * 1_000))
    #expect(try admin.firstRecord(of: partition, from: 2, below: 3, deadline)?.offset == 2)
    #expect(try admin.firstRecord(of: partition, from: 3, below: 4, deadline) == nil)
    producer.close()
  }

  @Test("a property that exactly-once depends on cannot be overridden")
  func fixedProperties() throws {
    let fixture = try Fixture()
    let refusal = #expect(throws: KafkaError.self) {
      _ = try fixture.producer(["acks": "1"])
    }
    #expect(refusal?.message.contains("acks=1") == true)
    let unknown = #expect(throws: KafkaError.self) {
      _ = try fixture.producer(["no.such.thing": "1"])
    }
    #expect(unknown?.message.contains("no.such.thing") == true)
    #expect(throws: KafkaError.self) { _ = try Admin(configuration: .init(bootstrap: "")) }
  }
}
