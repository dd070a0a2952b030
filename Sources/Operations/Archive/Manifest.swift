import Foundation
public import Kafka
package import Lanes

/// An archive's content: its segments and their end offsets, in one file that is only replaced as a
/// whole. A file that it does not list is not part of the archive.
public struct Manifest: Codable, Sendable, Equatable {
  /// A file, identified by its length and SHA-256 (in hex).
  public struct File: Codable, Sendable, Equatable {
    /// The file's key, relative to the archive.
    public var name: String
    /// The file's length.
    public var bytes: Int
    public var sha256: String
  }

  /// The archived range of a partition.
  public struct Partition: Codable, Sendable, Equatable {
    public var topic: String
    public var partition: Int32
    /// The first offset that the archive covers.
    public var first: Int64
    /// The next offset to be archived.
    public var next: Int64
    /// The number of archived records in that range.
    public var records: Int64
    /// The last archived record, by which Kafka's log is recognized; nil in archives of older
    /// versions and after a gap.
    package var last: LastRecord?

    public var topicPartition: TopicPartition { TopicPartition(topic: topic, partition: partition) }
  }

  /// A range of consecutive offsets of a partition.
  public struct Span: Codable, Sendable, Equatable {
    public var topic: String
    public var partition: Int32
    /// The first offset of the range.
    public var first: Int64
    /// The offset after its last one.
    public var next: Int64

    public var topicPartition: TopicPartition { TopicPartition(topic: topic, partition: partition) }
    public var offsets: Range<Int64> { first..<max(first, next) }
  }

  /// A segment file. Each span starts where the partition's previous span or gap ended.
  public struct Segment: Codable, Sendable, Equatable {
    public var file: File
    public var spans: [Span]
    public var records: Int
    /// The minimum record time, in milliseconds since 1970.
    public var minTime: Int64
    /// The maximum record time, in milliseconds since 1970.
    public var maxTime: Int64
  }

  /// A file that lists older segments, which keeps the manifest small.
  public struct Page: Codable, Sendable, Equatable {
    public var file: File
    public var segments: Int
    /// The length of the segments' files.
    public var segmentBytes: Int64
    /// The minimum record time, in milliseconds since 1970.
    public var minTime: Int64
    /// The maximum record time, in milliseconds since 1970.
    public var maxTime: Int64
  }

  /// The format version.
  public var version: Int
  /// Incremented by each replacement, and so by each new writer.
  public var generation: Int64
  /// The ID of the writer that wrote this manifest; reveals a writer that was overtaken.
  public var writer: String
  public var partitions: [Partition]
  /// Offsets that were lost before they were archived and that an operator accepted as lost.
  public var gaps: [Span]
  /// Oldest first.
  public var pages: [Page]
  /// The newest segments, oldest first.
  public var segments: [Segment]

  static let key = "manifest"
  /// Segments per page.
  static let pageLength = 256
  /// Larger manifests and pages are rejected before reading them into memory.
  static let byteCountMax = 64 << 20

  /// An empty archive.
  init() {
    (version, generation, writer, partitions, gaps, pages, segments) = (1, 0, "", [], [], [], [])
  }

  /// Reads an archive's current manifest. Throws `ArchiveError`.
  public init(of storage: any ArchiveStorage) throws { self = try ArchiveIndex(storage).manifest }

  public var segmentCount: Int { pages.reduce(segments.count) { $0 + $1.segments } }

  public var segmentByteCount: Int64 {
    pages.reduce(0) { $0 + $1.segmentBytes } + segments.reduce(0) { $0 + Int64($1.file.bytes) }
  }

  /// The minimum and maximum record time, in milliseconds since 1970; nil if there are no records.
  public var times: ClosedRange<Int64>? {
    let least = (pages.map(\.minTime) + segments.map(\.minTime)).min()
    let greatest = (pages.map(\.maxTime) + segments.map(\.maxTime)).max()
    guard let least, let greatest, least <= greatest else { return nil }
    return least...greatest
  }

  /// The last archived record of each partition, if known.
  package var lastRecords: [TopicPartition: LastRecord] {
    partitions.reduce(into: [:]) { $0[$1.topicPartition] = $1.last }
  }

  /// The files that the manifest itself lists. If an erasure replaces a segment of a page, it replaces the page, too.
  var fileNames: [String] { pages.map(\.file.name) + segments.map(\.file.name) }

  /// The first file that was written under a newer manifest than this one; nil if there is none.
  ///
  /// A writer names a file after the generation that will list it, the next one, so a writer that died
  /// left no file of a later generation.
  func firstNewer(among keys: some Sequence<String>) -> String? {
    keys.filter { Archive.generation($0).map { $0 > generation + 1 } ?? false }.min()
  }

