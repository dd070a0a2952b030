import Events
import Kafka
import Postgres

/// A change of a partition's stored offset.
struct OffsetMove: Encodable {
  var group: String
  var topic: String
  var partition: Int32
  /// Absent if the partition was never assigned to a worker.
  var from: Int64?
  var to: Int64
  var lowWatermark: Int64
  var highWatermark: Int64
  /// The number of offsets that would not be applied, with or without a record.
  var skipped: Int64
  /// The number of offsets whose records would be applied again.
  var reapplied: Int64

  init(_ group: String, _ place: TopicPartition, from: Int64?, to: Int64, log: Watermarks) {
    self.group = group
    (topic, partition) = (place.topic, place.partition)
    (self.from, self.to) = (from, to)
    (lowWatermark, highWatermark) = (log.low, log.high)
    let start = from ?? log.low
    skipped = max(0, to - start)
    // A stored offset past the end offset belongs to another log.
    reapplied = max(0, min(start, log.high) - to)
  }

  var text: String {
    var text = "\(escapedForDisplay(group))  \(escapedForDisplay(topic))/\(partition)"
    text += "  \(from.map(String.init) ?? "none") to \(to)"
    text += "  (log \(lowWatermark) to \(highWatermark))"
    if skipped > 0 { text += Style.red("  skips \(skipped)") }
    if reapplied > 0 { text += "  applies \(reapplied) again" }
    return text
  }

  /// Writes the offsets and increments the epochs in the same statement, so that a lane cannot commit a
  /// batch that began at an old offset. Clears the last record's identity, because the operator vouches
  /// for the log. Remembers how far the rows are, for rebuilds.
  static func write(_ moves: [OffsetMove], _ connection: Connection) throws {
    let moves = moves.sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
    try connection.query(
      """
      INSERT INTO consumer_offsets AS c (consumer_group, topic, partition, next_offset, owner_epoch)
      SELECT *, 1 FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[])
      ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET
        next_offset = excluded.next_offset, owner_epoch = c.owner_epoch + 1, updated_at = now(),
        last_offset = NULL, last_identity = NULL,
        applied_offset = greatest(c.applied_offset, c.next_offset)
      """,
      [
        .textArray(moves.map(\.group)), .textArray(moves.map(\.topic)),
        .int4Array(moves.map(\.partition)), .int8Array(moves.map(\.to)),
      ])
  }
}

extension Connection {
  /// Runs a transaction that waits for a worker's batch for at most 20 s.
  func shortTransaction<T>(_ body: () throws -> T) throws -> T {
    do {
      return try transaction {
        try script("SET LOCAL lock_timeout = '20s'")
        return try body()
      }
    } catch let error as PostgresError where error.sqlstate == "55P03" {
      throw Failure(
        .unavailable,
        "A worker's transaction has locked these offsets for 20 s. Try again, or stop the "
          + "workers first.")
    }
  }
}
