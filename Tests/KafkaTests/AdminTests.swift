import Kafka
import Testing

@Suite("Admin answers about topics and offsets")
struct AdminTests {
  @Test("topics with their partition counts, and asking creates nothing")
  func topics() throws {
    let fixture = try Fixture(partitions: 3)
    let admin = try fixture.admin()
    #expect(try admin.topics(["t", "nowhere"]) == ["t": 3])
    #expect(try admin.topics() == ["t": 3])
  }

  @Test("an embedded broker's refusal to create topics says who can")
  func unsupported() throws {
    let fixture = try Fixture()
    let error = #expect(throws: KafkaError.self) {
      try fixture.admin().createTopics(
        [NewTopic(name: "n", partitions: 1)], timeoutMilliseconds: 3_000)
    }
    #expect(error?.code == .unsupported)
    #expect(error?.message.contains("process that hosts it") == true)
  }

  @Test("watermarks of every partition")
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

  @Test("partitions without a commit are missing from the committed offsets")
  func noCommit() throws {
    let fixture = try Fixture()
    let partition = TopicPartition(topic: "t", partition: 0)
    #expect(try fixture.admin().committedOffsets(group: "none", [partition]) == [:])
  }

  @Test("offsets by time, although the embedded broker does not tell them")
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

  @Test("a property that exactly-once rests on cannot be changed")
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
