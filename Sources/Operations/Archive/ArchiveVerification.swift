import Kafka

/// The result of verifying an archive.
public struct ArchiveVerification: Sendable {
  /// A defect in the archive.
  public struct Finding: Codable, Sendable, Equatable {
    /// The file's key.
    public var file: String
    /// The position in the file, if known.
    public var offset: Int?
    public var what: String
  }

  public private(set) var findings: [Finding] = []
  public private(set) var segments = 0
  public private(set) var bytes: Int64 = 0
  public private(set) var records: Int64 = 0
  /// Offsets that were lost before they were archived and that an operator accepted as lost.
  public private(set) var gaps: [Manifest.Span] = []
  /// Files that the manifest does not list: a writer is running, or died before listing them.
  public private(set) var unlisted: [String] = []
  /// While verifying: the next offset that each partition must cover.
  private var reached: [TopicPartition: Int64] = [:]
  private var counts: [TopicPartition: Int64] = [:]

  /// Reads every file and verifies checksums, each record against its block, blocks against
  /// footers, footers against the manifest, record times against the time index, and that each
  /// partition's offsets are contiguous except for recorded gaps.
  ///
  /// Safe while a writer runs; verifies the archive as of the start. Needs memory for one segment.
  /// - Parameter progress: called after each segment.
  /// - Throws: errors that prevent verification, such as a missing archive.
  public init(_ storage: any ArchiveStorage, progress: (ArchiveVerification) -> Void = { _ in })
    throws
  {
    // Before the manifest: a writer may add files of later generations after it.
    let keys = try storage.list("").keys
    let index: ArchiveIndex
    do {
      index = try ArchiveIndex(storage)
    } catch let error as ArchiveError where error.code == .damaged {
      note(error)
      return
    }
    let manifest = index.manifest
    gaps = manifest.gaps
    reached = manifest.spans.mapValues(\.lowerBound)
    var files: Set<String> = [
      Manifest.key, Manifest.key + ".lock", "lock", DirectoryStorage.erasureLock,
    ]
    for listed in manifest.pages {
      files.insert(listed.file.name)
      let page: Manifest.Page
      let segments: [Manifest.Segment]
      do {
        (page, segments) = try index.open(listed)
      } catch let error as ArchiveError {
        note(error)
        // The page's segments are unknown; later ones are still verified.
        reached = [:]
        continue
      }
      files.insert(page.file.name)
      for segment in segments { check(segment, index, &files, progress) }
      check(page, against: segments)
    }
    for segment in manifest.segments { check(segment, index, &files, progress) }
    for partition in manifest.partitions { check(partition) }
    if let newer = manifest.firstNewer(among: keys) {
      note(Manifest.key, manifest.isOlder(than: newer))
    }
    unlisted = keys.filter { !files.contains($0) }.sorted()
  }

  private mutating func note(_ error: ArchiveError) {
    findings.append(Finding(file: error.file, offset: error.offset, what: error.message))
  }

  private mutating func note(_ file: String, _ what: String, at offset: Int? = nil) {
    findings.append(Finding(file: file, offset: offset, what: what))
  }

  private mutating func check(
    _ segment: Manifest.Segment, _ index: ArchiveIndex, _ files: inout Set<String>,
    _ progress: (ArchiveVerification) -> Void
  ) {
    files.insert(segment.file.name)
    segments += 1
    for span in segment.spans { follow(span, in: segment.file.name) }
    do {
      let (bytes, file) = try index.open(segment)
      self.bytes += Int64(bytes.count)
      var recordCount = 0
      for (partition, block) in file.blocks {
        let records = try block.records(of: partition, in: bytes, file: segment.file.name)
        recordCount += records.count
        counts[partition, default: 0] += Int64(records.count)
      }
      records += Int64(recordCount)
      let times = file.blocks.map(\.block.times)
      if recordCount != segment.records {
        note(segment.file.name, "\(recordCount) records, but the manifest lists \(segment.records)")
      }
      if times.map(\.lowerBound).min() != segment.minTime
        || times.map(\.upperBound).max() != segment.maxTime
      {
        note(segment.file.name, "its record times differ from the time index")
      }
    } catch let error as ArchiveError {
      note(error)
    } catch {
      note(segment.file.name, "\(error)")
    }
    progress(self)
  }

  /// The span must start where the partition's previous span or gap ended.
  private mutating func follow(_ span: Manifest.Span, in file: String) {
    let partition = span.topicPartition
    defer { reached[partition] = span.next }
    guard var next = reached[partition] else { return }
    next = passGaps(partition, from: next)
    if next != span.first {
      note(
        file,
        next < span.first
          ? "\(partition): no segment holds offsets \(next) up to \(span.first)"
          : "\(partition): offsets \(span.first) up to \(next) are archived twice")
    }
  }

  private func passGaps(_ partition: TopicPartition, from offset: Int64) -> Int64 {
    var next = offset
    while let gap = gaps.first(where: { $0.topicPartition == partition && $0.first == next }) {
      next = gap.next
    }
    return next
  }

  private mutating func check(_ page: Manifest.Page, against segments: [Manifest.Segment]) {
    let bytes = segments.reduce(0) { $0 + Int64($1.file.bytes) }
    if page.segmentBytes != bytes || page.minTime != segments.map(\.minTime).min() ?? 0
      || page.maxTime != segments.map(\.maxTime).max() ?? 0
    {
      note(page.file.name, "the manifest's summary differs from its segments")
    }
  }

  private mutating func check(_ partition: Manifest.Partition) {
    let place = partition.topicPartition
    guard let last = reached[place] else { return }
    let next = passGaps(place, from: last)
    if next != partition.next {
      note(
        Manifest.key, "\(place): the segments reach offset \(next), not \(partition.next)")
    }
    // The records of unreadable files are missing from the count.
    if findings.isEmpty, counts[place] ?? 0 != partition.records {
      note(Manifest.key, "\(place): \(counts[place] ?? 0) records, not \(partition.records)")
    }
  }
}
