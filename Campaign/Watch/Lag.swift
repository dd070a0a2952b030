import Events
import Kafka

/// The work left for the workers.
struct Lag {
  let records: Int64
  let other: Int

  var isZero: Bool { records == 0 && other == 0 }

  /// Reads stored offsets before end offsets. If they are equal, no records were waiting at the
  /// time of the query, because workers publish their own records before storing the offsets of the
  /// records that caused them.
  ///
  /// - Parameter ends: up to which records count; nil for all.
  init(_ world: World, _ admin: Admin, upTo ends: [TopicPartition: Int64]? = nil) throws {
    let rows = try world.connection().query(
      """
      SELECT consumer_group, topic, partition, next_offset,
        (SELECT count(*) FROM pending_renders)
          + (SELECT count(*) FROM pending_publications)
          + (SELECT count(*) FROM notification_recipients WHERE deleted_all_at > swept_at)
          + (SELECT count(*) FROM notification_reviews)
          + (SELECT count(*) FROM notification_scoped_reviews)
          + (SELECT count(*) FROM subscription_work)
          + (SELECT count(*) FROM feed_trims)
          + (SELECT count(*) FROM reminders WHERE due_at < now() + interval '1 hour')
          + (SELECT count(*) FROM reminder_rings WHERE NOT is_published)
          + (SELECT count(*) FROM erasures WHERE waits_for <> '{}')
          + \(ConsumerGroup.allCases.map { "(SELECT count(*) FROM \($0)_erasures)" }
            .joined(separator: " + ")) AS other
      FROM consumer_offsets
      """)
    var stored: [String: Int64] = [:]
    for row in rows {
      stored["\(try row.text(0)) \(try row.text(1)) \(try row.int(2))"] = try row.int8(3)
    }
    other = try rows.first?.int(4) ?? 1
    var lag: Int64 = 0
    for (partition, end) in try ends ?? Self.ends(world, admin) {
      guard let topic = Topic(name: partition.topic, prefix: world.topicPrefix) else { continue }
      for group in ConsumerGroup.reading(topic) {
        let place =
          "\(group.name(prefix: world.topicPrefix)) \(partition.topic) \(partition.partition)"
        lag += max(0, end - (stored[place] ?? 0))
      }
    }
    records = lag
  }

  /// The end of each partition's log.
  ///
  /// - Throws: `CampaignError` if a topic is not listed: a broker that has just started may not list all yet.
  static func ends(_ world: World, _ admin: Admin) throws -> [TopicPartition: Int64] {
    let names = Set(Topic.allCases.map { $0.name(prefix: world.topicPrefix) })
    let watermarks = try admin.watermarks(topics: names.sorted(), timeoutMilliseconds: 3000)
    let missing = names.subtracting(watermarks.keys.map(\.topic))
    guard missing.isEmpty else { throw CampaignError("not listed: \(missing.sorted())") }
    return watermarks.mapValues(\.high)
  }
}
