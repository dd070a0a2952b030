import Foundation
public import Kafka
import Lanes

/// Writes an archive: buffers records in memory, then adds them as a segment together with their
/// end offsets in one replacement of the manifest.
///
/// Owned by one thread. Creating a writer takes over the archive: an older writer's next
/// replacement of the manifest fails. For a directory, call `DirectoryStorage.lockForWriting`
/// first. An erasure (`ArchiveErasure`) may replace the manifest meanwhile: it keeps the writer's id
/// and all offsets, and the writer repeats its own change.
public final class ArchiveWriter {
  /// What a flush added to the archive.
  public struct Flushed: Sendable {
    /// By topic.
    public var recordCounts: [String: Int]
    public var byteCount: Int
  }

  /// A finished segment that the manifest does not list yet. Kept until it does, so that failed
  /// steps can be retried.
  private struct Pending {
    var segment: Manifest.Segment
    var bytes: [UInt8]
    var recordCounts: [TopicPartition: Int]
    var last: [TopicPartition: LastRecord]
    var isStored = false
  }

  private let storage: any ArchiveStorage
  private let id = UUID().uuidString.lowercased()
  /// The archive's current content.
  public private(set) var manifest: Manifest
  private var manifestBytes: [UInt8]
  private var builder = SegmentBuilder()
  private var pending: Pending?
  private var nextOffsets: [TopicPartition: Int64]
  /// The newest records in `builder`.
  private var newest: [TopicPartition: Record] = [:]

  /// Creates an archive or takes over the existing one, and deletes the leftovers of a writer that
  /// died. Throws `ArchiveError`.
  public init(_ storage: any ArchiveStorage) throws {
    self.storage = storage
    let before = try Self.current(storage)
    (manifest, manifestBytes) = (before?.manifest ?? Manifest(), before?.bytes ?? [])
    nextOffsets = [:]
    try takeOver(isNew: before == nil)
    nextOffsets = manifest.spans.mapValues(\.upperBound)
  }

  private static func current(_ storage: any ArchiveStorage) throws
    -> (manifest: Manifest, bytes: [UInt8])?
  {
    do {
      let bytes = try storage.get(Manifest.key, maxByteCount: Manifest.byteCountMax)
      return (try Manifest(bytes), bytes)
    } catch let error as ArchiveError where error.code == .missing {
      guard try storage.list("segments/").isEmpty else {
        throw ArchiveError(
          .damaged, file: Manifest.key,
          "the manifest is missing although segments exist: restore it or use a new directory")
      }
      return nil
    }
  }

  private func takeOver(isNew: Bool) throws {
    let former = manifest.writer
    while true {
      // Listed before taking over and deleted afterwards, so that no file of a writer that later
      // takes over from this one is deleted.
      let keys = try storage.list("").keys
      try refuseIfOlder(than: Set(keys))
      let leftovers = leftovers(among: keys)
      let (next, bytes) = try successor(manifest)
      if try storage.replace(Manifest.key, bytes, ifStill: isNew ? nil : manifestBytes) {
        (manifest, manifestBytes) = (next, bytes)
        for key in leftovers { try storage.delete(key) }
        return
      }
      guard let now = try Self.current(storage), !isNew, now.manifest.writer == former else {
        throw fenced
      }
      (manifest, manifestBytes) = now
    }
  }

  /// Throws `ArchiveError` if a file that is there, or one that is missing, shows that the manifest is older than the archive.
  private func refuseIfOlder(than keys: Set<String>) throws {
    let newer = manifest.firstNewer(among: keys)
    let missing = manifest.fileNames.first { !keys.contains($0) }
    guard newer != nil || missing != nil else { return }
    // Another writer or an erasure may have replaced the manifest meanwhile, which `takeOver` finds out.
    guard try Self.current(storage)?.bytes == manifestBytes else { return }
    if let newer {
      throw ArchiveError(.damaged, file: Manifest.key, manifest.isOlder(than: newer))
    }
    if let missing { throw ArchiveError.isMissing(missing) }
  }

  /// The next offset to archive, after the records buffered in memory; nil if the archive does not
  /// have the partition yet.
  public func nextOffset(of partition: TopicPartition) -> Int64? { nextOffsets[partition] }

  /// The approximate number of bytes buffered in memory.
  public var bufferedByteCount: Int { builder.byteCount + (pending?.bytes.count ?? 0) }
  /// Whether any records are buffered.
  public var isDirty: Bool { !builder.isEmpty || pending != nil }

