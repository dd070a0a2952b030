import Events
import Kafka
import Postgres

/// How far each consumer group is, from the offsets stored with the results.
struct LagReport {
  struct Partition: Encodable {
    var group: String
    var topic: String
    var partition: Int32
    /// Nil until a worker was assigned the partition for the first time.
    var nextOffset: Int64?
    /// Nil, like the two below, when the partition's leader did not answer.
    var lowWatermark: Int64?
    var highWatermark: Int64?
    var lag: Int64?

    init(
      group: String, _ place: TopicPartition, nextOffset: Int64?, _ log: Watermarks?
    ) {
      self.group = group
      (topic, partition) = (place.topic, place.partition)
      self.nextOffset = nextOffset
      lowWatermark = log?.low
      highWatermark = log?.high
      lag = log.map { max(0, $0.high - (nextOffset ?? $0.low)) }
    }

    /// What is known of the partition's log.
    var log: Watermarks? {
      if let lowWatermark, let highWatermark {
        Watermarks(low: lowWatermark, high: highWatermark)
      } else {
        nil
      }
    }

    /// The broker has dropped records that were not applied.
    var isCutOff: Bool {
      if let nextOffset, let lowWatermark { nextOffset < lowWatermark } else { false }
    }
  }

  var partitions: [Partition]
  /// Alarms of people renamed since, still to be written again.
  var pendingRenders: Int64
  /// Of so many people, contributions that a late muting reaches, still to be gone through.
  var pendingReviews: Int64
  var missingTopics: [String]
  /// Partitions whose lag is unknown because their leaders did not answer, and what one of them, or
  /// the client in its place, said.
  var unanswered: [TopicPartition]
  var problem: String?
  /// Records that could not be applied and that nobody has dealt with. They are no lag: nothing waits
  /// for them.
  var openDeadLetters: Int64

  /// Of the partitions whose lag is known.
  var total: Int64 { partitions.reduce(0) { $0 + ($1.lag ?? 0) } }
  /// Everything sent so far is applied, and what followed from it too.
  var isApplied: Bool {
    total == 0 && pendingRenders == 0 && pendingReviews == 0 && missingTopics.isEmpty
      && unanswered.isEmpty
  }
  var records: Int64 { partitions.reduce(0) { $0 + ($1.nextOffset ?? 0) } }

  /// Offsets are read in one statement, and before the watermarks: when they turn out to be equal,
  /// nothing was waiting anywhere at the moment of that statement. A worker's own records are on
  /// the broker before the offset that they follow from is in the database.
  ///
  /// - Parameter timeoutMilliseconds: what the brokers may take; those that take longer are told in
  ///   `unanswered`.
  static func measure(
    _ connection: Connection, _ admin: Admin, prefix: String, timeoutMilliseconds: Int = 10_000
  ) throws -> LagReport {
    let hasRenders = try connection.query("SELECT to_regclass('pending_renders') IS NOT NULL")
      .only.bool(0)
    let renders = hasRenders ? "(SELECT count(*) FROM pending_renders)" : "0::bigint"
    let hasReviews = try connection.query(
      "SELECT to_regclass('notification_reviews') IS NOT NULL"
    ).only.bool(0)
    let reviews = hasReviews ? "(SELECT count(*) FROM notification_reviews)" : "0::bigint"
    // A database that is not migrated yet has no states.
    let hasStates = try connection.query("SELECT to_regclass('dead_letter_history') IS NOT NULL")
      .only.bool(0)
    let letters =
      hasStates
      ? "(SELECT count(*) FROM dead_letters WHERE state = 'open' AND starts_with(topic, $1))"
      : "0::bigint"
    let rows = try connection.query(
      """
      SELECT consumer_group, topic, partition, next_offset, \(renders) AS renders,
        \(reviews) AS reviews, \(letters) AS letters
      FROM (SELECT) AS once LEFT JOIN consumer_offsets ON true
      """, hasStates ? [.text(prefix)] : [])
    var stored: [String: [TopicPartition: Int64]] = [:]
    for row in rows {
      guard let group = try row.textOrNil("consumer_group") else { continue }
      let partition = TopicPartition(
        topic: try row.text("topic"), partition: Int32(try row.int("partition")))
      stored[group, default: [:]][partition] = try row.int8("next_offset")
    }
    let names = Topic.allCases.map { $0.name(prefix: prefix) }
    let log = try admin.availableWatermarks(topics: names, timeoutMilliseconds: timeoutMilliseconds)
    return LagReport(
      partitions: ConsumerGroup.allCases.flatMap { group in
        partitions(of: group, prefix, stored[group.name(prefix: prefix)] ?? [:], log)
      },
      pendingRenders: try rows.first?.int8("renders") ?? 0,
      pendingReviews: try rows.first?.int8("reviews") ?? 0,
      missingTopics: names.filter { log.topics[$0] == nil },
      unanswered: log.unanswered.keys.sorted(),
      problem: log.unanswered.min { $0.key < $1.key }.map { "\($0.value)" },
      openDeadLetters: try rows.first?.int8("letters") ?? 0)
  }

  private static func partitions(
    of group: ConsumerGroup, _ prefix: String, _ stored: [TopicPartition: Int64],
    _ log: WatermarkAnswers
  ) -> [Partition] {
    let topics = Set(group.topics.map { $0.name(prefix: prefix) })
    let places = (Array(log.watermarks.keys) + log.unanswered.keys).sorted()
    return places.filter { topics.contains($0.topic) }.map { place in
      Partition(
        group: group.name(prefix: prefix), place, nextOffset: stored[place], log.watermarks[place])
    }
  }
}
