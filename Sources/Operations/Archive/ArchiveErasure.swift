import Foundation
public import Kafka

/// The result of erasing records from an archive.
///
/// A segment with such records is replaced by one that holds the same offsets and times, then the file
/// is deleted. The manifest lists either of the two, so the archive is valid if the process dies at any
/// point, and the next erasure deletes what this one left. A writer, or readers, may run meanwhile.
public struct ArchiveErasure: Sendable {
  /// Read so far.
  public private(set) var segments = 0
  public private(set) var records: Int64 = 0
  /// Records of which nothing is left, and of which a part is.
  public private(set) var erasedRecords: Int64 = 0
  public private(set) var changedRecords: Int64 = 0
  /// Segments that were replaced.
  public private(set) var replacedSegments = 0
  public private(set) var deletedFiles = 0

  private let storage: any ArchiveStorage
  /// The new segments that the manifest does not list yet, by the name of the old ones.
  private var replacements: [String: Manifest.Segment] = [:]
  private var replacementByteCount = 0

  /// A manifest's replacement costs little beside that of so many segments.
  private static let replacementsMax = 64
  private static let replacementBytesMax = 256 << 20

  /// Erases from all records, also from those that are archived meanwhile. Needs memory for two
  /// segments. For a directory, call `DirectoryStorage.lockForErasing` first.
  ///
  /// - Parameters:
  ///   - remainder: what is left of a record, with the same place and time; nil if it stays as it is.
  ///   - progress: called after each segment.
  public init(
    _ storage: any ArchiveStorage, remainder: (Record) -> Record?,
    progress: (ArchiveErasure) -> Void = { _ in }
  ) throws {
    self.storage = storage
    try deleteUnlisted()
    // Segments keep their number, whatever is added or replaced.
    var done = 0
    while true {
      let index = try ArchiveIndex(storage)
      let manifest = index.manifest
      guard done < manifest.segmentCount else { break }
      var first = 0
      for page in manifest.pages {
        if first + page.segments > done {
          let segments = try index.segments(of: page).dropFirst(max(0, done - first))
          try erase(segments, index, remainder, progress)
        }
        first += page.segments
      }
      try erase(manifest.segments.dropFirst(max(0, done - first)), index, remainder, progress)
      done = manifest.segmentCount
    }
    try deleteUnlisted()
  }

  private mutating func erase(
    _ segments: ArraySlice<Manifest.Segment>, _ index: ArchiveIndex,
    _ remainder: (Record) -> Record?, _ progress: (ArchiveErasure) -> Void
  ) throws {
    for segment in segments {
      if let (replacement, bytes) = try replacement(of: segment, index, remainder) {
        try again { try storage.put(replacement.file.name, bytes) }
        replacements[segment.file.name] = replacement
        replacementByteCount += bytes.count
      }
      self.segments += 1
      if replacements.count >= Self.replacementsMax
        || replacementByteCount >= Self.replacementBytesMax
      {
        try replaceSegments()
      }
      progress(self)
    }
    try replaceSegments()
  }

  /// The segment without what is erased; nil if nothing is.
  private mutating func replacement(
    of segment: Manifest.Segment, _ index: ArchiveIndex, _ remainder: (Record) -> Record?
  ) throws -> (Manifest.Segment, [UInt8])? {
    let (bytes, file) = try index.open(segment)
    var remainders: [TopicPartition: [Int64: Record]] = [:]
    for (partition, block) in file.blocks {
      for record in try block.records(of: partition, in: bytes, file: segment.file.name) {
        records += 1
        guard let left = remainder(record), left != record else { continue }
        remainders[partition, default: [:]][record.offset] = left
        if left.wire.isErased { erasedRecords += 1 } else { changedRecords += 1 }
      }
    }
    guard !remainders.isEmpty else { return nil }
    var builder = SegmentBuilder()
    var next = file.spans.mapValues(\.lowerBound)
    for (partition, block) in file.blocks {
      for record in try block.records(of: partition, in: bytes, file: segment.file.name) {
        let left = remainders[partition]?[record.offset] ?? record
        try builder.append(left, after: next[partition] ?? record.offset)
        next[partition] = record.offset + 1
      }
    }
    let (newBytes, newFile) = try builder.finish()
    guard newFile.spans == file.spans else {
      throw ArchiveError(
        .unusable, file: segment.file.name, "its offsets would change; nothing was replaced")
    }
    var replacement = segment
    replacement.file = successor(of: segment.file, newBytes)
    return (replacement, newBytes)
  }

