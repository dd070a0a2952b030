import Foundation
import Kafka
import RecordLog
import Synchronization
import TestSupport
import Testing

@testable import Archive

@Suite("A single writer loses and duplicates nothing, whatever step fails")
struct WriterTests {
  @Test("a second process is rejected while the first is alive")
  func lock() throws {
    let directory = try ArchiveDirectory()
    let first = try directory.storage.lockForWriting()
    let error = #expect(throws: ArchiveError.self) { try directory.storage.lockForWriting() }
    #expect(error?.code == .locked)
    withExtendedLifetime(first) {}
  }

  @Test("a lock is released with its owner")
  func unlock() throws {
    let directory = try ArchiveDirectory()
    do {
      let first = try directory.storage.lockForWriting()
      withExtendedLifetime(first) {}
    }
    _ = try directory.storage.lockForWriting()
  }

  @Test("an overtaken writer cannot write its buffered records")
  func fence() throws {
    var random = SeededGenerator(seed: 7)
    let directory = try ArchiveDirectory()
    let partition = place("a", 0)
    let records = (0..<30).map { randomRecord(partition, offset: $0, &random) }
    let paused = try directory.writer()
    try paused.begin([partition: 0])
    for record in records[..<10] { try paused.append(record) }
    try paused.flush()
    for record in records[10..<20] { try paused.append(record) }
    // Pauses here while another writer starts.
    let second = try directory.writer()
    for _ in 0..<2 {
      let error = #expect(throws: ArchiveError.self) { try paused.flush() }
      #expect(error?.code == .fenced)
    }
    for record in records[10...] { try second.append(record) }
    try second.flush()
    #expect(throws: ArchiveError.self) { try paused.acceptGap(partition, upTo: 100) }
    let log = ArchiveLog(try directory.storage)
    #expect(try log.all(log.spans(of: ["a"])) == [partition: records])
    let verification = try ArchiveVerification(directory.storage)
    #expect(verification.findings == [])
  }

  @Test("of two writers that replace the manifest concurrently, one wins")
  func race() async throws {
    let directory = try ArchiveDirectory()
    try directory.writer().begin([place("a", 0): 0])
    let storage = try directory.storage
    for round in 0..<20 as Range<UInt8> {
      let before = try directory.bytes("manifest")
      let wins = try await withThrowingTaskGroup(of: Bool.self) { group in
        for writer in 0..<4 as Range<UInt8> {
          group.addTask { try storage.replace("manifest", [round, writer], ifStill: before) }
        }
        return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(wins == 1)
    }
  }

  @Test(
    "any step may fail, before or after taking effect, and the same writer continues",
    arguments: 0..<3)
  func failingSteps(_: Int) throws {
    var random = SeededGenerator()
    let directory = try ArchiveDirectory()
    let storage = FailingStorage(try directory.storage, random: random)
    let partition = place("a", 0)
    let records = (0..<800).map { randomRecord(partition, offset: $0, &random) }
    var writer: ArchiveWriter?
    while writer == nil { writer = try? ArchiveWriter(storage) }
    while writer?.nextOffset(of: partition) == nil {
      do {
        try writer?.begin([partition: 0])
      } catch let error as ArchiveError where error.code == .fenced {
        writer = try? ArchiveWriter(storage)
      } catch {}
    }
    while let next = writer?.nextOffset(of: partition), next < 800 || writer?.isDirty == true {
      let count = Int64.random(in: 1...4, using: &random)
      for record in records[Int(next)..<Int(min(800, next + count))] { try writer?.append(record) }
      do {
        try writer?.flush()
      } catch let error as ArchiveError {
        #expect(error.code == .system(ENOSPC))
        // Sometimes the process dies here and another starts.
        if Int.random(in: 0..<4, using: &random) == 0 {
          writer = nil
          while writer == nil { writer = try? ArchiveWriter(storage) }
        }
      }
    }
    let log = ArchiveLog(try directory.storage)
    #expect(try log.all(log.spans(of: ["a"])) == [partition: records])
    let verification = try ArchiveVerification(directory.storage)
    #expect(verification.findings == [])
    // The next start removes the leftovers.
    _ = try directory.writer()
    #expect(try ArchiveVerification(directory.storage).unlisted == [])
  }

  @Test(
    "a writer that takes over concurrently with another deletes none of its files",
    arguments: Step.allCases)
  private func takenOverMeanwhile(_ step: Step) throws {
    var random = SeededGenerator(seed: 11)
    let directory = try ArchiveDirectory()
    let partition = place("a", 0)
    let records = (0..<20).map { randomRecord(partition, offset: $0, &random) }
    let first = try directory.writer()
    try first.begin([partition: 0])
    for record in records[..<10] { try first.append(record) }
    try first.flush()
    let storage = PausingStorage(try directory.storage, after: step) {
      let other = try directory.writer()
      for record in records[10...] { try other.append(record) }
      try other.flush()
    }
    if step == .replace {
      _ = try ArchiveWriter(storage)
    } else {
      let error = #expect(throws: ArchiveError.self) { try ArchiveWriter(storage) }
      #expect(error?.code == .fenced)
    }
    let log = ArchiveLog(try directory.storage)
    #expect(try log.all(log.spans(of: ["a"])) == [partition: records])
    #expect(try ArchiveVerification(directory.storage).findings == [])
  }

  @Test("a dead writer's leftovers are removed, and all other files stay")
  func leftovers() throws {
    var random = SeededGenerator(seed: 9)
    let directory = try ArchiveDirectory()
    let writer = try directory.writer()
    try writer.begin([place("a", 0): 0])
    try writer.append(randomRecord(place("a", 0), offset: 0, &random))
    try writer.flush()
    let listed = try directory.files
    let left = ["segments/0000000000000004-00", "segments/x.tmp", "manifest.tmp"]
    for name in left + ["notes.txt"] { try directory.write(name, [1, 2, 3]) }
    #expect(try ArchiveVerification(directory.storage).unlisted == (left + ["notes.txt"]).sorted())
    _ = try directory.writer()
    #expect(try directory.files == (listed + ["notes.txt"]).sorted())
  }

  @Test("a manifest that is older than its segments is refused, and nothing is deleted")
  func olderManifest() throws {
    var random = SeededGenerator(seed: 13)
    let directory = try ArchiveDirectory()
    let writer = try directory.writer()
    try writer.begin([place("a", 0): 0])
    let older = try directory.bytes("manifest")
    for offset in 0..<2 as Range<Int64> {
      try writer.append(randomRecord(place("a", 0), offset: offset, &random))
      try writer.flush()
    }
    let newest = try directory.bytes("manifest")
    #expect(try ArchiveVerification(directory.storage).findings == [])
    try directory.write("manifest", older)
    let files = try directory.files
    let error = #expect(throws: ArchiveError.self) { try directory.writer() }
    #expect(error?.code == .damaged)
    #expect(error?.message.contains("restore the newest manifest") == true)
    #expect(try directory.files == files)
    #expect(try directory.bytes("manifest") == older)
    let findings = try ArchiveVerification(directory.storage).findings
    #expect(findings.map(\.what) == [error?.message ?? ""] && findings[0].file == "manifest")
    try directory.write("manifest", newest)
    _ = try directory.writer()
    #expect(try directory.files == files)
  }
}

private enum Step: CaseIterable { case get, list, replace }

/// Runs an action once, after a given step. Confined to the test's thread.
private final class PausingStorage: ArchiveStorage, @unchecked Sendable {
  private let storage: DirectoryStorage
  private let step: Step
  private var pause: (() throws -> Void)?

