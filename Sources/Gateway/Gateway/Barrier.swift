import Events
import Postgres

/// The records that must be applied before a screen is read: for each consumer group, an offset per
/// partition.
///
/// Workers advance `consumer_offsets` in the transaction that writes a batch's results. So a
/// snapshot in which the next offset is greater than a record's offset contains that record's
/// results, also on a replica.
struct Barrier: Equatable, Sendable {
  struct Bound: Hashable, Sendable {
    var group: ConsumerGroup
    var topic: Topic
    var partition: Int32
    var offset: Int64
  }

  var bounds: Set<Bound>

  /// One bound for each position and each group in `groups` that consumes its topic.
  init(_ positions: [Position], groups: Set<ConsumerGroup>) {
    bounds = Set(
      positions.flatMap { position in
        ConsumerGroup.reading(position.topic).filter(groups.contains).map { group in
          Bound(
            group: group, topic: position.topic, partition: position.partition,
            offset: position.offset)
        }
      })
  }

  var isEmpty: Bool { bounds.isEmpty }

  /// Whether the barrier includes notification-worker. What it publishes is rendered by
  /// alarm-worker in a separate, later transaction.
  var hasNotifications: Bool { bounds.contains { $0.group == .notification } }

  /// Returns one row with one boolean: whether the snapshot contains the results of all bounds.
  func statement(topicPrefix: String) -> Statement {
    let bounds = Array(bounds)
    return Statement(
      """
      SELECT NOT EXISTS (
        SELECT FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[])
          AS b (consumer_group, topic, partition, record_offset)
        LEFT JOIN consumer_offsets c
          ON c.consumer_group = b.consumer_group COLLATE "C" AND c.topic = b.topic COLLATE "C"
            AND c.partition = b.partition
        WHERE c.next_offset IS NULL OR c.next_offset <= b.record_offset)
      """,
      [
        .textArray(bounds.map { $0.group.name(prefix: topicPrefix) }),
        .textArray(bounds.map { $0.topic.name(prefix: topicPrefix) }),
        .int4Array(bounds.map(\.partition)), .int8Array(bounds.map(\.offset)),
      ])
  }
}
