import Foundation
import Kafka
import Testing

@Suite("Records round-trip unchanged")
struct RoundTripTests {
  @Test("null, empty and binary keys, values and headers round-trip")
  func shapes() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    let binary = (0...255).map { UInt8($0) }
    let sent = [
      OutgoingRecord(topic: "t", partition: 0, key: nil, value: nil),
      OutgoingRecord(topic: "t", partition: 0, key: [], value: []),
      OutgoingRecord(
        topic: "t", partition: 0, key: binary, value: binary,
        headers: [
          Header(name: "b", value: binary), Header("a", "1"), Header(name: "a", value: []),
          Header(name: "a", value: nil), Header("까치", "🐦"), Header(name: "", value: [0]),
        ], timestampMilliseconds: 1_347_607_801_234),
    ]
    let deliveries = try producer.send(sent)
    #expect(deliveries.map(\.offset) == [0, 1, 2])
    let consumer = try fixture.consumer()
    let records = try consumer.read(3)
    try #require(records.count == 3)
    for (record, original) in zip(records, sent) {
      #expect(record.key == original.key)
      #expect(record.value == original.value)
      #expect(record.headers == original.headers)
    }
    #expect(records[2].timestampMilliseconds == 1_347_607_801_234)
    #expect(records[2].byteCount == sent[2].byteCount)
    consumer.close()
    producer.close()
  }

  @Test("headers that librdkafka cannot read, more than 100,000, are not taken for none")
  func unreadableHeaders() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try producer.send(
      [100_000, 100_001].map { count in
        OutgoingRecord(
          topic: "t", partition: 0, key: nil, value: [1],
          headers: Array(repeating: Header(name: "", value: nil), count: count))
      })
    let consumer = try fixture.consumer()
    let headers = try consumer.read(2).map(\.headers)
    #expect(headers.first?.count == 100_000)
    #expect(headers.last == [Header(name: "magpie_unreadable_headers", value: nil)])
    consumer.close()
    producer.close()
  }

  @Test("a key goes to the partition that the Java client chooses")
  func murmur2() throws {
    let fixture = try Fixture(partitions: 7)
    let producer = try fixture.producer()
    // Hashes from librdkafka's and Kafka's own tests.
    let hashes: [(String, UInt32)] = [
      ("kafka", 0xd067_cf64), ("giberish123456789", 0x8f55_2b0c), ("1234", 0x9fc9_7b14),
      ("234", 0xe7c0_09ca), ("34", 0x8739_30da), ("4", 0x5a4b_5ca1), ("", 0x106e_08d9),
    ]
    let deliveries = try producer.send(
      hashes.map { OutgoingRecord(topic: "t", key: Array($0.0.utf8), value: nil) })
    #expect(deliveries.map(\.partition) == hashes.map { Int32(($0.1 & 0x7fff_ffff) % 7) })
    producer.close()
  }

  @Test("kcat reads produced records", .enabled(if: hasKcat))
  func kcatReads() throws {
    let fixture = try Fixture()
    let producer = try fixture.producer()
    try producer.send([
      OutgoingRecord(
        topic: "t", partition: 0, key: Array("민지".utf8), value: Array("hello".utf8),
        headers: [Header("ce_id", "1"), Header("x", "y")])
    ])
    let (output, status) = try run(
      "kcat",
      ["-b", fixture.broker.bootstrap, "-C", "-t", "t", "-p", "0", "-o", "0", "-c", "1"]
        + ["-f", "%k|%s|%h\\n"])
    #expect(status == 0)
    #expect(output == "민지|hello|ce_id=1,x=y\n")
    producer.close()
  }

  @Test("the consumer reads what kcat produces", .enabled(if: hasKcat))
  func kcatWrites() throws {
    let fixture = try Fixture()
    let (_, status) = try run(
      "kcat",
      ["-b", fixture.broker.bootstrap, "-P", "-t", "t", "-k", "bob", "-H", "a=1", "-H", "a=2"],
      input: "{\"a\": 1}\n")
    #expect(status == 0)
    let consumer = try fixture.consumer()
    let record = try #require(try consumer.read(1).first)
    #expect(record.key == Array("bob".utf8))
    #expect(record.value == Array("{\"a\": 1}".utf8))
    #expect(record.headers == [Header("a", "1"), Header("a", "2")])
    consumer.close()
  }
}
