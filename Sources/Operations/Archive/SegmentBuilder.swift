import Kafka

/// A segment under construction, in memory: compressed blocks and one open block per partition.
struct SegmentBuilder {
  /// The limit for all open blocks together; beyond it they are closed.
  static let openByteCountMax = 32 << 20

  private var bytes = SegmentFile.opening
  private var blocks: [(partition: TopicPartition, block: Block)] = []
  private var open: [TopicPartition: OpenBlock] = [:]
  private var openByteCount = 0
  private(set) var recordCount = 0

  var isEmpty: Bool { recordCount == 0 }
  /// An upper estimate of the segment's size.
  var byteCount: Int { bytes.count + openByteCount }

  /// Appends a record. Throws `ArchiveError` for a record that is too large for a block.
  ///
  /// - Parameter start: the first offset not covered yet, at or below the record's.
  mutating func append(_ record: Record, after start: Int64) throws {
    // Lengths and other integers take at most ten bytes each.
    let byteCount = record.byteCount + 20 * record.headers.count + 50
    guard byteCount <= Block.rawByteCountMax else {
      throw ArchiveError(
        .unusable,
        "\(record.topicPartition)@\(record.offset) has \(record.byteCount) bytes; an archive accepts "
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

  /// The complete file. The builder cannot be used afterwards.
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
