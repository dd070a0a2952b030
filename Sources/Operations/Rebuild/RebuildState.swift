import Events
public import Postgres

/// A rebuild that a process works on, or whose tables lie beside the live ones.
public struct RebuildState: Encodable, Sendable {
  /// The schema of the tables.
  public var schema: String
  /// Whether they were in use before a swap.
  public var wasInUse: Bool
  /// Whether a process is working on rebuilt tables now.
  public var isRunning: Bool
  /// The rest is nil if the role may not read the schema, as those of rebuilds by earlier versions.
  public var tableGroups: [String]?
  /// RFC 3339.
  public var startedAt: String?
  public var completedAt: String?
  /// The records that these tables have applied, of those that the live tables have.
  public var applied: Int64?
  public var total: Int64?

  /// The rebuilt and the former tables that there are, at most one of each.
  ///
  /// - Parameter connection: of any role that may read `consumer_offsets`.
  public static func all(_ connection: Connection) throws -> [RebuildState] {
    let rows = try connection.query(
      """
      SELECT n.nspname::text AS name, has_schema_privilege(n.oid, 'USAGE') AS is_readable,
        EXISTS (
          SELECT FROM pg_locks
          WHERE locktype = 'advisory' AND granted AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (classid::bigint << 32) + objid::bigint = $1) AS is_running,
        current_schema()::text AS live
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relname = 'rebuild_state' AND c.relkind = 'r'
      ORDER BY name
      """, [.int8(Rebuild.advisoryLock)])
    var states: [RebuildState] = []
    for row in rows {
      let (name, live) = (try row.text("name"), try row.text("live"))
      let old = ShadowSchema.name(of: .old, beside: live)
      guard name == old || name == ShadowSchema.name(of: .shadow, beside: live) else { continue }
      var state = RebuildState(
        schema: name, wasInUse: name == old, isRunning: try row.bool("is_running"))
      if try row.bool("is_readable") { try state.read(connection, live: live) }
      states.append(state)
    }
    return states
  }

  private mutating func read(_ connection: Connection, live: String) throws {
    let row = try connection.query(
      """
      SELECT rooms, topic_prefix, started_at, completed_at FROM \(quoted(schema)).rebuild_state
      """
    ).only
    let names = try row.textArray("rooms").compactMap { $0 }
    tableGroups = names
    startedAt = EventTime(microseconds: try row.timestamptz("started_at")).rfc3339
    completedAt = try row.timestamptzOrNil("completed_at").map {
      EventTime(microseconds: $0).rfc3339
    }
    let prefix = try row.text("topic_prefix")
    let workers = names.compactMap { TableGroup(rawValue: $0)?.worker }
    // A rebuild of notifications writes alarms itself, without the topic between the two.
    let isDirect = names.contains(TableGroup.notifications.rawValue)
    let progress = try connection.query(
      """
      SELECT coalesce(sum(l.next_offset), 0)::bigint AS total,
        -- LEAST ignores NULL, of a partition that is not begun.
        coalesce(sum(least(coalesce(s.next_offset, 0), l.next_offset)), 0)::bigint AS applied
      FROM \(quoted(live)).consumer_offsets l
      LEFT JOIN \(quoted(schema)).consumer_offsets s USING (consumer_group, topic, partition)
      WHERE l.consumer_group = ANY ($1) AND NOT ($2 AND l.topic = $3)
      """,
      [
        .textArray(workers.map { prefix + $0 }), .bool(isDirect),
        .text(prefix + "notification-changes"),
      ]
    ).only
    (total, applied) = (try progress.int8("total"), try progress.int8("applied"))
  }
}