  /// What is wrong if `firstNewer` found this file.
  func isOlder(than file: String) -> String {
    "the manifest is older than \(file), so it does not list all segments: restore the newest manifest, or, "
      + "in a copy that was made beside a writer, move the files of generations above \(generation + 1) away "
      + "(docs/archive.md)"
  }

  /// Whether only an erasure lies between the manifests.
  func hasSameOffsets(as other: Manifest) -> Bool {
    partitions == other.partitions && gaps == other.gaps
  }

  var spans: [TopicPartition: Range<Int64>] {
    Dictionary(uniqueKeysWithValues: partitions.map { ($0.topicPartition, $0.first..<$0.next) })
  }
}

/// A JSON document preceded by a line with its kind and SHA-256.
struct Checksummed {
  var kind: String

  func encode(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let body = Array(try encoder.encode(value)) + [UInt8(ascii: "\n")]
    return Array("magpie-archive-\(kind) 1 \(hex(sha256(body)))\n".utf8) + body
  }

  /// Throws `ArchiveError` naming `file`.
  func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8], file: String) throws -> Value
  {
    guard let end = bytes.prefix(200).firstIndex(of: UInt8(ascii: "\n")) else {
      throw ArchiveError(.damaged, file: file, "the first line is missing")
    }
    let body = bytes[(end + 1)...]
    let line = "magpie-archive-\(kind) 1 \(hex(sha256(body)))"
    guard bytes[..<end].elementsEqual(line.utf8) else {
      throw ArchiveError(
        .damaged, file: file, "the first line does not match the content of a \(kind)")
    }
    do {
      return try JSONDecoder().decode(type, from: Data(body))
    } catch {
      throw ArchiveError(.damaged, file: file, "not a valid \(kind): \(error)")
    }
  }
}

extension Manifest {
  /// Throws `ArchiveError`.
  init(_ bytes: [UInt8]) throws {
    self = try Checksummed(kind: "manifest").decode(Manifest.self, bytes, file: Manifest.key)
    try check()
  }

  var encoded: [UInt8] { get throws { try Checksummed(kind: "manifest").encode(self) } }

  /// Validates the manifest before any of it is used, whatever its source.
  private func check() throws {
    func damaged(_ message: String) -> ArchiveError {
      ArchiveError(.damaged, file: Manifest.key, message)
    }
    guard version == 1 else { throw damaged("unsupported format version \(version)") }
    guard (0..<Int64.max).contains(generation) else {
      throw damaged("invalid generation \(generation)")
    }
    guard Set(partitions.map(\.topicPartition)).count == partitions.count,
      partitions.allSatisfy({
        0 <= $0.first && $0.first <= $0.next && (0...$0.next - $0.first).contains($0.records)
          && $0.last?.offset ?? -1 < $0.next
      })
    else { throw damaged("its partitions are inconsistent") }
    var records: Int64 = 0
    for partition in partitions {
      let (sum, isTooLarge) = records.addingReportingOverflow(partition.records)
      guard !isTooLarge else { throw damaged("the sum of its records is out of bounds") }
      records = sum
    }
    guard gaps.allSatisfy({ 0 <= $0.first && $0.first < $0.next }) else {
      throw damaged("an empty gap")
    }
    for page in pages {
      guard page.file.isUsable(in: "pages/", Manifest.byteCountMax),
        (0...Manifest.pageLength).contains(page.segments),
        (0...Int64(page.segments * SegmentFile.byteCountMax)).contains(page.segmentBytes)
      else { throw damaged("page \(page.file.name) is out of bounds") }
    }
    for segment in segments { try segment.check(in: Manifest.key) }
  }
}

extension Manifest.Segment {
  func check(in file: String) throws {
    guard self.file.isUsable(in: "segments/", SegmentFile.byteCountMax), minTime <= maxTime,
      spans.allSatisfy({ 0 <= $0.first && $0.first < $0.next })
    else {
      throw ArchiveError(.damaged, file: file, "segment \(self.file.name) is out of bounds")
    }
  }
}

extension Manifest.File {
  /// File names become paths, so names that could leave the folder are rejected.
  fileprivate func isUsable(in folder: String, _ byteCountMax: Int) -> Bool {
    guard name.hasPrefix(folder), (0...byteCountMax).contains(bytes) else { return false }
    return name.utf8.dropFirst(folder.utf8.count).allSatisfy {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-")
    }
  }
}
