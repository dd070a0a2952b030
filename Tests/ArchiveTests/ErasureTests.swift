import Dispatch
import Foundation
import Kafka
import RecordLog
import Synchronization
import TestSupport
import Testing

@testable import Archive

@Suite("An erasure leaves a valid archive without the person, whenever it dies")
struct ErasureTests {
  private static let name = Array("anneliese-42".utf8)

  /// Erases records whose key is the name; of those with the name in their value, the rest stays.
  private static func remainder(_ record: Record) -> Record? {
    var left = record
    if record.key == name {
      left.wire = .erased
    } else if record.value?.starts(with: name) ?? false {
      left.value?.removeFirst(name.count)
    } else {
      return nil
    }
    return left
  }

  /// What readers of the erased archive get.
  private func expected(_ records: [TopicPartition: [Record]]) -> [TopicPartition: [Record]] {
    records.mapValues { records in
      records.map { Self.remainder($0) ?? $0 }.filter { !$0.wire.isErased }
    }.filter { !$0.value.isEmpty }
  }

  private func randomRecords(
    _ partition: TopicPartition, _ offsets: Range<Int64>, _ random: inout SeededGenerator
  ) -> [Record] {
    offsets.map { offset in
      var record = randomRecord(partition, offset: offset, &random)
      switch Int.random(in: 0..<12, using: &random) {
      case 0: record.key = Self.name
      case 1: record.value = Self.name + (record.value ?? [])
      default: break
      }
      return record
    }
  }

  /// An archive of several segments, or of more than a page of them.
  private func archive(segments: Int, _ random: inout SeededGenerator) throws
    -> (ArchiveDirectory, [TopicPartition: [Record]])
  {
    let directory = try ArchiveDirectory()
    let partitions = [place("a", 0), place("a", 1), place("b", 0)]
    var records: [TopicPartition: [Record]] = [:]
    let writer = try directory.writer()
    try writer.begin(Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
    for segment in 0..<Int64(segments) {
      let count: Int64 = segments > 100 ? 2 : 40
      for partition in partitions {
        let new = randomRecords(partition, segment * count..<(segment + 1) * count, &random)
        records[partition, default: []] += new
        for record in new { try writer.append(record) }
      }
      try writer.flush()
    }
    return (directory, records)
  }

  /// Whether any file, decompressed, has the name.
  private func isNamed(_ directory: ArchiveDirectory) throws -> Bool {
    for key in try directory.files {
      let bytes = try directory.bytes(key)
      var parts = [bytes]
      if key.hasPrefix("segments/") {
        for (_, block) in try SegmentFile(bytes, file: key).blocks {
          let compressed = bytes[block.position..<block.position + block.byteCount]
          parts.append(try Zstandard.decompress(compressed, to: block.rawByteCount))
        }
      }
      for part in parts where Data(part).range(of: Data(Self.name)) != nil { return true }
    }
    return false
  }

  private func check(
    _ directory: ArchiveDirectory, _ records: [TopicPartition: [Record]], isErased: Bool
  ) throws {
    let verification = try ArchiveVerification(directory.storage)
    #expect(verification.findings == [])
    #expect(verification.records == records.values.reduce(0) { $0 + Int64($1.count) })
    let log = ArchiveLog(try directory.storage)
    let spans = try log.spans(of: ["a", "b"])
    #expect(
      spans == records.mapValues { ($0.first?.offset ?? 0)..<($0.last?.offset ?? -1) + 1 })
    guard isErased else { return }
    #expect(verification.unlisted == [])
    #expect(try log.all(spans) == expected(records))
    #expect(try !isNamed(directory))
  }

  @Test("offsets, counts and checksums stay, no byte of the person does", arguments: [7, 300])
  func erases(segments: Int) throws {
    var random = SeededGenerator()
    let (directory, records) = try archive(segments: segments, &random)
    let before = try Manifest(of: directory.storage)
    #expect(try isNamed(directory))
    let erasure = try ArchiveErasure(directory.storage, remainder: Self.remainder)
    try check(directory, records, isErased: true)
    let all = records.values.joined()
    #expect(erasure.erasedRecords == Int64(all.count { $0.key == Self.name }))
    #expect(erasure.changedRecords > 0 && erasure.segments == segments)
    let after = try Manifest(of: directory.storage)
    #expect(after.partitions == before.partitions && after.writer == before.writer)
    #expect(after.pages.map(\.segments) == before.pages.map(\.segments))
    #expect(after.pages.map(\.minTime) == before.pages.map(\.minTime))
    #expect(after.segments.map(\.spans) == before.segments.map(\.spans))
    // A second time, nothing is left to do.
    let again = try ArchiveErasure(directory.storage, remainder: Self.remainder)
    #expect(again.replacedSegments == 0 && again.deletedFiles == 0)
    #expect(try Manifest(of: directory.storage) == after)
    // A writer continues, and takes no file for a leftover.
    _ = try directory.writer()
    try check(directory, records, isErased: true)
  }

  @Test("killed before or after any step, and run again", arguments: [4, 258])
  func dies(segments: Int) throws {
    var random = SeededGenerator()
    let (directory, records) = try archive(segments: segments, &random)
    var steps = 0
    var isDone = false
    while !isDone {
      let storage = DyingStorage(try directory.storage, after: steps / 2, isDone: steps % 2 == 1)
      do {
        _ = try ArchiveErasure(storage, remainder: Self.remainder)
        isDone = true
      } catch is Died {}
      try check(directory, records, isErased: isDone)
      if steps % 3 == 0 { _ = try directory.writer() }
      steps += segments > 100 ? Int.random(in: 1...40, using: &random) : 1
    }
    #expect(steps > 4)
  }

