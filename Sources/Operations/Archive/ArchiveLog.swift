public import Kafka
public import RecordLog

/// An archive as a readable log. Every call reads the manifest that is current at that moment.
///
/// Each segment is verified against the manifest and its own checksums before any of its records is
/// returned. Records of which an erasure left nothing are skipped. Needs memory for one segment and
/// one batch.
public struct ArchiveLog: RecordLog {
  private let storage: any ArchiveStorage
  private let passesGaps: Bool

  /// - Parameter passesGaps: whether to skip offsets that were lost before they were archived and
  ///   that an operator accepted as lost; otherwise such a gap throws `RecordLogError.gap`.
  public init(_ storage: any ArchiveStorage, passesGaps: Bool = false) {
    self.storage = storage
    self.passesGaps = passesGaps
  }

  public func spans(of topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    let spans = try ArchiveIndex(storage).manifest.spans
    for topic in topics.sorted() where !spans.keys.contains(where: { $0.topic == topic }) {
      throw RecordLogError.unknownTopic(topic)
    }
    let names = Set(topics)
    return spans.filter { names.contains($0.key.topic) }
  }

  public func gaps(of topics: [String]) throws -> [TopicPartition: [Range<Int64>]] {
    let names = Set(topics)
    let gaps = try ArchiveIndex(storage).manifest.gaps.filter { names.contains($0.topic) }
    return Dictionary(grouping: gaps, by: \.topicPartition).mapValues { $0.map(\.offsets) }
  }

  public func offsets(at milliseconds: Int64, in spans: [TopicPartition: Range<Int64>]) throws
    -> [TopicPartition: Int64]
  {
    let index = try ArchiveIndex(storage)
    var result = spans.mapValues(\.upperBound)
    var open = spans.filter { !$0.value.isEmpty }
    try index.forEachSegment(notBefore: milliseconds) { segment in
      guard segment.maxTime >= milliseconds,
        segment.spans.contains(where: { open[$0.topicPartition]?.overlaps($0.offsets) ?? false })
      else { return !open.isEmpty }
      let (bytes, file) = try index.open(segment)
      for (partition, block) in file.blocks where block.times.upperBound >= milliseconds {
        guard let span = open[partition], span.overlaps(block.offsets) else { continue }
        let records = try block.records(of: partition, in: bytes, file: segment.file.name)
        if let found = records.first(where: {
          span.contains($0.offset) && $0.timestampMilliseconds >= milliseconds
        }) {
          result[partition] = found.offset
          open[partition] = nil
        }
      }
      return !open.isEmpty
    }
    return result
  }

  public func read(
    _ spans: [TopicPartition: Range<Int64>], maxRecords: Int, _ body: (RecordBatch) throws -> Void
  ) throws {
    let index = try ArchiveIndex(storage)
    var unread = spans.filter { !$0.value.isEmpty }
    let held = index.manifest.spans
    for (partition, span) in unread.sorted(by: { $0.key < $1.key }) {
      guard held.keys.contains(where: { $0.topic == partition.topic }) else {
        throw RecordLogError.unknownTopic(partition.topic)
      }
      let held = held[partition] ?? 0..<0
      guard held.lowerBound <= span.lowerBound, span.upperBound <= held.upperBound else {
        throw RecordLogError.notHeld(partition, asked: span, held: held)
      }
    }
    try withoutActuallyEscaping(body) { body in
      var batches = PendingBatches(maxRecords: maxRecords, body: body)
      try read(&unread, index, &batches)
      try batches.flush()
    }
  }

  private func read(
    _ unread: inout [TopicPartition: Range<Int64>], _ index: ArchiveIndex,
    _ batches: inout PendingBatches
  ) throws {
    try index.forEachSegment { segment in
      let wanted = segment.spans.filter {
        unread[$0.topicPartition]?.overlaps($0.offsets) ?? false
      }
      guard !wanted.isEmpty else { return !unread.isEmpty }
      for span in wanted {
        try passGap(span.topicPartition, upTo: span.first, &unread, index, &batches)
      }
      let (bytes, file) = try index.open(segment)
      for (partition, block) in file.blocks {
        guard let span = unread[partition], span.overlaps(block.offsets) else { continue }
        let records = try block.records(of: partition, in: bytes, file: segment.file.name)
        let reached = min(block.offsets.upperBound, span.upperBound)
        // Of an erased record, only its offset is left, as after Kafka's compaction.
        try batches.add(
          records.filter { span.contains($0.offset) && !$0.wire.isErased }, of: partition,
          upTo: reached)
        unread[partition] = reached < span.upperBound ? reached..<span.upperBound : nil
      }
      return !unread.isEmpty
    }
    for (partition, span) in unread.sorted(by: { $0.key < $1.key }) {
      try passGap(partition, upTo: span.upperBound, &unread, index, &batches)
    }
  }

  /// Advances the partition to `offset` if the accepted gaps cover the offsets before it.
  private func passGap(
    _ partition: TopicPartition, upTo offset: Int64,
    _ unread: inout [TopicPartition: Range<Int64>], _ index: ArchiveIndex,
    _ batches: inout PendingBatches
  ) throws {
    while let span = unread[partition], span.lowerBound < offset {
      guard
        let gap = index.manifest.gaps.first(where: {
          $0.topicPartition == partition && $0.offsets.contains(span.lowerBound)
        })
      else {
        throw ArchiveError(
          .damaged, file: Manifest.key,
          "no segment holds \(partition) from offset \(span.lowerBound) up to \(offset)")
      }
      let reached = min(gap.next, span.upperBound)
      guard passesGaps else {
        throw RecordLogError.gap(partition, missing: span.lowerBound..<reached)
      }
      try batches.add([], of: partition, upTo: reached)
      unread[partition] = reached < span.upperBound ? reached..<span.upperBound : nil
    }
  }
}

/// Collects the records of many small blocks into batches of one topic each.
private struct PendingBatches {
  /// The limit for buffered bytes; exceeded by at most one block.
  private static let byteCountMax = 16 << 20

  var maxRecords: Int
  var body: (RecordBatch) throws -> Void
  private var batches: [String: RecordBatch] = [:]
  private var byteCount = 0

  init(maxRecords: Int, body: @escaping (RecordBatch) throws -> Void) {
    self.maxRecords = max(1, maxRecords)
    self.body = body
  }

  mutating func add(_ records: [Record], of partition: TopicPartition, upTo next: Int64) throws {
    let topic = partition.topic
    var rest = records[...]
    repeat {
      var batch =
        batches.removeValue(forKey: topic)
        ?? RecordBatch(topic: topic, records: [], nextOffsets: [:])
      let part = rest.prefix(maxRecords - batch.records.count)
      rest = rest.dropFirst(part.count)
      batch.records += part
      batch.nextOffsets[partition] = rest.isEmpty ? next : (part.last?.offset ?? next - 1) + 1
      byteCount += part.reduce(0) { $0 + $1.memoryByteCount }
      if batch.records.count >= maxRecords {
        byteCount -= batch.records.reduce(0) { $0 + $1.memoryByteCount }
        try body(batch)
      } else {
        batches[topic] = batch
      }
    } while !rest.isEmpty
    if byteCount > Self.byteCountMax { try flush() }
  }

  mutating func flush() throws {
    for (_, batch) in batches.sorted(by: { $0.key < $1.key }) { try body(batch) }
    batches = [:]
    byteCount = 0
  }
}
