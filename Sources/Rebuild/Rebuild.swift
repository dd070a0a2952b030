import Foundation
public import Kafka
public import Pipeline
import Postgres
public import RecordLog

/// What the workers do, as the rebuild needs it.
public struct RebuildHandlers: Sendable {
  public var fanout: Handler
  public var notification: Handler
  public var alarm: Handler

  /// - Parameters: the handlers of the three workers, configured as theirs are.
  public init(fanout: Handler, notification: Handler, alarm: Handler) {
    self.fanout = fanout
    self.notification = notification
    self.alarm = alarm
  }
}

/// What a rebuild works with.
public struct RebuildSettings: Sendable {
  /// Of a login that owns the tables.
  public var databaseURL: String
  public var topicPrefix: String
  public var handlers: RebuildHandlers
  /// Opens the log for one thread.
  public var openLog: @Sendable () throws -> any RecordLog
  /// Records in one transaction at most.
  public var batchRecordsMax = 10_000
  /// Whether tables may be made from a log whose beginning is gone.
  public var acceptsMissingRecords = false
  /// Told every so often how far the work is; on the calling thread.
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

/// Tables made anew from the log beside the ones in use, compared with them, and exchanged.
///
/// Holds a lock in the database for as long as it lives, so that one process at a time works on
/// rebuilt tables. Confined to one thread.
public final class Rebuild {
  /// Next offsets by consumer group and partition.
  public typealias Offsets = [String: [TopicPartition: Int64]]

  /// What concurrent rebuilds and exchanges in one database exclude each other by.
  static let advisoryLock: Int64 = 0x4D61_6770_5265  // "MagpRe"

  let settings: RebuildSettings
  let control: Connection
  /// The schema of the tables in use.
  public let liveSchema: String
  let counter = ProgressCounter()

  /// Connects and takes the lock.
  ///
  /// - Throws: `RebuildError` when another process works on rebuilt tables; `SchemaError` when the
  ///   database is not of this version.
  public init(_ settings: RebuildSettings) throws {
    self.settings = settings
    control = try Connection(
      settings.databaseURL, applicationName: "magpie-replay", statementTimeoutSeconds: 3600)
    liveSchema = try ShadowSchema.live(control)
    try takeLock()
  }

  deinit { control.close() }

  /// Ends it: the lock is free.
  public func close() { control.close() }

  private func takeLock() throws {
    // PostgreSQL takes a moment to notice that a process which had the lock has ended.
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
      "another process works on rebuilt tables of this database (PostgreSQL's process "
        + "\(try holder.first?.int(0) ?? 0))", "Let it finish, or end it.")
  }

  /// Makes the tables of the rooms from the log, or goes on where that was cut off, until they are
  /// where the live ones are.
  ///
  /// - Returns: what was done by this process.
  @discardableResult
  public func run(_ rooms: [Room]) throws -> RebuildProgress {
    let schema = try prepare(rooms)
    try catchUp(schema)
    try advance(schema, to: [:], runsBacklog: true)
    counter.begin("sorting out statistics")
    try waitReporting { [control] in
      for table in schema.tables {
        try control.script("VACUUM (ANALYZE) \(quoted(schema.name)).\(quoted(table))")
      }
    }
    // What came meanwhile.
    try catchUp(schema)
    try control.script(
      "UPDATE \(quoted(schema.name)).rebuild_state SET completed_at = coalesce(completed_at, now())"
    )
    return counter.progress
  }

  /// Brings the rebuilt tables to exactly these offsets, for comparing them with the live ones.
  ///
  /// - Parameter offsets: by group; partitions that are not named stay where they are. Offsets of
  ///   topics that the rebuild does not read (the changes of notifications that it rebuilds itself)
  ///   are passed over.
  /// - Throws: `RebuildError` when there are no rebuilt tables, or when they are beyond.
  public func advance(to offsets: Offsets) throws {
    try advance(try shadow(), to: offsets, runsBacklog: true)
  }

  /// The schema of the rebuilt tables and their rooms.
  ///
  /// - Throws: `RebuildError` when nothing was rebuilt, or not to the end.
  public func rebuilt() throws -> (schema: String, rooms: [Room]) {
    let schema = try shadow()
    return (schema.name, schema.rooms)
  }

  func shadow() throws -> ShadowSchema {
    guard let schema = try ShadowSchema.find(.shadow, beside: liveSchema, control) else {
      throw RebuildError(
        "there are no rebuilt tables",
        "Make them: magpie replay --rebuild feeds|notifications|alarms|all")
    }
    guard schema.isComplete else {
      throw RebuildError(
        "the rebuild of \(schema.rooms.text) is not complete",
        "Start `magpie replay --rebuild` again: it goes on where it was.")
    }
    guard schema.topicPrefix == settings.topicPrefix else { throw otherPrefix(schema) }
    return schema
  }

  func otherPrefix(_ schema: ShadowSchema) -> RebuildError {
    RebuildError(
      "the tables in \(schema.name) were made from topics whose names begin with "
        + schema.topicPrefix, "Give --topic-prefix \(schema.topicPrefix).")
  }

  private func prepare(_ rooms: [Room]) throws -> ShadowSchema {
    if try ShadowSchema.find(.old, beside: liveSchema, control) != nil {
      throw RebuildError(
        "the former tables of an earlier exchange are still there", ShadowSchema.nextStep)
    }
    if let schema = try ShadowSchema.find(.shadow, beside: liveSchema, control) {
      guard schema.rooms == rooms else {
        throw RebuildError(
          "a rebuild of \(schema.rooms.text) is there already",
          "Go on with that one, or: " + ShadowSchema.nextStep)
      }
      guard schema.topicPrefix == settings.topicPrefix else { throw otherPrefix(schema) }
      return schema
    }
    counter.begin("making tables")
    try refuseUnpublishedSnapshots(rooms)
    return try ShadowSchema.make(
      rooms: rooms, topicPrefix: settings.topicPrefix, beside: liveSchema, control)
  }

  /// Alarms alone are made from the snapshots in the log, which must all be there.
  private func refuseUnpublishedSnapshots(_ rooms: [Room]) throws {
    guard rooms == [.alarms] else { return }
    let unpublished = try control.query(
      "SELECT count(*) FROM notification_generations WHERE NOT is_published")
    guard try unpublished.only.int(0) == 0 else {
      throw RebuildError(
        "the notifications were rebuilt, so that the log does not hold all that became alarms",
        "Rebuild both: magpie replay --rebuild notifications")
    }
  }

  /// Removes former tables, or rebuilt ones; returns the schema's name, nil when there is none.
  public func drop() throws -> String? {
    let name = try dropped()
    if let name { try control.script("DROP SCHEMA \(quoted(name)) CASCADE") }
    return name
  }

  /// The schema that `drop` would remove.
  public func dropped() throws -> String? {
    let names = [ShadowSchema.Kind.old, .shadow].map {
      ShadowSchema.name(of: $0, beside: liveSchema)
    }
    return try names.first { name in
      try control.query(
        "SELECT count(*) > 0 FROM pg_namespace WHERE nspname = $1", [.text(name)]
      ).only.bool(0)
    }
  }
}
