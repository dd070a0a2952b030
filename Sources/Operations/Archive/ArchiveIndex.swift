import Foundation
import Kafka

/// The segments that a page lists, oldest first.
struct PageContent: Codable {
  var segments: [Manifest.Segment]
}

/// An archive's manifest and the files that it lists. Each file is verified before use.
struct ArchiveIndex {
  var storage: any ArchiveStorage
  var manifest: Manifest

  init(_ storage: any ArchiveStorage, _ manifest: Manifest) {
    (self.storage, self.manifest) = (storage, manifest)
  }

  /// Reads the current manifest. Throws `ArchiveError`.
  init(_ storage: any ArchiveStorage) throws {
    self.storage = storage
    do {
      manifest = try Manifest(storage.get(Manifest.key, maxByteCount: Manifest.byteCountMax))
    } catch let error as ArchiveError where error.code == .missing {
      throw ArchiveError(
        .missing, file: Manifest.key,
        "there is no archive here; `magpie archive run` creates one")
    }
  }

  /// Calls `body` with each segment, oldest first, until it returns false. Reads one page at a time
  /// and skips pages whose records are all older than `milliseconds`.
  func forEachSegment(
    notBefore milliseconds: Int64 = .min, _ body: (Manifest.Segment) throws -> Bool
  ) throws {
    for page in manifest.pages where page.maxTime >= milliseconds {
      for segment in try segments(of: page) where try !body(segment) { return }
    }
    for segment in manifest.segments where try !body(segment) { return }
  }

  func segments(of page: Manifest.Page) throws -> [Manifest.Segment] {
    try open(page).segments
  }

  /// A page's segments. If an erasure has replaced the page since the manifest was read, those of
  /// its successor, which comes with them.
  func open(_ page: Manifest.Page) throws -> (page: Manifest.Page, segments: [Manifest.Segment]) {
    do {
      return (page, try read(page))
    } catch let error as ArchiveError where error.code == .missing {
      // Pages keep their number.
      let now = try ArchiveIndex(storage)
      guard let index = manifest.pages.firstIndex(of: page),
        let successor = now.manifest.pages.dropFirst(index).first, successor.file != page.file
      else { throw ArchiveError.isMissing(page.file.name) }
      return try now.open(successor)
    }
  }

  private func read(_ page: Manifest.Page) throws -> [Manifest.Segment] {
    let segments = try Checksummed(kind: "page").decode(
      PageContent.self, bytes(of: page.file), file: page.file.name
    ).segments
    for segment in segments { try segment.check(in: page.file.name) }
    guard segments.count == page.segments else {
      throw ArchiveError(
        .damaged, file: page.file.name,
        "lists \(segments.count) segments instead of \(page.segments)")
    }
    return segments
  }

  /// A segment's bytes and footer, after verifying the file's length and SHA-256. If an erasure has
  /// replaced the segment since the manifest was read, those of its successor.
  func open(_ segment: Manifest.Segment) throws -> (bytes: [UInt8], file: SegmentFile) {
    do {
      return try read(segment)
    } catch let error as ArchiveError where error.code == .missing {
      let now = try ArchiveIndex(storage)
      guard let successor = try now.successor(of: segment), successor.file != segment.file else {
        throw ArchiveError.isMissing(segment.file.name)
      }
      return try now.open(successor)
    }
  }

  /// The segment with the same offsets. An erasure keeps a segment's times, too.
  private func successor(of segment: Manifest.Segment) throws -> Manifest.Segment? {
    if let found = manifest.segments.first(where: { $0.spans == segment.spans }) { return found }
    for page in manifest.pages
    where page.minTime <= segment.minTime && segment.maxTime <= page.maxTime {
      if let found = try segments(of: page).first(where: { $0.spans == segment.spans }) {
        return found
      }
    }
    return nil
  }

  private func read(_ segment: Manifest.Segment) throws -> (bytes: [UInt8], file: SegmentFile) {
    let bytes = try bytes(of: segment.file)
    let file = try SegmentFile(bytes, file: segment.file.name)
    let spans = segment.spans.map { ($0.topicPartition, $0.offsets) }
    guard file.spans == Dictionary(spans, uniquingKeysWith: { first, _ in first }),
      spans.count == file.spans.count
    else {
      throw ArchiveError(
        .damaged, file: segment.file.name, "its offsets differ from the manifest's")
    }
    return (bytes, file)
  }

  /// Throws `ArchiveError` with code `missing` if the file does not exist.
  private func bytes(of file: Manifest.File) throws -> [UInt8] {
    let bytes: [UInt8]
    do {
      bytes = try storage.get(file.name, maxByteCount: file.bytes)
    } catch let error as ArchiveError where error.code == .damaged {
      throw ArchiveError(
        .damaged, file: file.name, offset: file.bytes,
        "file too long: \(file.bytes) bytes were written")
    }
    guard bytes.count == file.bytes else {
      throw ArchiveError(
        .damaged, file: file.name, offset: bytes.count,
        "file too short: \(file.bytes) bytes were written")
    }
    guard hex(sha256(bytes)) == file.sha256 else {
      throw ArchiveError(
        .damaged, file: file.name, offset: damagedPlace(bytes),
        "SHA-256 mismatch")
    }
    return bytes
  }

  /// The position of the first damaged block, if the footer is readable.
  private func damagedPlace(_ bytes: [UInt8]) -> Int? {
    guard let file = try? SegmentFile(bytes, file: "") else { return nil }
    return file.blocks.first { _, block in
      sha256(bytes[block.position..<block.position + block.byteCount]) != block.checksum
    }?.block.position
  }
}

extension Block {
  /// Like `records(of:in:)`, with errors that name the file.
  func records(of partition: TopicPartition, in bytes: [UInt8], file: String) throws -> [Record] {
    do {
      return try records(of: partition, in: bytes)
    } catch let error as Malformed {
      throw ArchiveError(.damaged, file: file, offset: position, error.message)
    }
  }
}
