import Kafka
import Postgres
import RecordLog

/// What a rebuild would do, determined without changing anything.
public struct RebuildPlan: Sendable {
  /// One topic as read by one consumer group.
  public struct Topic: Sendable, Encodable {
    public var group: String
    public var topic: String
    /// Records between the log start offset and the live tables' stored offset.
    public var records: Int64
    /// Records that an unfinished rebuild has already applied.
    public var done: Int64
    /// Records that were deleted from the beginning of the log, or before they were archived.
    public var missing: Int64
  }

  public struct Total: Sendable, Encodable {
    public var records: Int64
    /// An estimate of how many people the live tables hold.
    public var people: Int64
    /// The estimated duration at `recordsPerSecond`.
    public var seconds: Int64
    public var recordsPerSecond: Int64
  }

  public var topics: [Topic]
  public var total: Total
}

/// What a swap would do.
public struct SwapPlan: Sendable, Encodable {
  public var tableGroups: [String]
  public var schema: String
  /// Records that the live tables have applied and the others have not.
  public var recordsBehind: Int64
}

extension Rebuild {
  /// What `run` would do, unless it would refuse. Changes nothing.
  ///
  /// - Parameter recordsPerSecond: the assumed throughput of the machine.
  public func plan(_ tableGroups: [TableGroup], recordsPerSecond: Int64 = 5_000) throws
    -> RebuildPlan
  {
    let existing = try resumed(tableGroups)
    let schema =
      existing
      ?? ShadowSchema(
        live: liveSchema, name: ShadowSchema.name(of: .shadow, beside: liveSchema),
        tableGroups: tableGroups,
        topicPrefix: settings.topicPrefix, isComplete: false)
    let known = try existing.map { try storedOffsets($0.name, prefix: $0.topicPrefix) } ?? [:]
    let targets = try targets(schema)
    let held = try spans(schema)
    let gaps = try settings.openLog().gaps(
      of: Set(held.values.joined().map(\.key.topic)).sorted())
    var topics: [RebuildPlan.Topic] = []
    for (group, spans) in held.sorted(by: { $0.key < $1.key }) {
      for (topic, spans) in Dictionary(grouping: spans, by: \.key.topic).sorted(by: {
        $0.key < $1.key
      }) {
        var line = RebuildPlan.Topic(group: group, topic: topic, records: 0, done: 0, missing: 0)
        for (partition, span) in spans {
          // The number of offsets before `end` that the log has not lost.
          func count(before end: Int64) -> Int64 {
            let offsets = span.lowerBound..<max(span.lowerBound, end)
            return (gaps[partition] ?? []).reduce(Int64(offsets.count)) {
              $0 - Int64(offsets.clamped(to: $1).count)
            }
          }
          line.records += count(before: targets[group]?[partition] ?? 0)
          line.done += count(before: known[group]?[partition] ?? 0)
          line.missing += span.upperBound - count(before: span.upperBound)
        }
        topics.append(line)
      }
    }
    let left = topics.reduce(0) { $0 + $1.records - $1.done }
    return RebuildPlan(
      topics: topics,
      total: .init(
        records: left, people: try people(tableGroups), seconds: left / max(1, recordsPerSecond),
        recordsPerSecond: recordsPerSecond))
  }

  /// What `swap` or `swapBack` would do. Changes nothing.
  public func swapPlan(back: Bool) throws -> SwapPlan {
    let schema = try back ? former() : shadow()
    return SwapPlan(
      tableGroups: schema.tableGroups.map(\.rawValue), schema: schema.name,
      recordsBehind: try lag(schema, behind: targets(schema)))
  }

  private func people(_ tableGroups: [TableGroup]) throws -> Int64 {
    let tables = tableGroups.map { group in
      switch group {
      case .feeds: "users"
      case .reminders: "reminder_people"
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
