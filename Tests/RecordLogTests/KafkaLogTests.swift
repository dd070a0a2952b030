import Kafka
import RecordLog
import TestSupport
import Testing

@Suite("The log in Kafka")
struct KafkaLogTests {
  @Test("every record of the spans is read once, in order and unchanged")
  func everything() throws {
    let fixture = try Fixture(topics: ["a": 2, "b": 1, "empty": 1])
    let sent = [
      place("a", 0): try fixture.fill("a", 0, 700), place("a", 1): try fixture.fill("a", 1, 30),
      place("b", 0): try fixture.fill("b", 0, 5),
    ]
    let log = try fixture.log()
    let spans = try log.spans(of: ["a", "b", "empty"])
    #expect(
      spans == [
        place("a", 0): 0..<700, place("a", 1): 0..<30, place("b", 0): 0..<5,
        place("empty", 0): 0..<0,
      ])
    var read: [TopicPartition: [Record]] = [:]
    var reached: [TopicPartition: Int64] = [:]
    try log.read(spans, maxRecords: 64) { batch in
      #expect(batch.records.count <= 64)
      #expect(batch.records.allSatisfy { $0.topic == batch.topic })
      for record in batch.records { read[record.topicPartition, default: []].append(record) }
      for (partition, next) in batch.nextOffsets {
        #expect(next > reached[partition] ?? 0)
        #expect(read[partition]?.last?.offset == next - 1)
        reached[partition] = next
      }
    }
    #expect(read == sent)
    #expect(reached == spans.filter { !$0.value.isEmpty }.mapValues(\.upperBound))
    fixture.producer.close()
  }

  @Test("only the spans are read, even while the log grows", arguments: 0..<4)
  func spans(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let fixture = try Fixture(topics: ["a": 3])
    var sent: [TopicPartition: [Record]] = [:]
    var spans: [TopicPartition: Range<Int64>] = [:]
    for partition in 0..<3 as Range<Int32> {
      let records = try fixture.fill("a", partition, Int.random(in: 1...3_000, using: &random))
      let low = Int64.random(in: 0...Int64(records.count), using: &random)
      let span = low..<Int64.random(in: low...Int64(records.count), using: &random)
      spans[place("a", partition)] = span
      sent[place("a", partition)] = span.isEmpty ? nil : records.filter { span.contains($0.offset) }
    }
    var read: [TopicPartition: [Record]] = [:]
    try fixture.log().read(spans, maxRecords: 50) { batch in
      if read.isEmpty { try fixture.fill("a", 0, 200) }
      for record in batch.records { read[record.topicPartition, default: []].append(record) }
    }
    #expect(read == sent, "seed \(seed)")
    fixture.producer.close()
  }

  @Test("spans start at the log start offset, and reading before it is an error")
  func beginningGone() throws {
    let fixture = try Fixture(topics: ["a": 1])
    // The embedded broker keeps 5 MiB per partition.
    for _ in 0..<14 { try fixture.fill("a", 0, 400, bytes: 2_000) }
    let log = try fixture.log()
    let held = try #require(try log.spans(of: ["a"])[place("a", 0)])
    #expect(held.lowerBound > 0 && held.upperBound == 14 * 400)
    let asked = 0..<held.upperBound
    #expect(throws: RecordLogError.notHeld(place("a", 0), asked: asked, held: held)) {
      try log.read([place("a", 0): asked], maxRecords: 100) { _ in }
    }
    #expect(try log.all([place("a", 0): held])[place("a", 0)]?.count == held.count)
    fixture.producer.close()
  }

  @Test("reading all goes on behind records that are deleted before they are read")
  func deletedMeanwhile() throws {
    let fixture = try Fixture(topics: ["a": 1])
    for _ in 0..<6 { try fixture.fill("a", 0, 400, bytes: 2_000) }
    let log = try fixture.log(prefetching: false)
    var offsets: [Int64] = []
    try log.readAll(of: ["a"], maxRecords: 10) { batch in
      // The embedded broker keeps 5 MiB per partition.
      if offsets.isEmpty { for _ in 0..<5 { try fixture.fill("a", 0, 400, bytes: 2_000) } }
      offsets += batch.records.map(\.offset)
    }
    let low = try #require(try log.spans(of: ["a"])[place("a", 0)]).lowerBound
    #expect(low > 400 && low < 2_400)
    #expect(offsets.count < 2_400)
    #expect(offsets.suffix(Int(2_400 - low)).elementsEqual(low..<2_400))
    fixture.producer.close()
  }

  @Test("offsets beyond the end and unknown topics are errors")
  func notThere() throws {
    let fixture = try Fixture(topics: ["a": 1])
    try fixture.fill("a", 0, 3)
    let log = try fixture.log()
    #expect(throws: RecordLogError.notHeld(place("a", 0), asked: 0..<4, held: 0..<3)) {
      try log.read([place("a", 0): 0..<4], maxRecords: 100) { _ in }
    }
    #expect(throws: RecordLogError.unknownTopic("b")) { try log.spans(of: ["a", "b"]) }
    #expect(throws: RecordLogError.unknownTopic("b")) {
      try log.read([place("b", 0): 0..<1], maxRecords: 100) { _ in }
    }
    #expect(try fixture.log().all([:]) == [:])
    fixture.producer.close()
  }

  @Test("if the broker goes down during reading, the error says which offsets are missing")
  func brokerDown() throws {
    let fixture = try Fixture(topics: ["a": 1])
    try fixture.fill("a", 0, 2_000, bytes: 2_000)
    let log = try fixture.log(stallSecondsMax: 2, prefetching: false)
    let spans = try log.spans(of: ["a"])
    var count = 0
    let error = #expect(throws: RecordLogError.self) {
      try log.read(spans, maxRecords: 10) { batch in
        if count == 0 { try fixture.broker.setDown() }
        count += batch.records.count
      }
    }
    guard case .stalled(place("a", 0), Int64(count), end: 2_000, seconds: 2, _) = error else {
      Issue.record("\(String(describing: error)) after \(count) records")
      return
    }
    fixture.producer.close(withinMilliseconds: 10)
  }

  @Test("offsets by time lie within the spans")
  func byTime() throws {
    let fixture = try Fixture(topics: ["a": 2])
    let records = try fixture.fill("a", 0, 20)
    let log = try fixture.log()
    let start = try #require(records.first?.timestampMilliseconds)
    for (time, offset) in [
      (start - 1, 5), (start + 6_500, 7), (start + 9_000, 9), (start + 90_000, 15),
    ] {
      #expect(
        try log.offsets(at: time, in: [place("a", 0): 5..<15, place("a", 1): 0..<0])
          == [place("a", 0): Int64(offset), place("a", 1): 0])
    }
    fixture.producer.close()
  }

  @Test("an error from the body ends the reading")
  func bodyThrows() throws {
    struct Enough: Error {}
    let fixture = try Fixture(topics: ["a": 1])
    try fixture.fill("a", 0, 100)
    let log = try fixture.log()
    var batches = 0
    #expect(throws: Enough.self) {
      try log.read(try log.spans(of: ["a"]), maxRecords: 10) { _ in
        batches += 1
        throw Enough()
      }
    }
    #expect(batches == 1)
    fixture.producer.close()
  }
}
