import ArgumentParser
import Events
import Kafka
import Postgres

/// The options that select groups, topics and partitions.
struct OffsetScope: ParsableArguments {
  @Option(
    help: """
      The worker or consumer group: \
      \(ConsumerGroup.allCases.map(\.rawValue).joined(separator: ", ")), or the full name.
      """)
  var group: String?

  @Option(help: "The topic: likes, or the full name.")
  var topic: String?

  @Option(parsing: .unconditional, help: "The partition; needs --topic.")
  var partition: Int32?

  func validate() throws {
    guard partition == nil || topic != nil else {
      throw ValidationError("--partition needs --topic.")
    }
  }

  func groups(prefix: String) throws -> [ConsumerGroup] {
    try ConsumerGroup.named(group, prefix: prefix)
  }

  /// The full names of the selected topics.
  func topics(of group: ConsumerGroup, prefix: String) throws -> [String] {
    try group.topics(named: topic, isOnlyGroup: self.group != nil, prefix: prefix)
  }

  func includes(_ place: TopicPartition) -> Bool {
    partition == nil || partition == place.partition
  }
}

extension ConsumerGroup {
  /// The groups that an option selects: all, or the one with this worker's name or full name.
  ///
  /// - Throws: `Failure` if there is no such group with the prefix.
  static func named(_ name: String?, prefix: String) throws -> [ConsumerGroup] {
    guard let name else { return allCases }
    let found = allCases.filter { [name, prefix + name].contains($0.name(prefix: prefix)) }
    guard !found.isEmpty else {
      throw Failure(
        .usage,
        "There is no consumer group \(name). The groups are "
          + allCases.map { $0.name(prefix: prefix) }.joined(separator: ", ") + ".")
    }
    return found
  }

  /// The full names of this group's topics that an option selects: all, or the one with this name.
  ///
  /// - Parameter isOnlyGroup: whether an option selects the group. Otherwise a topic that only other
  ///   groups read gives none.
  /// - Throws: `Failure` if there is no such topic.
  func topics(named topic: String?, isOnlyGroup: Bool, prefix: String) throws -> [String] {
    let all = topics.map { $0.name(prefix: prefix) }
    guard let topic else { return all }
    let found = all.filter { $0 == topic || $0 == prefix + topic }
    if !found.isEmpty { return found }
    guard Topic(rawValue: topic) != nil || Topic(name: topic, prefix: prefix) != nil else {
      throw Failure(
        .usage,
        "There is no topic \(topic). The topics are "
          + Topic.allCases.map { $0.name(prefix: prefix) }.joined(separator: ", ") + ".")
    }
    guard !isOnlyGroup else {
      throw Failure(
        .usage,
        "\(name(prefix: prefix)) does not read the topic \(topic); it reads "
          + all.joined(separator: ", ") + ".")
    }
    return []
  }
}

/// A row of `consumer_offsets`.
struct StoredOffset {
  var nextOffset: Int64
  var epoch: Int64
  var movedAt: EventTime

  /// All rows, by consumer group and partition.
  static func read(_ connection: Connection) throws -> [String: [TopicPartition: StoredOffset]] {
    try read(
      connection.query(
        """
        SELECT consumer_group, topic, partition, next_offset, owner_epoch, updated_at
        FROM consumer_offsets
        """))
  }

  /// The rows of one group, locked until the end of the transaction, in the fence's order.
  static func lock(_ group: String, _ connection: Connection) throws
    -> [TopicPartition: StoredOffset]
  {
    try read(
      connection.query(
        """
        SELECT consumer_group, topic, partition, next_offset, owner_epoch, updated_at
        FROM consumer_offsets WHERE consumer_group = $1 ORDER BY topic, partition FOR UPDATE
        """, [.text(group)]))[group] ?? [:]
  }

  private static func read(_ rows: Rows) throws -> [String: [TopicPartition: StoredOffset]] {
    var result: [String: [TopicPartition: StoredOffset]] = [:]
    for row in rows {
      let place = TopicPartition(topic: try row.text(1), partition: Int32(try row.int(2)))
      result[try row.text(0), default: [:]][place] = StoredOffset(
        nextOffset: try row.int8(3), epoch: try row.int8(4),
        movedAt: EventTime(microseconds: try row.timestamptz(5)))
    }
    return result
  }
}