  @Test("beside a writer that adds segments and pages, and readers", arguments: 0..<2)
  func concurrent(_: Int) async throws {
    var random = SeededGenerator()
    let (directory, before) = try archive(segments: 240, &random)
    let more = randomRecords(place("b", 0), 480..<560, &random)
    let path = directory.path
    let isOver = Mutex(false)
    let problems = Mutex<[String]>([])
    let group = DispatchGroup()
    let run = { @Sendable (body: @escaping @Sendable (DirectoryStorage) throws -> Void) in
      group.runOnOwnThread {
        do {
          try body(DirectoryStorage(path))
        } catch {
          problems.withLock { $0.append("\(error)") }
        }
      }
    }
    run { storage in
      var isLast = false
      while !isLast {
        isLast = isOver.withLock { $0 }
        _ = try ArchiveErasure(storage, remainder: Self.remainder)
      }
    }
    run { storage in
      while !isOver.withLock({ $0 }) {
        let log = ArchiveLog(storage)
        _ = try log.all(log.spans(of: ["a", "b"]))
        let findings = try ArchiveVerification(storage).findings
        if !findings.isEmpty { problems.withLock { $0.append("\(findings)") } }
      }
    }
    run { storage in
      defer { isOver.withLock { $0 = true } }
      let writer = try ArchiveWriter(storage)
      for record in more {
        try writer.append(record)
        try writer.flush()
      }
    }
    await withCheckedContinuation { done in group.notify(queue: .global()) { done.resume() } }
    #expect(problems.withLock { $0 } == [])
    var records = before
    records[place("b", 0), default: []] += more
    try check(directory, records, isErased: true)
  }

  @Test("a reader that began before the erasure reads to the end")
  func reader() throws {
    var random = SeededGenerator()
    let (directory, records) = try archive(segments: 300, &random)
    var read: [TopicPartition: [Record]] = [:]
    var isErased = false
    let log = ArchiveLog(try directory.storage)
    try log.read(log.spans(of: ["a", "b"]), maxRecords: 10) { batch in
      for record in batch.records { read[record.topicPartition, default: []].append(record) }
      guard !isErased else { return }
      _ = try ArchiveErasure(directory.storage, remainder: Self.remainder)
      isErased = true
    }
    let left = read.mapValues { $0.compactMap { Self.remainder($0) ?? $0 } }
      .mapValues { $0.filter { !$0.wire.isErased } }
    #expect(left == expected(records))
  }

  @Test(
    "under a manifest from before an earlier erasure, an erasure and a writer delete nothing",
    arguments: [7, 300])
  func olderManifest(segments: Int) throws {
    var random = SeededGenerator()
    let (directory, records) = try archive(segments: segments, &random)
    let older = try directory.bytes("manifest")
    _ = try ArchiveErasure(directory.storage, remainder: Self.remainder)
    let newest = try directory.bytes("manifest")
    try directory.write("manifest", older)
    let files = try directory.files
    let erasing = #expect(throws: ArchiveError.self) {
      try ArchiveErasure(directory.storage, remainder: Self.remainder)
    }
    let writing = #expect(throws: ArchiveError.self) { try directory.writer() }
    #expect(erasing?.code == .damaged && writing?.code == .damaged)
    #expect(erasing?.message.contains("restore the newest manifest") == true)
    #expect(try directory.files == files)
    #expect(try directory.bytes("manifest") == older)
    try directory.write("manifest", newest)
    _ = try ArchiveErasure(directory.storage, remainder: Self.remainder)
    try check(directory, records, isErased: true)
  }

  @Test("one at a time")
  func lock() throws {
    let directory = try ArchiveDirectory()
    let first = try directory.storage.lockForErasing()
    let error = #expect(throws: ArchiveError.self) { try directory.storage.lockForErasing() }
    #expect(error?.code == .locked)
    withExtendedLifetime(first) {}
  }
}

/// Thrown instead of a step, or after it, as if the process died there.
private struct Died: Error {}

/// Confined to the test's thread.
private final class DyingStorage: ArchiveStorage, @unchecked Sendable {
  private let storage: DirectoryStorage
  private var steps: Int
  private let isDone: Bool

  /// - Parameters:
  ///   - steps: that change something, before the one at which it dies.
  ///   - isDone: whether that one takes effect.
  init(_ storage: DirectoryStorage, after steps: Int, isDone: Bool) {
    (self.storage, self.steps, self.isDone) = (storage, steps, isDone)
  }

  private func dying<T>(_ step: () throws -> T) throws -> T {
    defer { steps -= 1 }
    guard steps <= 0 else { return try step() }
    if steps == 0, isDone { _ = try step() }
    throw Died()
  }

  func put(_ key: String, _ bytes: [UInt8]) throws { try dying { try storage.put(key, bytes) } }
  func get(_ key: String, maxByteCount: Int) throws -> [UInt8] {
    try storage.get(key, maxByteCount: maxByteCount)
  }
  func list(_ prefix: String) throws -> [String: Int] { try storage.list(prefix) }
  func delete(_ key: String) throws { try dying { try storage.delete(key) } }
  func replace(_ key: String, _ bytes: [UInt8], ifStill before: [UInt8]?) throws -> Bool {
    try dying { try storage.replace(key, bytes, ifStill: before) }
  }
}
