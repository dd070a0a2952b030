import Foundation
import Kafka

/// The segments that a page lists, oldest first.
struct PageContent: Codable {
  var segments: [Manifest.Segment]
}

/// An archive's manifest and the files that it names, each checked before anything of it is used.
struct ArchiveIndex {
  var storage: any ArchiveStorage
  var manifest: Manifest

  /// Reads the present manifest. Throws `ArchiveError`.
  init(_ storage: any ArchiveStorage) throws {
    self.storage = storage
    do {
      manifest = try Manifest(storage.get(Manifest.key, maxByteCount: Manifest.byteCountMax))
    } catch let error as ArchiveError where error.code == .missing {
      throw ArchiveError(
        .missing, file: Manifest.key,
        "there is no archive here. `magpie archive run` starts one")
    }
  }

  /// Calls `body` with every segment, oldest first, until it answers false. Pages are read one at a
  /// time; those whose records are all older than `milliseconds` are not.
  func forEachSegment(
    notBefore milliseconds: Int64 = .min, _ body: (Manifest.Segment) throws -> Bool
  ) throws {
    for page in manifest.pages where page.maxTime >= milliseconds {
      for segment in try segments(of: page) where try !body(segment) { return }
    }
    for segment in manifest.segments where try !body(segment) { return }
  }

  func segments(of page: Manifest.Page) throws -> [Manifest.Segment] {
    let segments = try Checksummed(kind: "page").decode(
      PageContent.self, bytes(of: page.file), file: page.file.name
    ).segments
    for segment in segments { try segment.check(in: page.file.name) }
    guard segments.count == page.segments else {
      throw ArchiveError(
        .damaged, file: page.file.name, "it does not list \(page.segments) segments")
    }
    return segments
  }

  /// A segment's bytes and footer, once the whole file is found to be the one that was written.
  func open(_ segment: Manifest.Segment) throws -> (bytes: [UInt8], file: SegmentFile) {
    let bytes = try bytes(of: segment.file)
    let file = try SegmentFile(bytes, file: segment.file.name)
    let spans = segment.spans.map { ($0.topicPartition, $0.offsets) }
    guard file.spans == Dictionary(spans, uniquingKeysWith: { first, _ in first }),
      spans.count == file.spans.count
    else {
      throw ArchiveError(
        .damaged, file: segment.file.name, "it covers other offsets than the manifest says")
    }
    return (bytes, file)
  }

  private func bytes(of file: Manifest.File) throws -> [UInt8] {
    let bytes: [UInt8]
    do {
      bytes = try storage.get(file.name, maxByteCount: file.bytes)
    } catch let error as ArchiveError where error.code == .missing {
      throw ArchiveError(.damaged, file: file.name, "the file is missing")
    } catch let error as ArchiveError where error.code == .damaged {
      throw ArchiveError(
        .damaged, file: file.name, offset: file.bytes,
        "there should be nothing more: it is longer than it was written")
    }
    guard bytes.count == file.bytes else {
      throw ArchiveError(
        .damaged, file: file.name, offset: bytes.count,
        "it ends here, but was written with \(file.bytes) bytes")
    }
    guard hex(sha256(bytes)) == file.sha256 else {
      throw ArchiveError(
        .damaged, file: file.name, offset: damagedPlace(bytes),
        "it is not what was written: its SHA-256 is another")
    }
    return bytes
  }

  /// Where the damage is, as far as the checksums within a segment tell.
  private func damagedPlace(_ bytes: [UInt8]) -> Int? {
    guard let file = try? SegmentFile(bytes, file: "") else { return nil }
    return file.blocks.first { _, block in
      sha256(bytes[block.position..<block.position + block.byteCount]) != block.checksum
    }?.block.position
  }
}

extension Block {
  /// `records(of:in:)` with errors that name the file.
  func records(of partition: TopicPartition, in bytes: [UInt8], file: String) throws -> [Record] {
    do {
      return try records(of: partition, in: bytes)
    } catch let error as Malformed {
      throw ArchiveError(.damaged, file: file, offset: position, error.message)
    }
  }
}
