import Kafka

/// What a segment's footer says of one block: a compressed run of records of one partition.
struct Block: Equatable {
  /// Where the compressed bytes are in the file.
  var position: Int
  var byteCount: Int
  /// Bytes once decompressed.
  var rawByteCount: Int
  /// Every record of the log within these offsets is here.
  var offsets: Range<Int64>
  var recordCount: Int
  /// The least and the greatest record time, in milliseconds since 1970.
  var times: ClosedRange<Int64>
  /// SHA-256 of the compressed bytes.
  var checksum: [UInt8]

  /// Only a block of one record may have more.
  static let rawByteCountTarget = 256 << 10
  /// More than any broker of ours hands out in one record, and a bound on what a decoder allocates.
  static let rawByteCountMax = 256 << 20
  /// Offset, time, key, value, number of headers.
  static let recordByteCountMin = 5
}

/// Records of one partition on their way into a block.
///
/// Each record is: offset less the one expected next; time less the last one's, zigzag; key; value;
/// number of headers; each header's name and value. Key and values are length plus one and bytes,
/// 0 for null.
struct OpenBlock {
  private(set) var raw = ByteWriter()
  private(set) var offsets: Range<Int64>
  private(set) var recordCount = 0
  private(set) var times: ClosedRange<Int64> = 0...0
  private var lastTime: Int64 = 0

  /// - Parameter start: the first offset that the block covers, at or below its first record's.
  init(start: Int64) { offsets = start..<start }

  /// - Parameter record: its offset is at or above `offsets.upperBound`.
  mutating func append(_ record: Record) {
    let time = record.timestampMilliseconds
    raw.unsigned(UInt64(record.offset - offsets.upperBound))
    raw.signed(time &- lastTime)
    raw.optional(record.key)
    raw.optional(record.value)
    raw.count(record.headers.count)
    for header in record.headers {
      raw.text(header.name)
      raw.optional(header.value)
    }
    offsets = offsets.lowerBound..<record.offset + 1
    times =
      recordCount == 0 ? time...time : min(times.lowerBound, time)...max(times.upperBound, time)
    lastTime = time
    recordCount += 1
  }
}

extension Block {
  /// The block's records, decompressed and checked against everything that the footer says of them.
  ///
  /// Throws `Malformed`.
  func records(of partition: TopicPartition, in file: [UInt8]) throws -> [Record] {
    let compressed = file[position..<position + byteCount]
    guard sha256(compressed) == checksum else { throw Malformed("the block's checksum is wrong") }
    let raw = try Zstandard.decompress(compressed, to: rawByteCount)
    var reader = ByteReader(raw[...])
    var records: [Record] = []
    records.reserveCapacity(recordCount)
    var expected = offsets.lowerBound
    var time: Int64 = 0
    while !reader.isAtEnd {
      let skipped = try reader.unsigned()
      guard skipped < UInt64(offsets.upperBound - expected) else {
        throw Malformed("a record lies outside of its block's offsets")
      }
      let offset = expected + Int64(skipped)
      time = time &+ (try reader.signed())
      guard times.contains(time) else {
        throw Malformed("offset \(offset) is outside of the index")
      }
      let key = try reader.optional()
      let value = try reader.optional()
      var headers: [Header] = []
      for _ in 0..<(try reader.count(of: 2)) {
        headers.append(Header(name: try reader.text(), value: try reader.optional()))
      }
      records.append(
        Record(
          topic: partition.topic, partition: partition.partition, offset: offset,
          timestampMilliseconds: time, key: key, value: value, headers: headers))
      expected = offset + 1
    }
    guard expected == offsets.upperBound, records.count == recordCount else {
      throw Malformed("the block holds \(records.count) records up to offset \(expected)")
    }
    let found = records.map(\.timestampMilliseconds)
    guard found.min() == times.lowerBound, found.max() == times.upperBound else {
      throw Malformed("the block's times are not those of its records")
    }
    return records
  }
}
