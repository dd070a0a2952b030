import Foundation
import Kafka
import RecordLog

/// A partition's offset as it is carried to another cluster: with the record before it, by which
/// the place can be found, or checked, in a log whose offsets are others.
struct ExportedOffset: Codable {
  /// Which record it is, independent of any cluster.
  struct Identity: Codable, Equatable {
    /// Milliseconds since 1970.
    var timestamp: Int64
    /// The headers `ce_id` and `ce_source` in Base64: nobody has checked them.
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
  /// The last record applied, and its offset; absent where the log holds none any more.
  var lastOffset: Int64?
  var last: Identity?
}

extension RecordLog {
  /// The last record before each of these offsets. Looks at no more than the 200 offsets before it:
  /// where compaction or transactions left none in them, there is no answer.
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
