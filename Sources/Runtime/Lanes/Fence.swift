import Kafka
import Postgres

/// What a lane knows of a partition that it owns.
package struct Ownership: Equatable, Sendable {
  /// As stored in `consumer_offsets`: the first record that is not applied yet.
  package var nextOffset: Int64
  /// The epoch under which this lane owns the partition.
  package var epoch: Int64

  package init(nextOffset: Int64, epoch: Int64) {
    self.nextOffset = nextOffset
    self.epoch = epoch
  }
}

/// The statements around `consumer_offsets`; see migrations 0001 and 0010.
struct Fence {
  var consumerGroup: String

  /// Takes the partitions over from whoever had them; `starts` is where to begin in those that
  /// this group never consumed.
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

  /// Moves the offsets of the batch's partitions, or raises; opens the batch's transaction.
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

  /// The last record applied in each of these partitions, where it is known. Locks nothing; what was
  /// moved since is left out.
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

  /// What is stored now. Waits for the outcome of a transaction that has the rows locked, which is
  /// how a commit whose reply was lost is told from one that never happened.
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

  /// Whether these are the stored offsets and epochs. Locks nothing.
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
        nextOffset: Int64(try row.int(2)), epoch: Int64(try row.int(3)))
    }
    return result
  }
}
