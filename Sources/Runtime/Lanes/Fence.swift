import Kafka
import Postgres

/// A lane's view of a partition that it owns.
package struct Ownership: Equatable, Sendable {
  /// The stored offset: the first record that is not applied yet.
  package var nextOffset: Int64
  /// The epoch that the lane's claim wrote.
  package var epoch: Int64

  package init(nextOffset: Int64, epoch: Int64) {
    self.nextOffset = nextOffset
    self.epoch = epoch
  }
}

/// Statements on `consumer_offsets`; see migrations 0001 and 0010.
struct Fence {
  var consumerGroup: String

  /// Claims partitions. `starts` applies to those that the group never consumed.
  func claim(_ starts: [TopicPartition: Int64], on connection: Connection) throws
    -> [TopicPartition: Ownership]
  {
    let partitions = starts.keys.sorted()
    let rows = try connection.query(
      """
      SELECT topic, partition, next_offset, owner_epoch
      FROM fence_claim($1, $2::text[], $3::int[], $4::bigint[])
      """,
      [
        .text(consumerGroup), .textArray(partitions.map(\.topic)),
        .int4Array(partitions.map(\.partition)), .int8Array(partitions.map { starts[$0] }),
      ])
    return try owned(rows)
  }

  /// The statement that advances the offsets of the batch's partitions, or fails if the lane is fenced.
  /// It is the first of the batch's transaction.
  func advance(_ owned: [TopicPartition: Ownership], past batch: Batch) -> Statement {
    let (nextOffsets, last) = (batch.nextOffsets, batch.lastRecords)
    let partitions = nextOffsets.keys.sorted()
    return Statement(
      "SELECT fence_advance($1, $2, $3, $4, $5, $6, $7, $8)",
      [
        .text(consumerGroup), .textArray(partitions.map(\.topic)),
        .int4Array(partitions.map(\.partition)),
        .int8Array(partitions.map { owned[$0]?.nextOffset }),
        .int8Array(partitions.map { nextOffsets[$0] }),
        .int8Array(partitions.map { owned[$0]?.epoch }),
        .int8Array(partitions.map { last[$0]?.offset }),
        .textArray(partitions.map { last[$0]?.identity }),
      ])
  }

  /// The statement that fails if the lane is fenced, and otherwise keeps others from claiming the
  /// partitions until the transaction ends.
  func hold(_ owned: [TopicPartition: Ownership]) -> Statement {
    let partitions = owned.keys.sorted()
    return Statement(
      "SELECT fence_hold($1, $2, $3, $4)",
      [
        .text(consumerGroup), .textArray(partitions.map(\.topic)),
        .int4Array(partitions.map(\.partition)),
        .int8Array(partitions.map { owned[$0]?.epoch }),
      ])
  }

  /// Whether the last applied record of any of the group's partitions is known.
  func hasLastRecords(on connection: Connection) throws -> Bool {
    try connection.query(
      """
      SELECT EXISTS (
        SELECT FROM consumer_offsets c WHERE c.consumer_group = $1 AND c.last_offset IS NOT NULL)
      """, [.text(consumerGroup)]
    ).only.bool(0)
  }

  /// The last applied record of each partition, if it is known. Takes no locks; skips partitions
  /// claimed by another process since.
  func lastRecords(_ owned: [TopicPartition: Ownership], on connection: Connection) throws
    -> [TopicPartition: LastRecord]
  {
    let partitions = Array(owned.keys)
    let rows = try connection.query(
      """
      SELECT topic, partition, c.last_offset, c.last_identity FROM consumer_offsets c
      JOIN unnest($2::text[], $3::int[], $4::bigint[]) AS o (topic, partition, owner_epoch)
        USING (topic, partition, owner_epoch)
      WHERE c.consumer_group = $1 AND c.last_offset IS NOT NULL
      """,
      [
        .text(consumerGroup), .textArray(partitions.map(\.topic)),
        .int4Array(partitions.map(\.partition)),
        .int8Array(partitions.map { owned[$0]?.epoch }),
      ])
    var result: [TopicPartition: LastRecord] = [:]
    for row in rows {
      let partition = TopicPartition(
        topic: try row.text(0), partition: Int32(clamping: try row.int(1)))
      result[partition] = LastRecord(offset: try row.int8(2), identity: try row.text(3))
    }
    return result
  }

  /// The stored offsets and epochs. Waits for transactions that have the rows locked, which tells
  /// whether a commit with a lost response happened.
  func stored(_ partitions: [TopicPartition], on connection: Connection) throws
    -> [TopicPartition: Ownership]
  {
    let partitions = partitions.sorted()
    return try owned(
      connection.query(
        """
        SELECT c.topic, c.partition, c.next_offset, c.owner_epoch
        FROM consumer_offsets c
        JOIN unnest($2::text[], $3::int[]) AS p (topic, partition)
          ON c.topic = p.topic AND c.partition = p.partition
        WHERE c.consumer_group = $1
        ORDER BY c.topic, c.partition
        FOR UPDATE OF c
        """,
        [
          .text(consumerGroup), .textArray(partitions.map(\.topic)),
          .int4Array(partitions.map(\.partition)),
        ]))
  }

  /// Whether the stored offsets and epochs equal these. Takes no locks.
  func holds(_ owned: [TopicPartition: Ownership], on connection: Connection) throws -> Bool {
    let partitions = Array(owned.keys)
    let rows = try connection.query(
      """
      SELECT count(*) FROM consumer_offsets c
      JOIN unnest($2::text[], $3::int[], $4::bigint[], $5::bigint[])
        AS o (topic, partition, next_offset, owner_epoch)
        USING (topic, partition, next_offset, owner_epoch)
      WHERE c.consumer_group = $1
      """,
      [
        .text(consumerGroup), .textArray(partitions.map(\.topic)),
        .int4Array(partitions.map(\.partition)),
        .int8Array(partitions.map { owned[$0]?.nextOffset }),
        .int8Array(partitions.map { owned[$0]?.epoch }),
      ])
    return try rows.only.int(0) == owned.count
  }

  private func owned(_ rows: Rows) throws -> [TopicPartition: Ownership] {
    var result: [TopicPartition: Ownership] = [:]
    for row in rows {
      let partition = TopicPartition(
        topic: try row.text(0), partition: Int32(clamping: try row.int(1)))
      result[partition] = Ownership(
        nextOffset: try row.int8(2), epoch: try row.int8(3))
    }
    return result
  }
}
