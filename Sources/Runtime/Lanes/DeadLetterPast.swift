import Kafka
import Postgres

/// The outcome of the records just before the stored offsets of some partitions, from which a circuit
/// breaker continues to count.
package struct DeadLetterPast: Equatable, Sendable {
  /// Consecutive dead letters that end at the stored offsets, summed over the partitions.
  package var run = 0
  /// The number of offsets examined for the share, the same for each partition.
  package var records = 0
  /// The dead letters among them.
  package var deadLetters = 0

  package init(run: Int = 0, records: Int = 0, deadLetters: Int = 0) {
    self.run = run
    self.records = records
    self.deadLetters = deadLetters
  }
}

extension DeadLetterPast {
  /// The maximum run that is counted. A higher limit means no limit.
  private static let runMax = 10_000

  /// Reads the dead letters before the next offsets of `owned`, by primary key: at most as many rows
  /// of each partition as the breaker's limits require.
  ///
  /// A dead letter that was redriven or discarded counts as applied, and so does an offset without a
  /// record. One of `DeadLetterReason.uncounted` counts for nothing, as in `CircuitBreaker`.
  static func read(
    before owned: [TopicPartition: Ownership], for breaker: CircuitBreaker, consumerGroup: String,
    on connection: Connection
  ) throws -> DeadLetterPast {
    guard !owned.isEmpty else { return DeadLetterPast() }
    let partitions = owned.keys.sorted()
    let share = (breaker.windowRecords + partitions.count - 1) / partitions.count
    let row = try connection.query(
      """
      SELECT coalesce(sum(run.length), 0)::bigint,
        sum(least(p.next_offset, $5) - recent.uncounted)::bigint,
        coalesce(sum(recent.letters), 0)::bigint
      FROM unnest($2::text[], $3::int[], $4::bigint[]) AS p (topic, partition, next_offset)
      CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE reason_code <> ALL ($7)) FROM (
          SELECT record_offset, reason_code,
            row_number() OVER (ORDER BY record_offset DESC) AS number
          FROM dead_letters
          WHERE consumer_group = $1 AND topic = p.topic AND partition = p.partition
            AND record_offset < p.next_offset AND record_offset >= p.next_offset - $6
            AND state = 'open') AS letters
        -- Without gaps.
        WHERE record_offset = p.next_offset - number) AS run (length)
      CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE reason_code <> ALL ($7)),
          count(*) FILTER (WHERE reason_code = ANY ($7))
        FROM dead_letters
        WHERE consumer_group = $1 AND topic = p.topic AND partition = p.partition
          AND record_offset < p.next_offset AND record_offset >= p.next_offset - $5
          AND state = 'open') AS recent (letters, uncounted)
      """,
      [
        .text(consumerGroup), .textArray(partitions.map(\.topic)),
        .int4Array(partitions.map(\.partition)),
        .int8Array(partitions.map { owned[$0]?.nextOffset }), .int8(Int64(share)),
        .int8(Int64(min(breaker.runLimit, runMax))), .textArray(DeadLetterReason.uncounted),
      ]
    ).only
    return DeadLetterPast(
      run: try row.int(0), records: try row.int(1), deadLetters: try row.int(2))
  }
}