  /// Adds partitions that the archive does not have yet, each starting at the given offset.
  public func begin(_ starts: [TopicPartition: Int64]) throws {
    let new = starts.filter { nextOffsets[$0.key] == nil }
    guard !new.isEmpty else { return }
    try replaceManifest { next in
      for (partition, offset) in new {
        next.partitions.append(
          Manifest.Partition(
            topic: partition.topic, partition: partition.partition, first: offset, next: offset,
            records: 0))
      }
      next.partitions.sort { $0.topicPartition < $1.topicPartition }
    }
    nextOffsets.merge(starts) { present, _ in present }
  }

  /// Buffers a record of a partition that the archive already has. Ignores records below the
  /// partition's next offset, which are already archived; skipped offsets hold no records.
  public func append(_ record: Record) throws {
    guard let start = nextOffsets[record.topicPartition] else {
      throw ArchiveError(.unusable, "the archive has no partition \(record.topicPartition) yet")
    }
    guard record.offset >= start else { return }
    try builder.append(record, after: start)
    nextOffsets[record.topicPartition] = record.offset + 1
    newest[record.topicPartition] = record
  }

  /// Writes the buffered records to the archive. If it throws, nothing is lost: the next call
  /// resumes at the failed step.
  ///
  /// Throws `ArchiveError`; after `fenced` this writer is unusable.
  /// - Returns: nil if nothing was buffered.
  @discardableResult
  public func flush() throws -> Flushed? {
    if pending == nil, !builder.isEmpty { pending = try finishSegment() }
    guard let pending else { return nil }
    try replaceManifest { next in
      let segment = try storePending(pending)
      if next.segments.count >= Manifest.pageLength { try turnPage(&next) }
      next.segments.append(segment)
      for span in segment.spans {
        advance(
          &next, span, records: pending.recordCounts[span.topicPartition] ?? 0,
          last: pending.last[span.topicPartition])
      }
    }
    self.pending = nil
    return Flushed(
      recordCounts: Dictionary(
        pending.recordCounts.map { ($0.key.topic, $0.value) }, uniquingKeysWith: +),
      byteCount: pending.bytes.count)
  }

  /// Stores the finished segment under a name of the next generation, unless it is.
  private func storePending(_ pending: Pending) throws -> Manifest.Segment {
    var segment = self.pending?.segment ?? pending.segment
    let file = newFile("segments/", segment.file)
    if file != segment.file {
      if self.pending?.isStored == true { try storage.delete(segment.file.name) }
      self.pending?.isStored = false
      segment.file = file
      self.pending?.segment.file = file
    }
    if self.pending?.isStored == false {
      try storage.put(file.name, pending.bytes)
      self.pending?.isStored = true
    }
    return segment
  }

  /// Records in the manifest that the offsets from the partition's next offset up to `offset` were
  /// lost before they could be archived.
  public func acceptGap(_ partition: TopicPartition, upTo offset: Int64) throws {
    guard let start = manifest.spans[partition]?.upperBound else {
      throw ArchiveError(.unusable, "the archive does not have partition \(partition) yet")
    }
    guard offset > start else {
      throw ArchiveError(
        .unusable, "\(partition) is archived up to \(start): the gap must end above that")
    }
    let gap = Manifest.Span(
      topic: partition.topic, partition: partition.partition, first: start, next: offset)
    try replaceManifest { next in
      next.gaps.append(gap)
      advance(&next, gap, records: 0, last: nil)
    }
    nextOffsets[partition] = offset
  }

  private func finishSegment() throws -> Pending {
    var spent = SegmentBuilder()
    swap(&spent, &builder)
    let (bytes, file) = try spent.finish()
    let last = newest.mapValues { LastRecord($0) }
    newest = [:]
    let blocks = file.blocks.map(\.block)
    let spans = file.spans.sorted { $0.key < $1.key }.map { partition, offsets in
      Manifest.Span(
        topic: partition.topic, partition: partition.partition, first: offsets.lowerBound,
        next: offsets.upperBound)
    }
    return Pending(
      segment: Manifest.Segment(
        file: newFile("segments/", bytes), spans: spans,
        records: blocks.reduce(0) { $0 + $1.recordCount },
        minTime: blocks.map(\.times.lowerBound).min() ?? 0,
        maxTime: blocks.map(\.times.upperBound).max() ?? 0),
      bytes: bytes,
      recordCounts: Dictionary(
        file.blocks.map { ($0.partition, $0.block.recordCount) }, uniquingKeysWith: +),
      last: last)
  }

