import Foundation
public import Kafka
package import Pipeline

/// What an archive consists of: its segments and the offsets up to which they reach, in one file
/// that is only ever replaced as a whole. What it does not name is not part of the archive.
public struct Manifest: Codable, Sendable, Equatable {
  /// A file, told from any other by length and SHA-256 (in hex).
  public struct File: Codable, Sendable, Equatable {
    public var name: String
    public var bytes: Int
    public var sha256: String
  }

  /// What is known of a partition.
  public struct Partition: Codable, Sendable, Equatable {
    public var topic: String
    public var partition: Int32
    /// The first offset that the archive covers.
    public var first: Int64
    /// The next offset to be archived.
    public var next: Int64
    /// Records held between the two.
    public var records: Int64
    /// The last of them, by which Kafka's log is recognized; nil in archives of an older version, and
    /// behind a gap.
    package var last: LastRecord?

    public var topicPartition: TopicPartition { TopicPartition(topic: topic, partition: partition) }
  }

  /// Consecutive offsets of a partition.
  public struct Span: Codable, Sendable, Equatable {
    public var topic: String
    public var partition: Int32
    public var first: Int64
    public var next: Int64

    public var topicPartition: TopicPartition { TopicPartition(topic: topic, partition: partition) }
    public var offsets: Range<Int64> { first..<max(first, next) }
  }

  /// One segment file. Each span starts where the one before it, or a gap, ended.
  public struct Segment: Codable, Sendable, Equatable {
    public var file: File
    public var spans: [Span]
    public var records: Int
    /// The least and the greatest record time, in milliseconds since 1970.
    public var minTime: Int64
    public var maxTime: Int64
  }

  /// A file that lists older segments, so that the manifest stays small.
  public struct Page: Codable, Sendable, Equatable {
    public var file: File
    public var segments: Int
    public var segmentBytes: Int64
    public var minTime: Int64
    public var maxTime: Int64
  }

  /// Of the format.
  public var version: Int
  /// One more with each replacement, and with each new writer.
  public var generation: Int64
  /// Who wrote this: tells a writer that was overtaken.
  public var writer: String
  public var partitions: [Partition]
  /// Offsets that were lost before they were archived, as somebody accepted.
  public var gaps: [Span]
  /// Oldest first.
  public var pages: [Page]
  /// The newest segments, oldest first.
  public var segments: [Segment]

  static let key = "manifest"
  /// Segments in a page.
  static let pageLength = 256
  /// No manifest or page beyond this is read into memory.
  static let byteCountMax = 64 << 20

  /// An archive without anything.
  init() {
    (version, generation, writer, partitions, gaps, pages, segments) = (1, 0, "", [], [], [], [])
  }

  /// An archive's present manifest. Throws `ArchiveError`.
  public init(of storage: any ArchiveStorage) throws { self = try ArchiveIndex(storage).manifest }

  public var segmentCount: Int { pages.reduce(segments.count) { $0 + $1.segments } }

  public var segmentByteCount: Int64 {
    pages.reduce(0) { $0 + $1.segmentBytes } + segments.reduce(0) { $0 + Int64($1.file.bytes) }
  }

  /// The least and the greatest record time; nil without records.
  public var times: ClosedRange<Int64>? {
    let least = (pages.map(\.minTime) + segments.map(\.minTime)).min()
    let greatest = (pages.map(\.maxTime) + segments.map(\.maxTime)).max()
    guard let least, let greatest, least <= greatest else { return nil }
    return least...greatest
  }

  var spans: [TopicPartition: Range<Int64>] {
    Dictionary(uniqueKeysWithValues: partitions.map { ($0.topicPartition, $0.first..<$0.next) })
  }
}

/// A JSON document behind a line with its kind and SHA-256.
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
        .damaged, file: file, "the first line is not that of a \(kind) with this content")
    }
    do {
      return try JSONDecoder().decode(type, from: Data(body))
    } catch {
      throw ArchiveError(.damaged, file: file, "this is no \(kind): \(error)")
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

  /// What must hold before anything in it is used, however it came about.
  private func check() throws {
    func damaged(_ message: String) -> ArchiveError {
      ArchiveError(.damaged, file: Manifest.key, message)
    }
    guard version == 1 else { throw damaged("version \(version) is of a newer program") }
    guard (0..<Int64.max).contains(generation) else { throw damaged("generation \(generation)") }
    guard Set(partitions.map(\.topicPartition)).count == partitions.count,
      partitions.allSatisfy({
        0 <= $0.first && $0.first <= $0.next && (0...$0.next - $0.first).contains($0.records)
          && $0.last?.offset ?? -1 < $0.next
      })
    else { throw damaged("its partitions contradict each other") }
    guard gaps.allSatisfy({ 0 <= $0.first && $0.first < $0.next }) else {
      throw damaged("a gap without offsets")
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
  /// Names become paths: nothing that leads elsewhere.
  fileprivate func isUsable(in folder: String, _ byteCountMax: Int) -> Bool {
    guard name.hasPrefix(folder), (0...byteCountMax).contains(bytes) else { return false }
    return name.utf8.dropFirst(folder.utf8.count).allSatisfy {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-")
    }
  }
}
