public import Postgres

/// Upgrades a database to this code's schema: forward only, one file at a time.
public enum Migrations {
  /// The advisory lock on which concurrent runs queue.
  static let advisoryLock: Int64 = 0x4D61_6770_6965  // "Magpie"

  /// Applies the missing migrations, each in its own transaction, under an advisory lock:
  /// concurrent processes apply each file once.
  ///
  /// A file that waits too long for a lock, or is in a deadlock, is rolled back and tried again.
  /// After a deadlock it keeps the workers from starting transactions before it takes its locks.
  ///
  /// - Parameters:
  ///   - connection: not in a transaction; its role must be allowed to create tables and roles.
  ///   - migrations: all migrations, in order.
  ///   - attempts: how often a file is tried that cannot have its locks, with a second between.
  /// - Returns: the migrations that were applied now.
  /// - Throws: `SchemaError` if an applied file has changed or the database is newer than this
  ///   code; `PostgresError` if a statement fails (its file is rolled back).
  @discardableResult
  public static func apply(
    _ connection: Connection, _ migrations: [Migration] = all, attempts: Int = 10
  ) throws -> [Migration] {
    try connection.transaction {
      try exclude(connection)
      try connection.script(
        """
        CREATE TABLE IF NOT EXISTS schema_migrations (
          version int PRIMARY KEY,
          name text COLLATE "C" NOT NULL,
          checksum text COLLATE "C" NOT NULL,
          applied_at timestamptz NOT NULL DEFAULT now()
        );
        -- Every worker's role reads it when it connects.
        GRANT SELECT ON schema_migrations TO PUBLIC;
        COMMENT ON TABLE schema_migrations IS 'the numbered SQL files applied, by magpie migrate';
        DO $$
        BEGIN
          -- Databases of earlier versions lack the column. Check first: ALTER TABLE takes a lock.
          IF NOT EXISTS (
            SELECT FROM pg_attribute
            WHERE attrelid = 'schema_migrations'::regclass AND attname = 'compatible_from')
          THEN
            ALTER TABLE schema_migrations ADD COLUMN compatible_from int;
            COMMENT ON COLUMN schema_migrations.compatible_from IS
              'The lowest schema version whose code can run with the migration applied; NULL: only '
              'code that includes it.';
          END IF;
        END
        $$;
        """)
    }
    let checksums = try checksums(connection, migrations)
    var applied: [Migration] = []
    for (migration, checksum) in zip(migrations, checksums) {
      let isNew = try withLocks(connection, attempts) { holdsWorkers in
        try connection.transaction {
          try exclude(connection)
          let versions = try verify(connection, migrations, checksums)
          guard !versions.contains(migration.version) else { return false }
          if holdsWorkers { try holdWorkers(connection) }
          try limitLockWaits(connection)
          try run(migration, checksum, connection)
          return true
        }
      }
      if isNew { applied.append(migration) }
    }
    return applied
  }

  /// Verifies that the database has this code's schema. Workers call it on every connect.
  ///
  /// - Parameter allowsNewer: whether to accept migrations unknown to this code if each declares
  ///   compatibility with this code's version.
  /// - Throws: `SchemaError`, which says what to do.
  public static func check(
    _ connection: Connection, _ migrations: [Migration] = all, allowsNewer: Bool = false
  ) throws {
    let exists = try connection.query("SELECT to_regclass('schema_migrations') IS NOT NULL")
    guard try exists.only.bool(0) else {
      throw SchemaError(
        code: .missing, message: "this database has no Magpie schema; run: magpie migrate")
    }
    let versions = try verify(
      connection, migrations, checksums(connection, migrations), allowsNewer: allowsNewer)
    let missing = migrations.filter { !versions.contains($0.version) }
    guard missing.isEmpty else {
      throw SchemaError(
        code: .missing,
        message: "the database lacks \(missing.map(\.fileName).joined(separator: ", ")); "
          + "run: magpie migrate")
    }
  }

  private static func run(
    _ migration: Migration, _ checksum: String, _ connection: Connection
  ) throws {
    do {
      try connection.script(migration.sql)
    } catch var error as PostgresError {
      error.message = "\(migration.fileName): \(error.message)"
      throw error
    }
    guard connection.status == .inTransaction else {
      throw SchemaError(
        code: .changed,
        message: "\(migration.fileName) ends its transaction; remove the COMMIT")
    }
    try connection.query(
      """
      INSERT INTO schema_migrations (version, name, checksum, compatible_from)
      VALUES ($1, $2, $3, $4)
      """,
      [
        .int4(Int32(migration.version)), .text(migration.name), .text(checksum),
        .int4(Int32(migration.compatibleFrom)),
      ])
  }

  /// Runs `body`, and again after a pause if it could not have its locks. Passes whether there was a
  /// deadlock.
  private static func withLocks(
    _ connection: Connection, _ attempts: Int, _ body: (Bool) throws -> Bool
  ) throws -> Bool {
    var wasDeadlock = false
    var attempt = 1
    while true {
      do {
        return try body(wasDeadlock)
      } catch var error as PostgresError where ["40P01", "55P03"].contains(error.sqlstate) {
        guard attempt < attempts else {
          error.hint = try hint(connection)
          throw error
        }
        if error.sqlstate == "40P01" { wasDeadlock = true }
      }
      attempt += 1
      try connection.query("SELECT pg_sleep(1)")
    }
  }

