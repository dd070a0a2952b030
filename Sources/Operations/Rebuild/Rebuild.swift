import Foundation
public import Handling
public import Kafka
import Postgres
public import RecordLog

/// The workers' handlers.
public struct RebuildHandlers: Sendable {
  public var fanout: Handler
  public var notification: Handler
  public var alarm: Handler
  public var reminder: Handler

  /// - Parameters: the handlers of the four workers, configured like the workers', but for tables
  ///   that nobody else reads or writes: `feed_entries` has no index at first.
  public init(fanout: Handler, notification: Handler, alarm: Handler, reminder: Handler) {
    self.fanout = fanout
    self.notification = notification
    self.alarm = alarm
    self.reminder = reminder
  }
}

/// The settings of a rebuild.
public struct RebuildSettings: Sendable {
  /// Must log in as the owner of the tables.
  public var databaseURL: String
  public var topicPrefix: String
  public var handlers: RebuildHandlers
  /// Opens the log; called once per thread.
  public var openLog: @Sendable () throws -> any RecordLog
  /// The maximum number of records per transaction.
  public var batchRecordsMax = 10_000
  /// The number of threads, each with a connection, that fill the tables of one group at a time. They
  /// share the partitions of a topic.
  public var lanes: Int32 = 2
  /// Whether to rebuild from a log whose beginning is gone.
  public var acceptsMissingRecords = false
  /// Called periodically on the calling thread.
  public var onProgress: @Sendable (RebuildProgress) -> Void = { _ in }

  public init(
    databaseURL: String, topicPrefix: String, handlers: RebuildHandlers,
    openLog: @escaping @Sendable () throws -> any RecordLog
  ) {
    self.databaseURL = databaseURL
    self.topicPrefix = topicPrefix
    self.handlers = handlers
    self.openLog = openLog
  }
}

/// Rebuilds tables from the log next to the live ones, advances them for comparison, and swaps
/// them.
///
/// Holds an advisory lock for its lifetime, so that only one process at a time works on rebuilt
/// tables. Confined to one thread.
public final class Rebuild {
  /// Next offsets by consumer group and partition.
  public typealias Offsets = [String: [TopicPartition: Int64]]

  /// The advisory lock that serializes rebuilds and swaps in one database.
  static let advisoryLock: Int64 = 0x4D61_6770_5265  // "MagpRe"

  let settings: RebuildSettings
  let control: Connection
  /// The schema of the live tables.
  public let liveSchema: String
  let counter = ProgressCounter()

  /// Connects and takes the lock.
  ///
  /// - Throws: `RebuildError` when another process works on rebuilt tables; `SchemaError` when the
  ///   database's schema version differs from this build's.
  public init(_ settings: RebuildSettings) throws {
    self.settings = settings
    control = try Connection(
      settings.databaseURL, applicationName: "magpie-replay", statementTimeoutSeconds: 3600)
    liveSchema = try ShadowSchema.live(control)
    try takeLock()
  }

  deinit { control.close() }

  /// Closes the connection, which releases the lock.
  public func close() { control.close() }

  private func takeLock() throws {
    // PostgreSQL may take a moment to notice that the lock's previous holder has ended.
    let deadline = ContinuousClock.now + .seconds(3)
    repeat {
      let taken = try control.query(
        "SELECT pg_try_advisory_lock($1)", [.int8(Self.advisoryLock)])
      if try taken.only.bool(0) { return }
      Thread.sleep(forTimeInterval: 0.05)
    } while .now < deadline
    let holder = try control.query(
      """
      SELECT pid FROM pg_locks
      WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (classid::bigint << 32) + objid::bigint = $1
      """, [.int8(Self.advisoryLock)])
    throw RebuildError(
      "another process is working on this database's rebuilt tables (PostgreSQL process "
        + "\(try holder.first?.int(0) ?? 0))", "Wait until it finishes, or end it.")
  }

