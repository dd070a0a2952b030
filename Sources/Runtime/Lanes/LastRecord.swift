import Events
package import Kafka

/// The last record that was applied of a partition. It is stored with the next offset, because an
/// offset alone does not tell the log that was read from another one of the same name.
package struct LastRecord: Hashable, Codable, Sendable {
  /// Below the next offset, and not always by one: compaction and transactions leave offsets without
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

  /// For people.
  var description: String {
    let milliseconds = identity.prefix { $0 != "-" }
    guard let time = Int64(milliseconds), (0...253_402_300_799_999).contains(time) else {
      return identity
    }
    return "that of \(EventTime(microseconds: time * 1000).rfc3339) (\(identity))"
  }
}

extension Record {
  /// FNV-1a of key, value and headers, each behind its length, so that no byte can move from one to
  /// the next unnoticed. Against accidents, not against forgery.
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

/// Whether the logs being read are those that were read before: each partition is read again from
/// the last record that was applied, and what is found there is compared.
///
/// A partition whose last record is unknown, or not in the log any more (retention, compaction),
/// cannot be compared and is taken for the same.
package struct Recognition: Sendable {
  private var expected: [TopicPartition: LastRecord] = [:]

  package init() {}

  /// Compares these partitions by the records named.
  package mutating func expect(_ last: [TopicPartition: LastRecord]) {
    expected.merge(last) { $1 }
  }

  /// A partition is not read any more, or cannot be compared.
  package mutating func forget(_ partition: TopicPartition) { expected[partition] = nil }

  /// Where to begin reading in order to compare; nil where there is nothing to compare.
  package func start(of partition: TopicPartition) -> Int64? { expected[partition]?.offset }

  /// Looks at records in the order in which they are read. Of a partition only the first counts.
  ///
  /// - Throws: `AnotherLog`.
  package mutating func check(_ records: [Record]) throws {
    guard !expected.isEmpty else { return }
    for record in records {
      let partition = record.topicPartition
      guard let last = expected.removeValue(forKey: partition) else { continue }
      let found = LastRecord(record)
      if found.offset == last.offset, found != last {
        throw AnotherLog(partition: partition, expected: last, found: found)
      }
      if expected.isEmpty { return }
    }
  }
}

/// A partition holds another record where the last one that was applied should be.
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
