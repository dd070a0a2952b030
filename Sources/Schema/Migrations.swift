public import Postgres

/// Brings a database to the schema of this code: forward only, one file after the other.
public enum Migrations {
  /// What concurrent runs queue up behind: an advisory lock of this number in the database.
  static let advisoryLock: Int64 = 0x4D61_6770_6965  // "Magpie"

  /// Applies what is missing, each file in a transaction of its own, under an advisory lock: two
  /// processes that start together apply each file once.
  ///
  /// - Parameters:
  ///   - connection: of a role that may create tables and roles; not in a transaction.
  ///   - migrations: all there are, in order.
  /// - Returns: those that were applied now.
  /// - Throws: `SchemaError` when a file that was applied has changed since or when the database is
  ///   newer than this code; `PostgresError` when a statement fails (its file is then rolled back).
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
        -- Workers check it as they start, with whatever login they have.
        GRANT SELECT ON schema_migrations TO PUBLIC;
        COMMENT ON TABLE schema_migrations IS 'the numbered SQL files applied, by magpie migrate';
        DO $$
        BEGIN
          -- Databases of earlier versions lack it. Looked for first, so that nobody waits for a lock.
          IF NOT EXISTS (
            SELECT FROM pg_attribute
            WHERE attrelid = 'schema_migrations'::regclass AND attname = 'compatible_from')
          THEN
            ALTER TABLE schema_migrations ADD COLUMN compatible_from int;
            COMMENT ON COLUMN schema_migrations.compatible_from IS
              'Code of this schema version and later goes on beside the migration; NULL: only code '
              'that knows it.';
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

  /// Verifies that the database has the schema of this code; workers call it whenever they connect.
  ///
  /// - Parameter allowsNewer: whether there may be migrations that this code does not know, if each
  ///   says that code of this version goes on beside it.
  /// - Throws: `SchemaError` that says what to do otherwise.
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
        message: "\(migration.fileName) ends the transaction it runs in; remove its COMMIT")
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

  /// Computed by the server, which knows SHA-256, so that this room needs no other library.
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

  /// The versions the database has, once it is certain that they are a beginning of ours, or go on
  /// from ours compatibly.
  private static func verify(
    _ connection: Connection, _ migrations: [Migration], _ checksums: [String],
    allowsNewer: Bool = false
  ) throws -> Set<Int> {
    // By way of JSON: databases that an earlier version migrated have no such column.
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
            + (allowsNewer ? " and cannot go on beside" : "")
            + ": it is older than the database; run a newer version of it")
      }
      guard try row.text("checksum") == checksum else {
        throw SchemaError(
          code: .changed,
          message: "migration \(version) (\(name)) was changed after it had been applied to this "
            + "database; restore the file and put the change into a new one")
      }
    }
    return Set(try rows.map { try $0.int("version") })
  }
}

/// Why code and database do not fit together.
public struct SchemaError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What does not fit.
  public enum Code: String, Sendable {
    /// The database lacks migrations.
    case missing
    /// A migration that was applied is not what the code has.
    case changed
    /// The database has migrations that the code does not know.
    case newer
  }

  /// What does not fit.
  public let code: Code
  /// What was found and what to do.
  public let message: String

  /// The message.
  public var description: String { message }
}
