import Events
import Postgres

/// What must be applied before a screen is read: for each consumer group, the last record.
///
/// Workers move `consumer_offsets` in the transaction that writes a batch's results. So a snapshot in
/// which the next offset is greater than a record's contains that record's results, on a replica, too.
struct Barrier: Equatable, Sendable {
  struct Bound: Hashable, Sendable {
    var group: ConsumerGroup
    var topic: Topic
    var partition: Int32
    var offset: Int64
  }

  var bounds: Set<Bound>

  /// The positions, for each group that consumes their topic and whose results `groups` names.
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

  /// Whether notification-worker's results are waited for: what it then publishes, alarm-worker
  /// renders in a transaction of its own.
  var hasNotifications: Bool { bounds.contains { $0.group == .notification } }

  /// Returns one row: whether the snapshot contains all of it.
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
