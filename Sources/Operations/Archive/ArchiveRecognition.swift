import Kafka
import Lanes
package import RecordLog

extension Manifest {
  /// Compares the last archived record of each partition of these topics with the one that the log holds
  /// at its offset, if it still does: offsets alone do not tell a log from another one of the same name.
  ///
  /// - Throws: `AnotherLog`, or the error of reading the log.
  package func recognize(_ log: any RecordLog, topics: [String]) throws {
    let held = try log.knownSpans(of: topics)
    var recognition = Recognition()
    var compared: [TopicPartition: Range<Int64>] = [:]
    for (partition, last) in lastRecords where held[partition]?.contains(last.offset) ?? false {
      recognition.expect([partition: last])
      compared[partition] = last.offset..<last.offset + 1
    }
    try log.read(compared, maxRecords: 1000) { try recognition.check($0.records) }
  }
}
