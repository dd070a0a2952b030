import Crypto
import Foundation
import Kafka
import TestSupport
import Testing

@testable import Archive

/// Malformed bytes with valid checksums, which decoders must survive although no accident produces
/// them.
@Suite("Decoders survive any bytes")
struct DecoderFuzzTests {
  private func segment() throws -> [UInt8] {
    var random = SeededGenerator(seed: 5)
    var builder = SegmentBuilder()
    for offset in 0..<30 as Range<Int64> {
      try builder.append(randomRecord(place("a", 0), offset: offset, &random), after: offset)
      try builder.append(randomRecord(place("b", 1), offset: offset, &random), after: offset)
    }
    return try builder.finish().bytes
  }

  /// Decodes everything; invalid input must throw.
  private func decode(_ bytes: [UInt8]) -> Bool {
    do {
      let file = try SegmentFile(bytes, file: "segments/1")
      for (partition, block) in file.blocks {
        let records = try block.records(of: partition, in: bytes, file: "segments/1")
        #expect(records.allSatisfy { block.offsets.contains($0.offset) })
      }
      return true
    } catch let error as ArchiveError {
      #expect(error.code == .damaged)
    } catch {
      Issue.record("\(error)")
    }
    return false
  }

  private func mutated(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
      let position = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: bytes[position] = .random(in: 0...255, using: &random)
      case 1: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 2: bytes.remove(at: position)
      case 3: bytes.insert(.random(in: 0...255, using: &random), at: position)
      default: bytes[position] = 255
      }
    }
    return bytes
  }

  @Test("random bytes")
  func noise() {
    var random = SeededGenerator()
    for _ in 0..<1_000 {
      let bytes = (0..<Int.random(in: 0...300, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      #expect(!decode(bytes))
      #expect(!decode(SegmentFile.opening + bytes + SegmentFile.closing))
    }
  }

  @Test("a modified footer with a valid checksum")
  func footers() throws {
    var random = SeededGenerator()
    let whole = try segment()
    let trailer = whole.count - SegmentFile.trailerByteCount
    let length = whole[trailer..<trailer + 4].reduce(0) { $0 << 8 | Int($1) }
    let footer = Array(whole[trailer - length..<trailer])
    for _ in 0..<1_500 {
      let changed = mutated(footer, &random)
      let size = withUnsafeBytes(of: UInt32(changed.count).bigEndian) { Array($0) }
      _ = decode(
        Array(whole[..<(trailer - length)]) + changed + size + sha256(changed)
          + SegmentFile.closing)
    }
  }

  @Test("modified records with a valid checksum, and a valid frame of the wrong length")
  func blocks() throws {
    var random = SeededGenerator()
    let whole = try segment()
    let file = try SegmentFile(whole, file: "")
    let (partition, original) = try #require(file.blocks.first)
    let frame = whole[original.position..<original.position + original.byteCount]
    let raw = try Zstandard.decompress(frame, to: original.rawByteCount)
    for _ in 0..<1_500 {
      let changed = mutated(raw, &random)
      let compressed =
        Bool.random(using: &random)
        ? try Zstandard.compress(changed) : mutated(Array(frame), &random)
      var block = original
      block.position = 0
      block.byteCount = compressed.count
      if Bool.random(using: &random) { block.rawByteCount = changed.count }
      block.checksum = sha256(compressed)
      do {
        let records = try block.records(of: partition, in: compressed, file: "f")
        #expect(records.count == block.recordCount)
      } catch let error as ArchiveError {
        #expect(error.code == .damaged && error.file == "f")
      }
    }
  }

  @Test("a frame that claims to be huge allocates nothing")
  func bomb() throws {
    let zeros = try Zstandard.compress([UInt8](repeating: 0, count: 64 << 20))
    #expect(throws: Malformed.self) { try Zstandard.decompress(zeros[...], to: 1_000) }
    // A footer that lists it as a block of many records is rejected before decompression.
    let block = Block(
      position: 8, byteCount: zeros.count, rawByteCount: 64 << 20, offsets: 0..<12_000_000,
      recordCount: 12_000_000, times: 0...0, checksum: sha256(zeros))
    let bytes = SegmentFile.opening + zeros + SegmentFile(blocks: [(place("a", 0), block)]).ending
    #expect(throws: ArchiveError.self) { try SegmentFile(bytes, file: "f") }
  }

  @Test("a modified manifest with a valid checksum")
  func manifests() throws {
    var random = SeededGenerator()
    let directory = try ArchiveDirectory()
    let writer = try directory.writer()
    try writer.begin([place("a", 0): 0])
    for offset in 0..<3 as Range<Int64> {
      try writer.append(randomRecord(place("a", 0), offset: offset, &random))
      try writer.flush()
    }
    try writer.acceptGap(place("a", 0), upTo: 9)
    let whole = try directory.bytes("manifest")
    let start = try #require(whole.firstIndex(of: 10)) + 1
    for _ in 0..<700 {
      let body = mutated(Array(whole[start...]), &random)
      let line = "magpie-archive-manifest 1 \(hex(sha256(body)))\n"
      try directory.write("manifest", Array(line.utf8) + body)
      do {
        let log = ArchiveLog(try directory.storage)
        _ = try? log.offsets(at: 0, in: log.spans(of: ["a"]))
        _ = try log.all(log.spans(of: ["a"]))
      } catch {
        // Any error will do, as opposed to a crash.
      }
      _ = try ArchiveVerification(directory.storage)
    }
  }

  @Test(
    "names in a manifest cannot leave the archive",
    arguments: ["segments/../lock", "/etc/passwd", "segments/a/b", "segments/\0", "pages/1", ""])
  func paths(name: String) throws {
    let directory = try ArchiveDirectory()
    let writer = try directory.writer()
    try writer.begin([place("a", 0): 0])
    var random = SeededGenerator(seed: 1)
    try writer.append(randomRecord(place("a", 0), offset: 0, &random))
    try writer.flush()
    var manifest = writer.manifest
    manifest.segments[0].file.name = name
    try directory.write("manifest", manifest.encoded)
    let error = #expect(throws: ArchiveError.self) { try Manifest(of: directory.storage) }
    #expect(error?.code == .damaged)
  }
}
