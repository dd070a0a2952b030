import Kafka

/// Records on their way into a segment, in memory: compressed blocks and one open block a partition.
struct SegmentBuilder {
  /// What all open blocks may hold together before they are closed.
  static let openByteCountMax = 32 << 20

  private var bytes = SegmentFile.opening
  private var blocks: [(partition: TopicPartition, block: Block)] = []
  private var open: [TopicPartition: OpenBlock] = [:]
  private var openByteCount = 0
  private(set) var recordCount = 0

  var isEmpty: Bool { recordCount == 0 }
  /// About what the segment will have at most.
  var byteCount: Int { bytes.count + openByteCount }

  /// - Parameter start: the first offset that is not covered yet, at or below the record's.
  ///
  /// Throws `ArchiveError` for a record that no block can hold.
  mutating func append(_ record: Record, after start: Int64) throws {
    // What the numbers around it take besides: at most ten bytes each.
    let byteCount = record.byteCount + 20 * record.headers.count + 50
    guard byteCount <= Block.rawByteCountMax else {
      throw ArchiveError(
        .unusable,
        "\(record.topicPartition)@\(record.offset) has \(record.byteCount) bytes; an archive takes "
          + "records of up to \(Block.rawByteCountMax >> 20) MiB")
    }
    let partition = record.topicPartition
    if let block = open[partition], !block.raw.bytes.isEmpty,
      block.raw.bytes.count + byteCount > Block.rawByteCountTarget
    {
      try close(partition)
    }
    let before = open[partition]?.raw.bytes.count ?? 0
    open[partition, default: OpenBlock(start: start)].append(record)
    openByteCount += (open[partition]?.raw.bytes.count ?? 0) - before
    recordCount += 1
    if openByteCount > Self.openByteCountMax { try closeAll() }
  }

  /// The whole file. The builder is spent.
  mutating func finish() throws -> (bytes: [UInt8], file: SegmentFile) {
    try closeAll()
    let file = SegmentFile(blocks: blocks)
    bytes += file.ending
    return (bytes, file)
  }

  private mutating func closeAll() throws {
    for partition in open.keys.sorted() { try close(partition) }
  }

  private mutating func close(_ partition: TopicPartition) throws {
    guard let block = open.removeValue(forKey: partition) else { return }
    let compressed = try Zstandard.compress(block.raw.bytes)
    blocks.append(
      (
        partition,
        Block(
          position: bytes.count, byteCount: compressed.count,
          rawByteCount: block.raw.bytes.count, offsets: block.offsets,
          recordCount: block.recordCount, times: block.times, checksum: sha256(compressed))
      ))
    bytes += compressed
    openByteCount -= block.raw.bytes.count
  }
}