  init(_ storage: DirectoryStorage, after step: Step, _ pause: @escaping () throws -> Void) {
    self.storage = storage
    self.step = step
    self.pause = pause
  }

  private func after<T>(_ step: Step, _ result: T) throws -> T {
    guard step == self.step, let pause else { return result }
    self.pause = nil
    try pause()
    return result
  }

  func put(_ key: String, _ bytes: [UInt8]) throws { try storage.put(key, bytes) }
  func get(_ key: String, maxByteCount: Int) throws -> [UInt8] {
    try after(.get, storage.get(key, maxByteCount: maxByteCount))
  }
  func list(_ prefix: String) throws -> [String: Int] { try after(.list, storage.list(prefix)) }
  func delete(_ key: String) throws { try storage.delete(key) }
  func replace(_ key: String, _ bytes: [UInt8], ifStill before: [UInt8]?) throws -> Bool {
    try after(.replace, storage.replace(key, bytes, ifStill: before))
  }
}

/// Fails half of its steps, some before and some after taking effect.
private final class FailingStorage: ArchiveStorage {
  private let storage: DirectoryStorage
  private let random: Mutex<SeededGenerator>

  init(_ storage: DirectoryStorage, random: SeededGenerator) {
    self.storage = storage
    self.random = Mutex(random)
  }

  private func failing<T>(_ step: () throws -> T) throws -> T {
    let fate = random.withLock { Int.random(in: 0..<4, using: &$0) }
    if fate == 0 { throw ArchiveError(.system(ENOSPC), "before") }
    let result = try step()
    if fate == 1 { throw ArchiveError(.system(ENOSPC), "after") }
    return result
  }

  func put(_ key: String, _ bytes: [UInt8]) throws {
    try failing { try storage.put(key, bytes) }
  }
  func get(_ key: String, maxByteCount: Int) throws -> [UInt8] {
    try storage.get(key, maxByteCount: maxByteCount)
  }
  func list(_ prefix: String) throws -> [String: Int] { try storage.list(prefix) }
  func delete(_ key: String) throws { try failing { try storage.delete(key) } }
  func replace(_ key: String, _ bytes: [UInt8], ifStill before: [UInt8]?) throws -> Bool {
    try failing { try storage.replace(key, bytes, ifStill: before) }
  }
}
