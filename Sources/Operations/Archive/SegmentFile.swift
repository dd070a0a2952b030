import Kafka

/// A segment: an immutable file of blocks with a footer that describes each block.
///
///     "MGPSEG1\n" · blocks · footer · footer's length (4 bytes, big-endian) · SHA-256 of the footer
///     · "MGPEND1\n"
///
/// The footer contains: the number of partitions; each partition's topic, number, and the offset
/// where its first block starts; the number of blocks; then for each block, in file order: partition
/// (index), compressed length, raw length, number of offsets covered, number of records, minimum time
/// (zigzag), time span, and the SHA-256 of the compressed bytes. Blocks are contiguous, so every byte
/// of the file belongs to a block, to the footer, or is fixed.
struct SegmentFile {
  static let opening = Array("MGPSEG1\n".utf8)
  static let closing = Array("MGPEND1\n".utf8)
  static let trailerByteCount = 4 + 32 + closing.count
  /// Larger files are rejected before reading them into memory.
  static let byteCountMax = 1 << 30
  private static let checksumByteCount = 32

  /// In file order; within a partition by offset, each starting where the previous one ends.
  var blocks: [(partition: TopicPartition, block: Block)] = []

  /// The offsets that the file covers.
  var spans: [TopicPartition: Range<Int64>] {
    var result: [TopicPartition: Range<Int64>] = [:]
    for (partition, block) in blocks {
      let start = result[partition]?.lowerBound ?? block.offsets.lowerBound
      result[partition] = start..<block.offsets.upperBound
    }
    return result
  }

  /// Validates the framing and the footer, but not the blocks' contents.
  ///
  /// Throws `ArchiveError` naming `file`.
  init(_ bytes: [UInt8], file: String) throws {
    do {
      try self.init(bytes)
    } catch let error as Malformed {
      throw ArchiveError(.damaged, file: file, error.message)
    }
  }

  init(blocks: [(partition: TopicPartition, block: Block)]) { self.blocks = blocks }

  private init(_ bytes: [UInt8]) throws {
    let frame = Self.opening.count + Self.trailerByteCount
    guard bytes.count >= frame, bytes.starts(with: Self.opening),
      bytes.suffix(Self.closing.count).elementsEqual(Self.closing)
    else { throw Malformed("not a complete segment") }
    let trailer = bytes.count - Self.trailerByteCount
    let length = bytes[trailer..<trailer + 4].reduce(0) { $0 << 8 | Int($1) }
    guard length <= bytes.count - frame else {
      throw Malformed("the footer's length \(length) exceeds the file")
    }
    let footer = bytes[trailer - length..<trailer]
    guard sha256(footer).elementsEqual(bytes[trailer + 4..<trailer + 36]) else {
      throw Malformed("the footer's checksum is wrong")
    }
    try decode(footer)
    guard
      (blocks.last.map { $0.block.position + $0.block.byteCount } ?? Self.opening.count)
        == footer.startIndex
    else { throw Malformed("the blocks do not fill the file") }
  }

  private mutating func decode(_ footer: ArraySlice<UInt8>) throws {
    var reader = ByteReader(footer)
    var partitions: [(TopicPartition, next: Int64)] = []
    for _ in 0..<(try reader.count(of: 3)) {
      let topic = try reader.text()
      guard let number = Int32(exactly: try reader.unsigned()),
        let start = Int64(exactly: try reader.unsigned())
      else { throw Malformed("partition number or offset out of bounds") }
      partitions.append((TopicPartition(topic: topic, partition: number), next: start))
    }
    guard Set(partitions.map(\.0)).count == partitions.count else {
      throw Malformed("a partition is listed twice")
    }
    var position = Self.opening.count
    for _ in 0..<(try reader.count(of: 7 + Self.checksumByteCount)) {
      let index = try reader.unsigned()
      guard index < UInt64(partitions.count) else {
        throw Malformed("a block's partition index is out of bounds")
      }
      let numbers = try (0..<4).map { _ in try reader.unsigned() }
      let least = try reader.signed()
      let span = try reader.unsigned()
      let checksum = Array(try reader.take(Self.checksumByteCount))
      let (partition, start) = partitions[Int(index)]
      let (end, endOverflows) = start.addingReportingOverflow(Int64(clamping: numbers[2]))
      let greatest = Int64(bitPattern: UInt64(bitPattern: least) &+ span)
      guard numbers[0] <= UInt64(footer.startIndex - position), greatest >= least, !endOverflows,
        numbers[1] <= UInt64(Block.rawByteCountMax), numbers[3] > 0, numbers[3] <= numbers[2],
        numbers[3] == 1 || numbers[1] <= UInt64(Block.rawByteCountTarget),
        numbers[3] <= numbers[1] / UInt64(Block.recordByteCountMin)
      else { throw Malformed("a block is out of bounds") }
      blocks.append(
        (
          partition,
          Block(
            position: position, byteCount: Int(numbers[0]), rawByteCount: Int(numbers[1]),
            offsets: start..<end, recordCount: Int(numbers[3]), times: least...greatest,
            checksum: checksum)
        ))
      partitions[Int(index)].next = end
      position += Int(numbers[0])
    }
    guard reader.isAtEnd else { throw Malformed("the footer is too long") }
  }

  /// The footer and trailer.
  var ending: [UInt8] {
    var footer = ByteWriter()
    let spans = spans.sorted { $0.key < $1.key }
    footer.count(spans.count)
    var indexes: [TopicPartition: Int] = [:]
    for (partition, offsets) in spans {
      indexes[partition] = indexes.count
      footer.text(partition.topic)
      footer.unsigned(UInt64(partition.partition))
      footer.unsigned(UInt64(offsets.lowerBound))
    }
    footer.count(blocks.count)
    for (partition, block) in blocks {
      footer.count(indexes[partition] ?? 0)
      footer.count(block.byteCount)
      footer.count(block.rawByteCount)
      footer.count(block.offsets.count)
      footer.count(block.recordCount)
      footer.signed(block.times.lowerBound)
      footer.unsigned(UInt64(bitPattern: block.times.upperBound &- block.times.lowerBound))
      footer.bytes += block.checksum
    }
    let length = UInt32(footer.bytes.count)
    return footer.bytes + withUnsafeBytes(of: length.bigEndian) { Array($0) }
      + sha256(footer.bytes) + Self.closing
  }
}