  /// Makes workers wait until the transaction ends. Batches and pieces of a backlog begin with a lock
  /// on this table, so they wait holding no other, and cannot be in a deadlock with a file that
  /// locks several tables. (Only rebuilds do something ahead of batches.) Readers do not wait.
  private static func holdWorkers(_ connection: Connection) throws {
    try connection.script(
      """
      SET LOCAL lock_timeout = '10s';
      DO $$
      BEGIN
        IF to_regclass('consumer_offsets') IS NOT NULL THEN
          LOCK TABLE consumer_offsets IN EXCLUSIVE MODE;
        END IF;
      END
      $$;
      """)
  }

  /// Limits how long the transaction waits for a lock, because readers and workers queue behind it.
  /// Beyond `deadlock_timeout`, so that a deadlock is not taken for a slow transaction, and that
  /// autovacuum gives way.
  private static func limitLockWaits(_ connection: Connection) throws {
    try connection.query(
      """
      SELECT set_config('lock_timeout', greatest(2000, 2 * setting::bigint)::text, true)
      FROM pg_catalog.pg_settings WHERE name = 'deadlock_timeout'
      """)
  }

  /// What to do about a lock that cannot be had. Its waiter was rolled back, so this names the
  /// sessions that have had locks for longer than it waited.
  private static func hint(_ connection: Connection) throws -> String {
    let rows = try connection.query(
      """
      SELECT a.pid, a.usename::text, a.application_name,
        date_trunc('second', clock_timestamp() - a.xact_start)::text AS open_for
      FROM pg_catalog.pg_stat_activity a
      WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
        AND (a.xact_start > now() - interval '2 s') IS NOT TRUE
        AND EXISTS (
          SELECT FROM pg_catalog.pg_locks l
          JOIN pg_catalog.pg_class c ON c.oid = l.relation
          JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
          WHERE l.pid = a.pid AND l.granted AND n.nspname = current_schema())
      ORDER BY a.xact_start
      """)
    let holders = try rows.map { try $0.openTransaction() }
    guard !holders.isEmpty else {
      return "nothing of this file was applied. No transaction is open for long now: "
        + "run magpie migrate again"
    }
    return "nothing of this file was applied. Tables are locked by "
      + "\(holders.joined(separator: "; ")): wait until these transactions end or end them "
      + "(SELECT pg_terminate_backend(pid)), and run magpie migrate again"
  }

  /// Waits until no file is being applied, and makes other runs wait until the transaction ends.
  ///
  /// - Throws: the server's errors, such as a `lock_timeout`.
  public static func exclude(_ connection: Connection) throws {
    try connection.query("SELECT pg_advisory_xact_lock($1)", [.int8(advisoryLock)])
  }

  /// The server computes the SHA-256 sums, so that this module needs no other library.
  private static func checksums(
    _ connection: Connection, _ migrations: [Migration]
  ) throws -> [String] {
    try connection.query(
      """
      SELECT encode(sha256(content), 'hex')
      FROM unnest($1) WITH ORDINALITY AS file (content, position) ORDER BY position
      """, [.byteaArray(migrations.map(\.bytes))]
    ).map { try $0.text(0) }
  }

  /// The versions applied to the database. Throws unless they are a prefix of `migrations` or, if
  /// `allowsNewer`, compatible migrations follow.
  private static func verify(
    _ connection: Connection, _ migrations: [Migration], _ checksums: [String],
    allowsNewer: Bool = false
  ) throws -> Set<Int> {
    // Read through JSON, because databases migrated by an earlier version lack the column.
    let rows = try connection.query(
      """
      SELECT version, name, checksum,
        coalesce((to_jsonb(m) ->> 'compatible_from')::int, version) AS compatible_from
      FROM schema_migrations m ORDER BY version
      """)
    let ours = migrations.last?.version ?? 0
    let known = Dictionary(
      uniqueKeysWithValues: zip(migrations.map(\.version), checksums))
    for row in rows {
      let version = try row.int("version")
      let name = try row.text("name")
      guard let checksum = known[version] else {
        if allowsNewer, try row.int("compatible_from") <= ours { continue }
        throw SchemaError(
          code: .newer,
          message:
            "the database has migration \(version) (\(name)), which this code does not know"
            + (allowsNewer ? " and is not compatible with" : "")
            + ": the code is older than the database; run a newer version")
      }
      guard try row.text("checksum") == checksum else {
        throw SchemaError(
          code: .changed,
          message: "migration \(version) (\(name)) was changed after it had been applied to this "
            + "database; restore the file and make the change in a new one")
      }
    }
    return Set(try rows.map { try $0.int("version") })
  }
}

/// Why code and database are incompatible.
public struct SchemaError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of incompatibility.
  public enum Code: String, Sendable {
    /// The database lacks migrations.
    case missing
    /// An applied migration differs from the code's.
    case changed
    /// The database has migrations unknown to the code.
    case newer
  }

  /// The kind of incompatibility.
  public let code: Code
  /// The problem and what to do about it.
  public let message: String

  /// The message.
  public var description: String { message }
}
