import Kafka

/// A segment footer's entry for one block: a compressed run of records of one partition.
struct Block: Equatable {
  /// The position of the compressed bytes in the file.
  var position: Int
  var byteCount: Int
  /// The size after decompression.
  var rawByteCount: Int
  /// The block holds every record of the log within these offsets.
  var offsets: Range<Int64>
  var recordCount: Int
  /// The minimum and maximum record time, in milliseconds since 1970.
  var times: ClosedRange<Int64>
  /// SHA-256 of the compressed bytes.
  var checksum: [UInt8]

  /// Only a block of a single record may exceed this.
  static let rawByteCountTarget = 256 << 10
  /// Above any record size that our brokers allow; bounds the decoder's allocations.
  static let rawByteCountMax = 256 << 20
  /// Offset, time, key, value, number of headers: one byte each.
  static let recordByteCountMin = 5
}

/// A block under construction: records of one partition.
///
/// Each record is encoded as: offset minus the next expected one; time minus the previous record's,
/// zigzag; key; value; number of headers; each header's name and value. Keys and values are encoded
/// as length plus one followed by the bytes; 0 means null.
struct OpenBlock {
  private(set) var raw = ByteWriter()
  private(set) var offsets: Range<Int64>
  private(set) var recordCount = 0
  private(set) var times: ClosedRange<Int64> = 0...0
  private var lastTime: Int64 = 0

  /// - Parameter start: the first offset that the block covers, at or below the first record's.
  init(start: Int64) { offsets = start..<start }

  /// - Parameter record: a record with an offset at or above `offsets.upperBound`.
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
  /// Decompresses the block's records and checks them against the footer's entry.
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
        throw Malformed("a record is outside its block's offsets")
      }
      let offset = expected + Int64(skipped)
      time = time &+ (try reader.signed())
      guard times.contains(time) else {
        throw Malformed("the time of offset \(offset) is outside the block's times")
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
      throw Malformed("the block's times differ from its records'")
    }
    return records
  }
}
