import Foundation
import Kafka
import RecordLog

/// A partition's offset in an export, with the record before it, by which an import checks the offset
/// or finds its equivalent in another log.
struct ExportedOffset: Codable {
  /// The identity of a record, independent of the cluster.
  struct Identity: Codable, Equatable {
    /// Milliseconds since 1970-01-01 UTC.
    var timestamp: Int64
    /// The headers `ce_id` and `ce_source` in Base64, because they may be any bytes.
    var eventID: String?
    var eventSource: String?
    var keyBase64: String?
    var valueBytes: Int?

    init(_ record: Record) {
      timestamp = record.timestampMilliseconds
      eventID = record.headers.first { $0.name == "ce_id" }?.value.map(base64)
      eventSource = record.headers.first { $0.name == "ce_source" }?.value.map(base64)
      keyBase64 = record.key.map(base64)
      valueBytes = record.value?.count
    }
  }

  var group: String
  var topic: String
  var partition: Int32
  var nextOffset: Int64
  var lowWatermark: Int64
  var highWatermark: Int64
  /// The last applied record and its offset; absent if the log no longer holds one.
  var lastOffset: Int64?
  var last: Identity?
}

extension RecordLog {
  /// The last record before each of these offsets. Searches only the 200 offsets before it, which may
  /// hold no record after compaction or transactions.
  func lastRecords(
    before offsets: [TopicPartition: Int64], in held: [TopicPartition: Range<Int64>]
  ) throws -> [TopicPartition: Record] {
    var spans: [TopicPartition: Range<Int64>] = [:]
    for (place, next) in offsets {
      guard let held = held[place], next > held.lowerBound, next <= held.upperBound else {
        continue
      }
      spans[place] = max(held.lowerBound, next - 200)..<next
    }
    var last: [TopicPartition: Record] = [:]
    try read(spans, maxRecords: 1000) { batch in
      for record in batch.records { last[record.topicPartition] = record }
    }
    return last
  }
}