  /// Rebuilds the groups' tables from the log, or resumes an interrupted rebuild, until they have
  /// caught up with the live tables.
  ///
  /// - Returns: what this process did.
  @discardableResult
  public func run(_ tableGroups: [TableGroup]) throws -> RebuildProgress {
    let schema = try prepare(tableGroups)
    let missing = try schema.missingKeys(control)
    if !missing.tables.isEmpty {
      try copyDiscarded(to: schema)
      try advance(
        schema, to: try targetsWithoutKeys(schema), runsBacklog: false, isWithoutKeys: true)
      counter.begin("building indexes")
      try addKeys(missing)
    }
    try catchUp(schema)
    try advance(schema, to: [:], runsBacklog: true)
    counter.begin("vacuuming and analyzing")
    try waitReporting { [control] in
      for table in schema.tables {
        try control.script("VACUUM (ANALYZE) \(quoted(schema.name)).\(quoted(table))")
      }
    }
    // Applies the records that arrived meanwhile.
    try catchUp(schema)
    try control.script(
      "UPDATE \(quoted(schema.name)).rebuild_state SET completed_at = coalesce(completed_at, now())"
    )
    return counter.progress
  }

  /// Adds the primary keys that `ShadowSchema.make` left out, those of the partitions on `lanes` threads.
  private func addKeys(_ missing: (partitions: [String], tables: [String])) throws {
    let (settings, counter) = (settings, counter)
    try inParallel(
      (0..<Int(settings.lanes)).map { lane in
        {
          let connection = try Connection(
            settings.databaseURL, applicationName: "magpie-rebuild", statementTimeoutSeconds: 3600)
          defer { connection.close() }
          for index in stride(from: lane, to: missing.partitions.count, by: Int(settings.lanes)) {
            try counter.check()
            try counter.part { try connection.script(missing.partitions[index]) }
          }
        }
      }
    ) { settings.onProgress(counter.progress) }
    for statement in missing.tables { try control.script(statement) }
  }

  /// Advances the rebuilt tables to exactly these offsets, to compare them with the live tables.
  ///
  /// - Parameter offsets: by group; other partitions stay where they are. Offsets of topics that
  ///   the rebuild does not read (notification changes that it rebuilds itself) are ignored.
  /// - Throws: `RebuildError` when there are no rebuilt tables, or when they are beyond the
  ///   offsets.
  public func advance(to offsets: Offsets) throws {
    let schema = try shadow()
    try copyDiscarded(to: schema)
    try advance(schema, to: offsets, runsBacklog: true)
  }

  /// The schema of the rebuilt tables and their groups.
  ///
  /// - Throws: `RebuildError` when there are no rebuilt tables or the rebuild is incomplete.
  public func rebuilt() throws -> (schema: String, tableGroups: [TableGroup]) {
    let schema = try shadow()
    return (schema.name, schema.tableGroups)
  }

  func shadow() throws -> ShadowSchema {
    guard let schema = try ShadowSchema.find(.shadow, beside: liveSchema, control) else {
      throw RebuildError(
        "there are no rebuilt tables",
        "Rebuild them: magpie replay --rebuild feeds|notifications|alarms|reminders|all")
    }
    guard schema.isComplete else {
      throw RebuildError(
        "the rebuild of \(schema.tableGroups.text) is not complete",
        "Run `magpie replay --rebuild` again: it resumes where it stopped.")
    }
    guard schema.topicPrefix == settings.topicPrefix else { throw otherPrefix(schema) }
    return schema
  }

  func otherPrefix(_ schema: ShadowSchema) -> RebuildError {
    RebuildError(
      "the tables in \(schema.name) were rebuilt from topics with the prefix "
        + schema.topicPrefix, "Pass --topic-prefix \(schema.topicPrefix).")
  }

  /// The tables of an earlier rebuild of the same groups, which this one resumes, if there are any.
  ///
  /// - Throws: `RebuildError` if other tables are in the way.
  func resumed(_ tableGroups: [TableGroup]) throws -> ShadowSchema? {
    if try ShadowSchema.find(.old, beside: liveSchema, control) != nil {
      throw RebuildError(
        "the former tables of an earlier swap still exist", ShadowSchema.removal(of: .old))
    }
    guard let schema = try ShadowSchema.find(.shadow, beside: liveSchema, control) else {
      return nil
    }
    guard schema.tableGroups == tableGroups else {
      throw RebuildError(
        "a rebuild of \(schema.tableGroups.text) already exists",
        "Resume that one, or: " + ShadowSchema.removal(of: .shadow))
    }
    guard schema.topicPrefix == settings.topicPrefix else { throw otherPrefix(schema) }
    return schema
  }

