import Archive
import Foundation
import Kafka
import RecordLog
import TestSupport
import Testing

@Suite("An archive returns the records that were written to it")
struct FormatTests {
  @Test("any records, in segments of any size, with any skipped offsets", arguments: 0..<3)
  func model(_: Int) throws {
    var random = SeededGenerator()
    let directory = try ArchiveDirectory()
    let partitions = [place("a", 0), place("a", 1), place("b", 0), place("empty", 3)]
    var model: [TopicPartition: [Record]] = [:]
    var writer = try directory.writer()
    var starts: [TopicPartition: Int64] = [:]
    for partition in partitions { starts[partition] = .random(in: 0...50, using: &random) }
    try writer.begin(starts)
    var next = starts
    for _ in 0..<Int.random(in: 1...12, using: &random) {
      for _ in 0..<Int.random(in: 0...600, using: &random) {
        guard let partition = partitions.dropLast().randomElement(using: &random),
          let offset = next[partition]
        else { continue }
        let skipped: Int64 = Int.random(in: 0..<10, using: &random) == 0 ? 7 : 0
        let record = randomRecord(partition, offset: offset + skipped, &random)
        next[partition] = record.offset + 1
        model[partition, default: []].append(record)
        try writer.append(record)
      }
      try writer.flush()
      if Bool.random(using: &random) { writer = try directory.writer() }
    }
    let verification = try ArchiveVerification(directory.storage)
    #expect(verification.findings == [] && verification.unlisted == [])
    let log = ArchiveLog(try directory.storage)
    let spans = try log.spans(of: ["a", "b", "empty"])
    #expect(spans.mapValues(\.upperBound) == next && spans.mapValues(\.lowerBound) == starts)
    #expect(try log.all(spans) == model)
    for _ in 0..<20 {
      var some: [TopicPartition: Range<Int64>] = [:]
      for (partition, span) in spans where Bool.random(using: &random) {
        let low = Int64.random(in: span.lowerBound...span.upperBound, using: &random)
        some[partition] = low..<Int64.random(in: low...span.upperBound, using: &random)
      }
      try compare(log, model, some, &random)
    }
  }

  private func compare(
    _ log: ArchiveLog, _ model: [TopicPartition: [Record]],
    _ spans: [TopicPartition: Range<Int64>], _ random: inout SeededGenerator
  ) throws {
    var wanted: [TopicPartition: [Record]] = [:]
    var offsets = spans.mapValues(\.upperBound)
    let time = 1_700_000_000_000 + Int64.random(in: -100...5_000, using: &random)
    for (partition, span) in spans {
      let records = (model[partition] ?? []).filter { span.contains($0.offset) }
      if !records.isEmpty { wanted[partition] = records }
      if let first = records.first(where: { $0.timestampMilliseconds >= time }) {
        offsets[partition] = first.offset
      }
    }
    let maxRecords = Int.random(in: 1...500, using: &random)
    #expect(try log.all(spans, maxRecords: maxRecords) == wanted)
    #expect(try log.offsets(at: time, in: spans) == offsets)
  }

  @Test("more segments than a page holds")
  func pages() throws {
    let directory = try ArchiveDirectory()
    let writer = try directory.writer()
    try writer.begin([place("a", 0): 0])
    var random = SeededGenerator(seed: 1)
    let records = (0..<300).map { randomRecord(place("a", 0), offset: $0, &random) }
    for record in records {
      try writer.append(record)
      try writer.flush()
    }
    #expect(writer.manifest.pages.count == 1 && writer.manifest.segmentCount == 300)
    #expect(try directory.bytes("manifest").count < 200_000)
    let verification = try ArchiveVerification(directory.storage)
    #expect(verification.findings == [] && verification.records == 300)
    let log = ArchiveLog(try directory.storage)
    #expect(try log.all(log.spans(of: ["a"]), maxRecords: 7) == [place("a", 0): records])
    #expect(try log.all([place("a", 0): 100..<280]) == [place("a", 0): Array(records[100..<280])])
  }

  @Test("records that are already archived are ignored")
  func duplicates() throws {
    let directory = try ArchiveDirectory()
    var random = SeededGenerator(seed: 2)
    let records = (0..<50).map { randomRecord(place("a", 0), offset: $0, &random) }
    var writer = try directory.writer()
    try writer.begin([place("a", 0): 0])
    for record in records[..<30] + records[10..<30] { try writer.append(record) }
    try writer.flush()
    writer = try directory.writer()
    for record in records { try writer.append(record) }
    try writer.flush()
    let log = ArchiveLog(try directory.storage)
    #expect(try log.all(log.spans(of: ["a"])) == [place("a", 0): records])
  }

  @Test("a gap is recorded, listed, and skipped only on request")
  func gap() throws {
    let directory = try ArchiveDirectory()
    var random = SeededGenerator(seed: 3)
    let partition = place("a", 0)
    let writer = try directory.writer()
    try writer.begin([partition: 0])
    let before = (0..<10).map { randomRecord(partition, offset: $0, &random) }
    let after = (25..<30).map { randomRecord(partition, offset: $0, &random) }
    for record in before { try writer.append(record) }
    try writer.flush()
    #expect(throws: ArchiveError.self) { try writer.acceptGap(partition, upTo: 10) }
    #expect(throws: ArchiveError.self) { try writer.acceptGap(place("b", 0), upTo: 10) }
    try writer.acceptGap(partition, upTo: 20)
    try writer.acceptGap(partition, upTo: 25)
    for record in after { try writer.append(record) }
    try writer.flush()
    try writer.acceptGap(partition, upTo: 40)
    let verification = try ArchiveVerification(directory.storage)
    #expect(verification.findings == [] && verification.gaps.count == 3)
    let strict = ArchiveLog(try directory.storage)
    #expect(try strict.gaps(of: ["a", "b"]) == [partition: [10..<20, 20..<25, 30..<40]])
    #expect(try strict.gaps(of: ["b"]) == [:])
    #expect(throws: RecordLogError.gap(partition, missing: 10..<20)) {
      try strict.all([partition: 0..<40])
    }
    #expect(try strict.all([partition: 3..<10]) == [partition: Array(before[3...])])
    #expect(try strict.all([partition: 25..<30]) == [partition: after])
    let lenient = ArchiveLog(try directory.storage, passesGaps: true)
    #expect(try lenient.all([partition: 0..<40]) == [partition: before + after])
    #expect(try lenient.all([partition: 12..<27]) == [partition: Array(after[..<2])])
    #expect(try lenient.all([partition: 12..<18]) == [:])
  }

  @Test("topics and offsets that it does not hold are rejected by name")
  func refusals() throws {
    let directory = try ArchiveDirectory()
    #expect(throws: ArchiveError.self) { try ArchiveLog(directory.storage).spans(of: ["a"]) }
    try directory.writer().begin([place("a", 0): 5])
    let log = ArchiveLog(try directory.storage)
    #expect(throws: RecordLogError.unknownTopic("b")) { try log.spans(of: ["a", "b"]) }
    #expect(throws: RecordLogError.notHeld(place("a", 0), asked: 4..<6, held: 5..<5)) {
      try log.all([place("a", 0): 4..<6])
    }
    #expect(try log.all([place("a", 0): 5..<5]) == [:])
  }
}