  /// Moves the manifest's segments to a new page.
  private func turnPage(_ manifest: inout Manifest) throws {
    let segments = manifest.segments
    let bytes = try Checksummed(kind: "page").encode(PageContent(segments: segments))
    let file = newFile("pages/", bytes)
    try storage.put(file.name, bytes)
    manifest.pages.append(
      Manifest.Page(
        file: file, segments: segments.count,
        segmentBytes: segments.reduce(0) { $0 + Int64($1.file.bytes) },
        minTime: segments.map(\.minTime).min() ?? 0, maxTime: segments.map(\.maxTime).max() ?? 0))
    manifest.segments = []
  }

  private func advance(
    _ manifest: inout Manifest, _ span: Manifest.Span, records: Int, last: LastRecord?
  ) {
    for index in manifest.partitions.indices
    where manifest.partitions[index].topicPartition == span.topicPartition {
      manifest.partitions[index].next = span.next
      manifest.partitions[index].records += Int64(records)
      manifest.partitions[index].last = last
    }
  }

  /// Replaces the manifest by a changed one.
  ///
  /// - Parameter change: called again if an erasure has replaced the manifest meanwhile.
  private func replaceManifest(_ change: (inout Manifest) throws -> Void) throws {
    while true {
      var changed = manifest
      try change(&changed)
      let (next, bytes) = try successor(changed)
      if try storage.replace(Manifest.key, bytes, ifStill: manifestBytes) {
        (manifest, manifestBytes) = (next, bytes)
        return
      }
      guard let now = try Self.current(storage), now.manifest.writer == id else { throw fenced }
      // An earlier attempt that seemed to fail has succeeded, and an erasure came after it.
      let isDone = now.manifest.hasSameOffsets(as: next)
      guard isDone || now.manifest.hasSameOffsets(as: manifest) else { throw fenced }
      (manifest, manifestBytes) = now
      if isDone { return }
    }
  }

  private func successor(_ changed: Manifest) throws -> (Manifest, [UInt8]) {
    var next = changed
    next.generation = manifest.generation + 1
    next.writer = id
    let bytes = try next.encoded
    guard bytes.count <= Manifest.byteCountMax else {
      throw ArchiveError(
        .unusable, file: Manifest.key,
        "the manifest would need \(bytes.count) bytes: start a new archive")
    }
    return (next, bytes)
  }

  private var fenced: ArchiveError {
    ArchiveError(
      .fenced, file: Manifest.key,
      "another process has taken this archive over; an archive has one writer at a time")
  }

  private func newFile(_ folder: String, _ bytes: [UInt8]) -> Manifest.File {
    newFile(folder, Manifest.File(name: "", bytes: bytes.count, sha256: hex(sha256(bytes))))
  }

  /// The name contains the generation that will list the file, so a file of a newer generation was
  /// never listed, one that is not listed by its generation never will be (`ArchiveErasure` deletes
  /// it), and the content's hash, so two writers never use one name for different files.
  private func newFile(_ folder: String, _ file: Manifest.File) -> Manifest.File {
    let generation = String(manifest.generation + 1)
    let padding = String(repeating: "0", count: max(0, 16 - generation.count))
    return Manifest.File(
      name: "\(folder)\(padding)\(generation)-\(file.sha256.prefix(16))", bytes: file.bytes,
      sha256: file.sha256)
  }

  /// Files that a dead writer left: their generation is newer than that of every listed file. They
  /// stay recognizable if the next writer dies before deleting all of them.
  private func leftovers(among keys: some Sequence<String>) -> [String] {
    let newest = manifest.fileNames.compactMap(generation).max() ?? 0
    return keys.filter { key in
      generation(key).map { $0 > newest } ?? false
        || key.hasSuffix(DirectoryStorage.temporarySuffix)
    }
  }
}

/// The generation in a file's name; nil for files that no writer created.
func generation(_ key: String) -> Int64? {
  let parts = key.split(separator: "/")
  guard parts.count > 1 else { return nil }
  return parts.last?.split(separator: "-").first.flatMap { Int64($0) }
}
