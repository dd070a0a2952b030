import Kafka

/// Estimates how long the oldest unapplied record has been waiting, without reading it: since the
/// record before it was written, or since there was no lag.
///
/// After a start, counts from the assignment until the first batch is applied.
struct LagClock {
  /// Milliseconds since 1970.
  private var waitingSince: [TopicPartition: Int64] = [:]

  mutating func start(_ partition: TopicPartition, nowMilliseconds: Int64) {
    waitingSince[partition] = nowMilliseconds
  }

  /// - Parameter recordMilliseconds: when the last applied record was written; negative if unknown.
  mutating func applied(
    _ partition: TopicPartition, recordMilliseconds: Int64, nowMilliseconds: Int64
  ) {
    waitingSince[partition] =
      recordMilliseconds < 0 ? nowMilliseconds : min(recordMilliseconds, nowMilliseconds)
  }

  mutating func forget(_ partition: TopicPartition) { waitingSince[partition] = nil }

  /// - Parameter lagRecords: the number of unapplied records.
  mutating func seconds(
    _ partition: TopicPartition, lagRecords: Int64, nowMilliseconds: Int64
  ) -> Double {
    guard lagRecords > 0, let since = waitingSince[partition] else {
      waitingSince[partition] = nowMilliseconds
      return 0
    }
    return Double(max(0, nowMilliseconds - since)) / 1000
  }
}