  /// Keeps the generation in the name, by which writers tell the leftovers of a dead writer.
  private func successor(of file: Manifest.File, _ bytes: [UInt8]) -> Manifest.File {
    let digest = hex(sha256(bytes))
    let name = file.name.prefix { $0 != "-" }
    return Manifest.File(
      name: "\(name)-\(digest.prefix(16))", bytes: bytes.count, sha256: digest)
  }

  /// Lists the new segments in place of the old ones, whose files are then deleted.
  private mutating func replaceSegments() throws {
    guard !replacements.isEmpty else { return }
    var obsolete: [String] = []
    var isReplaced = false
    while !isReplaced {
      // A writer may have replaced the manifest meanwhile.
      let before = try storage.get(Manifest.key, maxByteCount: Manifest.byteCountMax)
      let index = try ArchiveIndex(storage, Manifest(before))
      var next = index.manifest
      obsolete = Array(replacements.keys)
      next.segments = next.segments.map { replacements[$0.file.name] ?? $0 }
      for number in next.pages.indices where mayList(next.pages[number]) {
        let former = try index.segments(of: next.pages[number])
        let segments = former.map { replacements[$0.file.name] ?? $0 }
        guard segments != former else { continue }
        obsolete.append(next.pages[number].file.name)
        let bytes = try Checksummed(kind: "page").encode(PageContent(segments: segments))
        next.pages[number].file = successor(of: next.pages[number].file, bytes)
        next.pages[number].segmentBytes = segments.reduce(0) { $0 + Int64($1.file.bytes) }
        try again { try storage.put(next.pages[number].file.name, bytes) }
      }
      next.generation += 1
      let after = try next.encoded
      isReplaced = try again { try storage.replace(Manifest.key, after, ifStill: before) }
    }
    // Pages first: if this dies halfway, a former manifest lists a missing page, which a writer notices without reading
    // pages.
    for key in obsolete.sorted() { try storage.delete(key) }
    deletedFiles += obsolete.count
    replacedSegments += replacements.count
    (replacements, replacementByteCount) = ([:], 0)
  }

  /// Whether the page may list a segment that is replaced.
  private func mayList(_ page: Manifest.Page) -> Bool {
    replacements.values.contains { page.minTime <= $0.minTime && $0.maxTime <= page.maxTime }
  }

  /// Deletes files that are not listed and never will be: what an erasure or a writer left that died.
  ///
  /// If the manifest is from before an earlier erasure, it lists files that the earlier erasure has deleted. The only copies of
  /// their records are then in files that are not listed.
  private mutating func deleteUnlisted() throws {
    let index = try ArchiveIndex(storage)
    var listed = Set(index.manifest.pages.map(\.file.name))
    try index.forEachSegment {
      listed.insert($0.file.name)
      return true
    }
    let keys = Set(try storage.list("").keys)
    if let missing = listed.subtracting(keys).min() {
      // Another process may have replaced the manifest meanwhile.
      guard try ArchiveIndex(storage).manifest == index.manifest else {
        return try deleteUnlisted()
      }
      throw ArchiveError.isMissing(missing)
    }
    for key in keys.sorted()
    where !listed.contains(key) && !key.hasSuffix(DirectoryStorage.temporarySuffix) {
      guard let generation = generation(key), generation <= index.manifest.generation else {
        continue
      }
      try storage.delete(key)
      deletedFiles += 1
    }
  }

  /// Repeats a step once if its temporary file disappeared: a writer that starts deletes such files.
  private func again<Result>(_ step: () throws -> Result) throws -> Result {
    do {
      return try step()
    } catch let error as ArchiveError where error.code == .system(ENOENT) {
      return try step()
    }
  }
}
