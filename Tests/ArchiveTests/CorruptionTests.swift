import Foundation
import Kafka
import RecordLog
import TestSupport
import Testing

@testable import Archive

@Suite("A damaged file is detected, named, and never used")
struct CorruptionTests {
  /// Two partitions and five segments; optionally more than one page.
  private func archive(segments: Int = 5) throws -> (ArchiveDirectory, [TopicPartition: [Record]]) {
    var random = SeededGenerator(seed: 11)
    let directory = try ArchiveDirectory()
    let writer = try directory.writer()
    let partitions = [place("a", 0), place("b", 1)]
    try writer.begin([partitions[0]: 0, partitions[1]: 0])
    var records: [TopicPartition: [Record]] = [:]
    for segment in 0..<segments {
      for offset in 0..<(segments > 10 ? 1 : 20) as Range<Int64> {
        for partition in partitions {
          let count = Int64(segments > 10 ? 1 : 20)
          let record = randomRecord(partition, offset: Int64(segment) * count + offset, &random)
          records[partition, default: []].append(record)
          try writer.append(record)
        }
      }
      try writer.flush()
    }
    return (directory, records)
  }

  /// Reading returns every record, or throws an error that names the file.
  private func check(
    _ directory: ArchiveDirectory, _ records: [TopicPartition: [Record]], damaged key: String,
    _ how: String
  ) throws {
    let verification = try ArchiveVerification(directory.storage)
    #expect(verification.findings.contains { $0.file == key }, "\(key) \(how)")
    var read: [Record] = []
    let error = #expect(throws: ArchiveError.self, "\(key) \(how)") {
      let log = ArchiveLog(try directory.storage)
      try log.read(log.spans(of: ["a", "b"]), maxRecords: 5) { read += $0.records }
    }
    #expect(
      error?.file == key && error?.code == .damaged, "\(key) \(how): \(String(describing: error))")
    // No record of the damaged segment is returned, and earlier ones are unchanged.
    for record in read {
      #expect(records[record.topicPartition]?[Int(record.offset)] == record, "\(key) \(how)")
    }
    guard key.hasPrefix("segments/") else {
      #expect(read.isEmpty, "\(key) \(how)")
      return
    }
    let before = try directory.files.filter { $0.hasPrefix("segments/") && $0 < key }.count
    #expect(read.count <= before * 40, "\(key) \(how)")
  }

  @Test("truncated at any length, extended, empty, or missing")
  func truncation() throws {
    let (directory, records) = try archive()
    for key in try directory.files {
      let whole = try directory.bytes(key)
      var lengths = Set([0, 1, 7, 8, whole.count / 2, whole.count - 8, whole.count - 1])
      for length in stride(from: 0, to: whole.count, by: max(1, whole.count / 40)) {
        lengths.insert(length)
      }
      for length in lengths.sorted() {
        try directory.write(key, Array(whole[..<length]))
        try check(directory, records, damaged: key, "cut to \(length)")
      }
      try directory.write(key, whole + [0])
      try check(directory, records, damaged: key, "extended")
      if key != "manifest" {
        try FileManager.default.removeItem(atPath: directory.path + "/" + key)
        try check(directory, records, damaged: key, "missing")
      }
      try directory.write(key, whole)
    }
    let log = ArchiveLog(try directory.storage)
    #expect(try log.all(log.spans(of: ["a", "b"])) == records)
    #expect(try ArchiveVerification(directory.storage).findings == [])
  }

  @Test("any flipped bit in any file")
  func flips() throws {
    var random = SeededGenerator()
    let (directory, records) = try archive()
    for key in try directory.files {
      let whole = try directory.bytes(key)
      for _ in 0..<30 {
        var bytes = whole
        let position = Int.random(in: 0..<bytes.count, using: &random)
        bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        try directory.write(key, bytes)
        try check(directory, records, damaged: key, "bit flipped at \(position)")
      }
      try directory.write(key, whole)
    }
  }

  @Test("swapped segments and a damaged page")
  func swapped() throws {
    let (directory, records) = try archive()
    let keys = try directory.files.filter { $0.hasPrefix("segments/") }
    let (first, second) = (try directory.bytes(keys[0]), try directory.bytes(keys[1]))
    try directory.write(keys[0], second)
    try check(directory, records, damaged: keys[0], "swapped")
    try directory.write(keys[0], first)

    let (large, _) = try archive(segments: 260)
    let page = try #require(try large.files.first { $0.hasPrefix("pages/") })
    var bytes = try large.bytes(page)
    bytes[bytes.count / 2] ^= 4
    try large.write(page, bytes)
    #expect(try ArchiveVerification(large.storage).findings.map(\.file) == [page])
    let error = #expect(throws: ArchiveError.self) {
      try ArchiveLog(large.storage).all([place("a", 0): 0..<1])
    }
    #expect(error?.file == page)
  }

  @Test("a damaged manifest is not overwritten, and a missing one is not recreated")
  func writerRefuses() throws {
    let (directory, _) = try archive()
    let whole = try directory.bytes("manifest")
    for bytes in [[], Array(whole.dropLast()), Array("{}".utf8)] {
      try directory.write("manifest", bytes)
      #expect(throws: ArchiveError.self) { try directory.writer() }
      #expect(try directory.bytes("manifest") == bytes)
    }
    try FileManager.default.removeItem(atPath: directory.path + "/manifest")
    let error = #expect(throws: ArchiveError.self) { try directory.writer() }
    #expect(error?.code == .damaged)
  }

  @Test("a manifest whose records cannot be summed is damaged")
  func sum() throws {
    let (directory, _) = try archive()
    var manifest = try Manifest(of: directory.storage)
    manifest.partitions += (0..<2 as Range<Int32>).map {
      Manifest.Partition(topic: "c", partition: $0, first: 0, next: .max, records: .max)
    }
    try directory.write("manifest", manifest.encoded)
    let error = #expect(throws: ArchiveError.self) { try Manifest(of: directory.storage) }
    #expect(error?.code == .damaged)
  }

  @Test("verify continues after the first defect and finds them all")
  func severalFindings() throws {
    let (directory, _) = try archive()
    let keys = try directory.files.filter { $0.hasPrefix("segments/") }
    for key in [keys[1], keys[3]] {
      try directory.write(key, Array(try directory.bytes(key).dropLast(3)))
    }
    #expect(try ArchiveVerification(directory.storage).findings.map(\.file) == [keys[1], keys[3]])
  }
}
