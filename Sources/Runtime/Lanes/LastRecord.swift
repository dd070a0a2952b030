import Events
package import Kafka

/// The last applied record of a partition. It is stored with the next offset, because an offset alone
/// does not distinguish the log from another one of the same name.
package struct LastRecord: Hashable, Codable, Sendable {
  /// Less than the next offset, not always by one: compaction and transactions leave offsets without
  /// a record.
  package var offset: Int64
  /// The record's time in milliseconds since 1970 and a checksum of its key, value and headers, such
  /// as `1732244400123-9f86d081884c7d65`. A copy of the record in another cluster has the same one.
  package var identity: String

  package init(offset: Int64, identity: String) {
    self.offset = offset
    self.identity = identity
  }

  package init(_ record: Record) {
    offset = record.offset
    let checksum = String(record.checksum, radix: 16)
    identity =
      "\(record.timestampMilliseconds)-" + String(repeating: "0", count: 16 - checksum.count)
      + checksum
  }

  var description: String {
    let milliseconds = identity.prefix { $0 != "-" }
    guard let time = Int64(milliseconds), (0...253_402_300_799_999).contains(time) else {
      return identity
    }
    return "that of \(EventTime(microseconds: time * 1000).rfc3339) (\(identity))"
  }
}

extension Record {
  /// FNV-1a of key, value and headers, each prefixed by its length, so that a byte that moves from one
  /// to the next changes it. Detects accidents, not forgery.
  fileprivate var checksum: UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func add(_ bytes: some Sequence<UInt8>) {
      for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
    func add(_ field: [UInt8]?) {
      withUnsafeBytes(of: Int64(field?.count ?? -1).littleEndian) { add($0) }
      field?.withUnsafeBufferPointer { add($0) }
    }
    add(key)
    add(value)
    for header in headers {
      add(Array(header.name.utf8))
      add(header.value)
    }
    return hash
  }
}

/// Detects topics that were recreated: each partition is read from its last applied record, which is
/// compared with the stored identity.
///
/// A partition whose last record is unknown, or no longer in the log (retention, compaction, an erasure in an
/// archive), is not compared.
package struct Recognition: Sendable {
  private var expected: [TopicPartition: LastRecord] = [:]
  /// Whether a last applied record was found in its log, or there was none to find.
  package private(set) var hasRecognized = false

  package init() {}

  /// The group has applied nothing yet.
  package mutating func expectNothing() { hasRecognized = true }

  /// Adds partitions to compare.
  package mutating func expect(_ last: [TopicPartition: LastRecord]) {
    expected.merge(last) { $1 }
  }

  /// Removes a partition that is revoked or cannot be compared.
  package mutating func forget(_ partition: TopicPartition) { expected[partition] = nil }

  /// The offset of the record to compare; nil if there is none.
  package func start(of partition: TopicPartition) -> Int64? { expected[partition]?.offset }

  /// Compares the first record of each partition. The records are in the order in which they were read.
  ///
  /// - Throws: `AnotherLog`.
  package mutating func check(_ records: [Record]) throws {
    guard !expected.isEmpty else { return }
    for record in records {
      let partition = record.topicPartition
      guard let last = expected.removeValue(forKey: partition) else { continue }
      let found = LastRecord(record)
      if found.offset == last.offset, found != last, !record.wire.isChangedByErasure {
        throw AnotherLog(partition: partition, expected: last, found: found)
      }
      hasRecognized = hasRecognized || found == last
      if expected.isEmpty { return }
    }
  }
}

/// A partition holds another record at the offset of the last applied one.
package struct AnotherLog: Error, CustomStringConvertible {
  package var partition: TopicPartition
  package var expected: LastRecord
  package var found: LastRecord

  package var description: String {
    "\(partition) is another log than the one applied so far: the record applied last, at offset "
      + "\(expected.offset), was \(expected.description), but the one there is "
      + "\(found.description)"
  }
}
