import Events
import Kafka
import Postgres
import Reminders

/// The background work that is queued in the database.
struct Pending: Encodable, Sendable {
  /// People whose alarms are to be rendered again, after a rename.
  var renders: Int64
  /// People whose contributions are to be reviewed, after a mute that arrived late.
  var reviews: Int64
  /// Posts, and subscriptions that arrived late, whose alarms are to be written.
  var subscriptions: Int64
  /// Reminders that are due and have not rung.
  var reminders: Int64
  /// People whom workers are erasing, once for each worker.
  var erasures: Int64

  var total: Int64 { renders + reviews + subscriptions + reminders + erasures }

  /// What is queued, one phrase for each kind of work that there is.
  var phrases: [String] {
    [
      (renders, "people to render again"),
      (reviews, "reviews after mutes"),
      (subscriptions, "posts to announce to subscribers"),
      (reminders, "reminders that are due"),
      (erasures, "people to erase, once for each worker (magpie erasure report)"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
  }
}

/// The lag of each consumer group, from the offsets stored with the results.
struct LagReport {
  struct Partition: Encodable {
    var group: String
    var topic: String
    var partition: Int32
    /// Nil until the partition is first assigned to a worker.
    var nextOffset: Int64?
    /// Nil, like the two below, if the partition's leader did not answer.
    var lowWatermark: Int64?
    var highWatermark: Int64?
    var lag: Int64?
    /// The broker has dropped records that were not applied.
    var isCutOff = false
    /// The log ends before the next offset, so it is another log than the one applied so far, and its lag
    /// means nothing; or the broker reports an end that is too low, as Tansu does. Workers compare records, and
    /// stop if it is another log.
    var isPastEnd = false

    init(
      group: String, _ place: TopicPartition, nextOffset: Int64?, _ log: Watermarks?
    ) {
      self.group = group
      (topic, partition) = (place.topic, place.partition)
      self.nextOffset = nextOffset
      lowWatermark = log?.low
      highWatermark = log?.high
      lag = log.map { max(0, $0.high - (nextOffset ?? $0.low)) }
      if let nextOffset, let log {
        isCutOff = nextOffset < log.low
        isPastEnd = nextOffset > log.high
      }
    }
  }

  var partitions: [Partition]
  /// The log of every partition, also of those that no worker reads; nil if the leader did not answer.
  var logs: [TopicPartition: Watermarks?]
  var pending: Pending
  var missingTopics: [String]
  /// Partitions whose lag is unknown because their leaders did not answer, and the first one's error.
  var unanswered: [TopicPartition]
  var problem: String?
  /// Dead letters in the state open. They do not count as lag, because nothing waits for them.
  var openDeadLetters: Int64

  /// The sum over the partitions whose lag is known.
  var total: Int64 { partitions.reduce(0) { $0 + ($1.lag ?? 0) } }
  /// Whether all records are applied and no background work is queued.
  var isApplied: Bool {
    total == 0 && pending.total == 0 && missingTopics.isEmpty && unanswered.isEmpty
      && !partitions.contains(where: \.isCutOff)
  }
  var records: Int64 { partitions.reduce(0) { $0 + ($1.nextOffset ?? 0) } }

  /// Reads the stored offsets in one statement, before the end offsets: if they are equal, all records
  /// were applied at the time of that statement. A worker's own records are acknowledged by the
  /// broker before the worker commits the offset of the record that caused them.
  ///
  /// - Parameter timeoutMilliseconds: the limit for the brokers' answers; partitions without one are
  ///   in `unanswered`.
  static func measure(
    _ connection: Connection, _ admin: Admin, prefix: String, timeoutMilliseconds: Int = 10_000
  ) throws -> LagReport {
    func exists(_ table: String) throws -> Bool {
      try connection.query("SELECT to_regclass($1) IS NOT NULL", [.text(table)]).only.bool(0)
    }
    /// SQL: the number of rows; 0 if the schema does not have the table yet.
    func count(of table: String) throws -> String {
      try exists(table) ? "(SELECT count(*) FROM \(table))" : "0::bigint"
    }
    let renders = try "\(count(of: "pending_renders")) + \(count(of: "pending_publications"))"
    let reviews = try
      "\(count(of: "notification_reviews")) + \(count(of: "notification_scoped_reviews"))"
    let subscriptions = try count(of: "subscription_work")
    let erasures = try ConsumerGroup.allCases.map { try count(of: "\($0.rawValue)_erasures") }
      .joined(separator: " + ")
    // Dead letters have no states in a database that is not migrated yet.
    let hasStates = try exists("dead_letter_history")
    let overdue = overdueReminders(at: EventTime.now.microseconds)
    let reminders =
      try exists("reminders")
      ? connection.query(overdue.sql, overdue.parameters).only.int8(0) : 0
    let letters =
      hasStates
      ? "(SELECT count(*) FROM dead_letters WHERE state = 'open' AND starts_with(topic, $1))"
      : "0::bigint"
    let rows = try connection.query(
      """
      SELECT consumer_group, topic, partition, next_offset, \(renders) AS renders,
        \(reviews) AS reviews, \(subscriptions) AS subscriptions, \(letters) AS letters,
        \(erasures) AS erasures
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
      partitions: ConsumerGroup.allCases.flatMap { group -> [Partition] in
        let offsets = stored[group.name(prefix: prefix)] ?? [:]
        guard !group.isOptional || !offsets.isEmpty else { return [] }
        return partitions(of: group, prefix, offsets, log)
      },
      logs: log.watermarks.mapValues { $0 }.merging(log.unanswered.mapValues { _ in nil }) { $1 },
      pending: Pending(
        renders: try rows.first?.int8("renders") ?? 0,
        reviews: try rows.first?.int8("reviews") ?? 0,
        subscriptions: try rows.first?.int8("subscriptions") ?? 0,
        reminders: reminders,
        erasures: try rows.first?.int8("erasures") ?? 0),
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
