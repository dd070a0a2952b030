import Archive
import Foundation
import Kafka
import RecordLog
import TestSupport

/// A temporary archive directory.
final class ArchiveDirectory {
  let path: String

  init(in parent: String = NSTemporaryDirectory()) throws {
    path = parent + "/archive-\(UUID().uuidString.prefix(13))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var storage: DirectoryStorage { get throws { try DirectoryStorage(path) } }

  func writer() throws -> ArchiveWriter { try ArchiveWriter(storage) }

  /// The keys of all files in the archive, except locks.
  var files: [String] {
    get throws {
      try storage.list("").keys.filter { !$0.hasSuffix("lock") }.sorted()
    }
  }

  func bytes(_ key: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: path + "/" + key)))
  }

  func write(_ key: String, _ bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + key))
  }
}

func place(_ topic: String, _ partition: Int32) -> TopicPartition {
  TopicPartition(topic: topic, partition: partition)
}

/// A violated guarantee of `RecordLog`.
struct Broken: Error { var what: String }

extension RecordLog {
  /// Reads all records in the spans, by partition, and checks the guarantees of `read`.
  func all(_ spans: [TopicPartition: Range<Int64>], maxRecords: Int = 100) throws
    -> [TopicPartition: [Record]]
  {
    var result: [TopicPartition: [Record]] = [:]
    var reached: [TopicPartition: Int64] = [:]
    try read(spans, maxRecords: maxRecords) { batch in
      guard batch.records.count <= maxRecords else { throw Broken(what: "too many records") }
      for record in batch.records {
        let place = record.topicPartition
        guard record.topic == batch.topic, record.offset >= reached[place] ?? 0,
          record.offset < batch.nextOffsets[place] ?? -1
        else { throw Broken(what: "\(place)@\(record.offset)") }
        result[place, default: []].append(record)
      }
      for (partition, next) in batch.nextOffsets {
        guard next > reached[partition] ?? -1 else {
          throw Broken(what: "\(partition) goes backwards")
        }
        reached[partition] = next
      }
    }
    guard reached == spans.filter({ !$0.value.isEmpty }).mapValues(\.upperBound) else {
      throw Broken(what: "not read to the end: \(reached)")
    }
    return result
  }
}

/// A record as hostile as a broker may return.
func randomRecord(
  _ partition: TopicPartition, offset: Int64, _ random: inout SeededGenerator
) -> Record {
  let names = ["", "ce_id", "이름", "a\u{301}"]
  let times: [Int64] = [-1, 0, .min, .max]
  let isOddTime = Int.random(in: 0..<20, using: &random) == 0
  let isLarge = Int.random(in: 0..<200, using: &random) == 0
  let key = randomBytes(upTo: 40, &random)
  let value = randomBytes(upTo: isLarge ? 600_000 : 300, &random)
  var headers: [Header] = []
  for _ in 0..<Int.random(in: 0...3, using: &random) {
    let name = names.randomElement(using: &random) ?? ""
    headers.append(Header(name: name, value: randomBytes(upTo: 30, &random)))
  }
  let usualTime = 1_700_000_000_000 + offset + Int64.random(in: -50...50, using: &random)
  return Record(
    topic: partition.topic, partition: partition.partition, offset: offset,
    timestampMilliseconds: isOddTime ? times.randomElement(using: &random) ?? 0 : usualTime,
    key: key, value: value, headers: headers)
}

private func randomBytes(upTo count: Int, _ random: inout SeededGenerator) -> [UInt8]? {
  let length = Int.random(in: 0...count, using: &random)
  switch Int.random(in: 0..<5, using: &random) {
  case 0: return nil
  case 1: return []
  case 2: return [UInt8](repeating: .random(in: 0...255, using: &random), count: length)
  default: return (0..<length).map { _ in .random(in: 0...255, using: &random) }
  }
}
