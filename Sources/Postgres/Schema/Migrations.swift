public import Postgres

/// Upgrades a database to this code's schema: forward only, one file at a time.
public enum Migrations {
  /// The advisory lock on which concurrent runs queue.
  static let advisoryLock: Int64 = 0x4D61_6770_6965  // "Magpie"

  /// Applies the missing migrations, each in its own transaction, under an advisory lock:
  /// concurrent processes apply each file once.
  ///
  /// - Parameters:
  ///   - connection: not in a transaction; its role must be allowed to create tables and roles.
  ///   - migrations: all migrations, in order.
  /// - Returns: the migrations that were applied now.
  /// - Throws: `SchemaError` if an applied file has changed or the database is newer than this
  ///   code; `PostgresError` if a statement fails (its file is rolled back).
  @discardableResult
  public static func apply(
    _ connection: Connection, _ migrations: [Migration] = all
  ) throws -> [Migration] {
    try connection.transaction {
      try lock(connection)
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
      try connection.transaction {
        try lock(connection)
        let versions = try verify(connection, migrations, checksums)
        guard !versions.contains(migration.version) else { return }
        try run(migration, checksum, connection)
        applied.append(migration)
      }
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

  private static func lock(_ connection: Connection) throws {
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
