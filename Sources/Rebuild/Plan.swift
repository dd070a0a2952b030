import Kafka
import Postgres

/// What a rebuild would do, found out without doing it.
public struct RebuildPlan: Sendable {
  /// One topic for one consumer group.
  public struct Topic: Sendable, Encodable {
    public var group: String
    public var topic: String
    /// Records between the log's beginning and where the tables in use are.
    public var records: Int64
    /// How many of them an unfinished rebuild has applied already.
    public var done: Int64
    /// Records that came before and are gone from the log.
    public var missing: Int64
  }

  public struct Total: Sendable, Encodable {
    public var records: Int64
    /// About how many people the tables in use know.
    public var people: Int64
    /// About how long it would take, at `recordsPerSecond`.
    public var seconds: Int64
    public var recordsPerSecond: Int64
  }

  public var topics: [Topic]
  public var total: Total
}

/// What an exchange would do.
public struct SwapPlan: Sendable, Encodable {
  public var rooms: [String]
  public var schema: String
  /// Records that the tables in use have and the others have not.
  public var recordsBehind: Int64
}

extension Rebuild {
  /// What `run` would do; changes nothing.
  ///
  /// - Parameter recordsPerSecond: what the machine is believed to apply.
  public func plan(_ rooms: [Room], recordsPerSecond: Int64 = 5_000) throws -> RebuildPlan {
    let made = try ShadowSchema.find(.shadow, beside: liveSchema, control)
    let schema =
      made
      ?? ShadowSchema(
        live: liveSchema, name: ShadowSchema.name(of: .shadow, beside: liveSchema), rooms: rooms,
        topicPrefix: settings.topicPrefix, isComplete: false)
    let known = try made.map { try storedOffsets($0.name, prefix: $0.topicPrefix) } ?? [:]
    let targets = try targets(schema)
    var topics: [RebuildPlan.Topic] = []
    for (group, spans) in try spans(schema).sorted(by: { $0.key < $1.key }) {
      for (topic, spans) in Dictionary(grouping: spans, by: \.key.topic).sorted(by: {
        $0.key < $1.key
      }) {
        var line = RebuildPlan.Topic(group: group, topic: topic, records: 0, done: 0, missing: 0)
        for (partition, span) in spans {
          line.records += max(0, (targets[group]?[partition] ?? 0) - span.lowerBound)
          line.done += max(0, (known[group]?[partition] ?? span.lowerBound) - span.lowerBound)
          line.missing += span.lowerBound
        }
        topics.append(line)
      }
    }
    let left = topics.reduce(0) { $0 + $1.records - $1.done }
    return RebuildPlan(
      topics: topics,
      total: .init(
        records: left, people: try people(rooms), seconds: left / max(1, recordsPerSecond),
        recordsPerSecond: recordsPerSecond))
  }

  /// What `swap` or `swapBack` would do; changes nothing.
  public func swapPlan(back: Bool) throws -> SwapPlan {
    let schema = try back ? former() : shadow()
    return SwapPlan(
      rooms: schema.rooms.map(\.rawValue), schema: schema.name,
      recordsBehind: try lag(schema, behind: targets(schema)))
  }

  private func people(_ rooms: [Room]) throws -> Int64 {
    let tables = rooms.map { room in
      switch room {
      case .feeds: "users"
      case .notifications: "notification_recipients"
      case .alarms: "profiles"
      }
    }
    return try tables.map { table in
      try control.query(
        "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = $1::text::regclass",
        [.text("\(quoted(liveSchema)).\(quoted(table))")]
      ).only.int8(0)
    }.max() ?? 0
  }
}