  private func prepare(_ tableGroups: [TableGroup]) throws -> ShadowSchema {
    if let schema = try resumed(tableGroups) { return schema }
    counter.begin("creating tables")
    try refuseUnfitLogin()
    try refuseUnpublishedSnapshots(tableGroups)
    return try ShadowSchema.make(
      tableGroups: tableGroups, topicPrefix: settings.topicPrefix, beside: liveSchema, control)
  }

  /// A swap needs these rights; a rebuild may take hours before it.
  func refuseUnfitLogin() throws {
    let mayRead = try control.query(
      "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')")
    guard try mayRead.only.bool(0) else {
      throw RebuildError(
        "this login cannot see other sessions' transactions, and so cannot tell whether one would "
          + "read a mixture of tables", "GRANT pg_read_all_stats to it.")
    }
    // After a swap the tables would belong to this login, and their owner could not migrate them.
    let others = try control.query(
      """
      SELECT pg_get_userbyid(c.relowner) FROM pg_class c
      WHERE c.oid = to_regclass($1) AND pg_get_userbyid(c.relowner) <> current_user
      """, [.text("\(quoted(liveSchema)).consumer_offsets")])
    if let owner = try others.first?.text(0) {
      throw RebuildError("this login does not own the tables", "Log in as \(owner).")
    }
  }

  /// A rebuild of alarms alone needs every snapshot in the log.
  private func refuseUnpublishedSnapshots(_ tableGroups: [TableGroup]) throws {
    guard tableGroups == [.alarms] else { return }
    let unpublished = try control.query(
      "SELECT count(*) FROM notification_generations WHERE NOT is_published")
    guard try unpublished.only.int(0) == 0 else {
      throw RebuildError(
        "the notifications were rebuilt, so the log lacks some of the snapshots behind the alarms",
        "Rebuild both: magpie replay --rebuild notifications")
    }
  }

  /// Drops the former tables, or else those of an unfinished rebuild. Returns the schema's name; nil if
  /// there is none.
  ///
  /// - Parameter rebuilt: drops the rebuilt tables, finished or not, and no others.
  /// - Throws: `RebuildError` if there are only finished ones: they may have taken hours.
  public func drop(rebuilt: Bool = false) throws -> String? {
    let name = try dropped(rebuilt: rebuilt)
    if let name { try control.script("DROP SCHEMA \(quoted(name)) CASCADE") }
    return name
  }

  /// The schema that `drop` would remove.
  public func dropped(rebuilt: Bool = false) throws -> String? {
    let old = ShadowSchema.name(of: .old, beside: liveSchema)
    let shadow = ShadowSchema.name(of: .shadow, beside: liveSchema)
    if try !rebuilt && exists("pg_namespace WHERE nspname = $1", old) { return old }
    guard try exists("pg_namespace WHERE nspname = $1", shadow) else { return nil }
    // Without `ShadowSchema.find`, which refuses tables of another schema version.
    if try !rebuilt
      && exists("pg_class WHERE oid = to_regclass($1)", "\(quoted(shadow)).rebuild_state"),
      try control.query(
        "SELECT completed_at IS NOT NULL FROM \(quoted(shadow)).rebuild_state"
      ).only.bool(0)
    {
      throw RebuildError(
        "there are no former tables, and the rebuilt ones in \(shadow) are complete",
        "`magpie replay --swap` brings them into use, `--drop-rebuilt` removes them.")
    }
    return shadow
  }

  private func exists(_ rows: String, _ name: String) throws -> Bool {
    try control.query("SELECT EXISTS (SELECT FROM \(rows))", [.text(name)]).only.bool(0)
  }
}
