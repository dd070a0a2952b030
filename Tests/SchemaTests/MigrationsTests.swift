import Foundation
import Postgres
import TestSupport
import Testing

@testable import Schema

@Suite struct MigrationsTests {
  private func connect(_ url: String) throws -> Connection {
    try Connection(url, applicationName: "schema tests")
  }

  private let two = [
    Migration(1, "first", Array("CREATE TABLE a (x int); INSERT INTO a VALUES (1);".utf8)),
    Migration(2, "second", Array("ALTER TABLE a ADD y text; UPDATE a SET y = 'ü';".utf8)),
  ]

  @Test("every file of migrations/ is listed, in order, and embedded unchanged")
  func everyFileIsListed() throws {
    let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/Postgres/Schema/migrations").standardizedFileURL
    let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
      .filter { $0.hasSuffix(".sql") }.sorted()
    #expect(files == Migrations.all.map(\.fileName))
    #expect(Migrations.all.map(\.version) == Set(Migrations.all.map(\.version)).sorted())
    for migration in Migrations.all {
      let file = directory.appendingPathComponent(migration.fileName)
      #expect(try Array(Data(contentsOf: file)) == migration.bytes)
    }
  }

  @Test("all migrations apply to an empty database, and only once")
  func appliesOnce() throws {
    let connection = try connect(TestDatabase.empty())
    #expect(throws: SchemaError.self) { try Migrations.check(connection) }
    #expect(try Migrations.apply(connection).map(\.version) == Migrations.all.map(\.version))
    #expect(try Migrations.apply(connection).isEmpty)
    try Migrations.check(connection)
  }

  @Test("concurrent processes apply each file once")
  func concurrentRuns() async throws {
    let url = try TestDatabase.empty()
    // Longer than a file waits for a lock: they wait for each other as long as it takes.
    let all = two + [Migration(3, "slow", Array("SELECT pg_sleep(3);".utf8))]
    let applied = try await withThrowingTaskGroup(of: [Int].self) { group in
      for _ in 0..<4 {
        group.addTask {
          let connection = try Connection(url, applicationName: "schema tests")
          return try Migrations.apply(connection, all, attempts: 1).map(\.version)
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(applied.sorted() == [1, 2, 3])
    let rows = try connect(url).query("SELECT x, y FROM a")
    #expect(try rows.only.text("y") == "ü")
  }

  @Test("version 23 counts the posts that are there, and takes over messages and profiles")
  func existingRows() throws {
    let connection = try connect(TestDatabase.empty())
    try Migrations.apply(connection, Array(Migrations.all.prefix(22)))
    try connection.script(
      """
      INSERT INTO users (user_id) VALUES ('ann'), ('bo');
      INSERT INTO posts
        (post_id, post_key, author, delivery, deleted, title, caption, image_url, first_at,
         version_time, version_id)
      SELECT 'p' || i, CASE WHEN i > 1 THEN (760838400000000 << 11) + i END, 1, 'push', i = 1, '', '', '',
        CASE WHEN i > 1 THEN timestamptz '2024-02-10 00:00:00Z' ELSE 'infinity' END,
        '2024-02-10 00:00:00Z', i
      FROM generate_series(1, 4) i;
      INSERT INTO messages SELECT 'm' || i, 2, 1, 'hi', '2024-01-01Z'::timestamptz + i * interval '1 s', i
      FROM generate_series(1, 3) i;
      INSERT INTO conversations SELECT o, 3 - o, version_time, message_id
      FROM messages, generate_series(1, 2) o WHERE message_id = 'm3';
      INSERT INTO profiles (user_id, name, version_time) VALUES ('ann', 'Ann', now()), ('ghost', '', '-infinity');
      """)
    try Migrations.apply(connection)
    let found = try connection.query(
      """
      SELECT concat_ws(' ', (SELECT posts FROM profile_stats('ann')),
        (SELECT posts FROM profile_stats('bo')),
        (SELECT unread FROM conversation_list('ann', NULL, 9)),
        (SELECT unread FROM conversation_list('bo', NULL, 9)),
        (SELECT string_agg(user_id, ',') FROM search_users('', 'bo', NULL, 9)))
      """
    ).only.text(0)
    #expect(found == "3 0 3 0 ann")
    #expect(try connection.query("SELECT * FROM verify_feeds()").isEmpty)
    try connection.script("UPDATE posts SET deleted = true, post_key = NULL WHERE post_id = 'p2'")
    #expect(try connection.query("SELECT posts FROM profile_stats('ann')").only.int(0) == 2)
    #expect(try connection.query("SELECT * FROM verify_feeds()").isEmpty)
    try connection.script("UPDATE author_posts SET posts = 7")
    #expect(try connection.query("SELECT * FROM verify_feeds()").count == 1)
  }

  @Test("only new files are applied to a database that has the others")
  func appliesTheRest() throws {
    let connection = try connect(TestDatabase.empty())
    try Migrations.apply(connection, [two[0]])
    let error = #expect(throws: SchemaError.self) { try Migrations.check(connection, two) }
    #expect(error?.code == .missing)
    #expect(error?.message.contains("0002_second.sql") == true)
    #expect(try Migrations.apply(connection, two).map(\.version) == [2])
  }

  @Test("a file that was changed after it was applied is rejected")
  func changedFile() throws {
    let connection = try connect(TestDatabase.empty())
    try Migrations.apply(connection, two)
    let changed = [Migration(1, "first", Array("SELECT 1".utf8)), two[1]]
    let error = #expect(throws: SchemaError.self) { try Migrations.apply(connection, changed) }
    #expect(error?.code == .changed)
    #expect(throws: SchemaError.self) { try Migrations.check(connection, changed) }
  }

  @Test("a database that is newer than the code is rejected")
  func newerDatabase() throws {
    let connection = try connect(TestDatabase.empty())
    try Migrations.apply(connection, two)
    for attempt in [
      { _ = try Migrations.apply(connection, [two[0]]) },
      { try Migrations.check(connection, [two[0]]) },
    ]
      as [() throws -> Void]
    {
      let error = #expect(throws: SchemaError.self) { try attempt() }
      #expect(error?.code == .newer)
    }
  }

  @Test("every file after version 9 declares the lowest compatible version")
  func everyFileSaysWhatItKeeps() {
    for migration in Migrations.all where migration.version > 9 {
      #expect(
        migration.compatibleFrom < migration.version,
        "\(migration.fileName): write -- compatible-from: N, N at most \(migration.version - 1)")
      #expect(migration.compatibleFrom >= 1)
    }
  }

  @Test("code accepts newer migrations only if all declare compatibility with its version")
  func compatibleDatabase() throws {
    let connection = try connect(TestDatabase.empty())
    func further(_ version: Int, _ header: String) -> Migration {
      Migration(version, "further", Array("\(header)\nCREATE TABLE f\(version) (x int);".utf8))
    }
    let known = two + [further(3, "-- compatible-from: 2"), further(4, "-- compatible-from: 1")]
    try Migrations.apply(connection, known)
    try Migrations.check(connection, two, allowsNewer: true)
    try Migrations.check(connection, known, allowsNewer: true)
    // Rejected: callers that need exactly this schema, such as a rebuild, and code that is too old.
    for attempt in [
      { try Migrations.check(connection, two) },
      { try Migrations.check(connection, [two[0]], allowsNewer: true) },
      { _ = try Migrations.apply(connection, two) },
    ] as [() throws -> Void] {
      let error = #expect(throws: SchemaError.self) { try attempt() }
      #expect(error?.code == .newer)
    }
    // A file without the line is compatible only with its own version.
    try Migrations.apply(connection, known + [further(5, "-- A comment.")])
    let error = #expect(throws: SchemaError.self) {
      try Migrations.check(connection, known, allowsNewer: true)
    }
    #expect(error?.code == .newer)
    #expect(error?.message.contains("is not compatible with") == true)
  }

  @Test("a database migrated by an earlier version gets the missing column")
  func withoutCompatibility() throws {
    let connection = try connect(TestDatabase.empty())
    try Migrations.apply(connection, two)
    try connection.query("ALTER TABLE schema_migrations DROP COLUMN compatible_from")
    try Migrations.check(connection, two, allowsNewer: true)
    let error = #expect(throws: SchemaError.self) {
      try Migrations.check(connection, [two[0]], allowsNewer: true)
    }
    #expect(error?.code == .newer)
    #expect(try Migrations.apply(connection, two).isEmpty)
    try Migrations.check(connection, two)
  }

  @Test("a file that is in a deadlock with a batch is applied while batches wait at their fence")
  func deadlock() throws {
    let url = try TestDatabase.empty()
    let connection = try connect(url)
    // Takes its second lock when a batch waits for the first, or at its fence.
    let files = [
      """
      CREATE TABLE consumer_offsets (x int);
      CREATE TABLE facts (x int);
      CREATE INDEX facts_old ON facts (x);
      """,
      """
      CREATE INDEX facts_new ON facts (x);
      DO $$
      BEGIN
        FOR i IN 1..1000 LOOP
          EXIT WHEN EXISTS (
            SELECT FROM pg_locks
            WHERE NOT granted AND relation IN ('facts'::regclass, 'consumer_offsets'::regclass));
          PERFORM pg_sleep(0.01);
        END LOOP;
      END
      $$;
      DROP INDEX facts_old;
      """,
    ].enumerated().map { Migration($0.offset + 1, "file", Array($0.element.utf8)) }
    try Migrations.apply(connection, [files[0]])
    let batches = DispatchGroup()
    batches.runOnOwnThread { _ = try? Self.applyBatches(url) }
    #expect(try Migrations.apply(connection, files).map(\.version) == [2])
    batches.wait()
    #expect(try connection.query("SELECT FROM facts").count == 2)
  }

  /// Applies one that reads before it writes, with the file between, and one that waits at its fence.
  private static func applyBatches(_ url: String) throws {
    let connection = try Connection(url, applicationName: "schema tests")
    // The file is to notice the deadlock.
    try connection.script("SET deadlock_timeout = '1min'")
    func blockUntilHeld(_ mode: String, on table: String) throws {
      try block(until: "\(table) is locked") {
        try connection.query(
          "SELECT FROM pg_locks WHERE granted AND mode = $1 AND relation = $2::text::regclass",
          [.text(mode), .text(table)]
        ).count > 0
      }
    }
    let fence = "BEGIN; LOCK TABLE consumer_offsets IN ROW SHARE MODE"
    try connection.script("\(fence); SELECT FROM facts")
    try blockUntilHeld("ShareLock", on: "facts")
    try connection.script("INSERT INTO facts VALUES (1); COMMIT")
    try blockUntilHeld("ExclusiveLock", on: "consumer_offsets")
    try connection.script("\(fence); INSERT INTO facts VALUES (2); COMMIT")
  }

  @Test(
    "a file that waits for a reader lets others read, names it when it fails, and is applied later")
  func longReader() throws {
    let url = try TestDatabase.empty()
    let (reader, other) = (try connect(url), try connect(url))
    try Migrations.apply(other, [two[0]])
    try reader.script("BEGIN; SELECT FROM a")
    let error = #expect(throws: PostgresError.self) {
      try Migrations.apply(other, two, attempts: 1)
    }
    #expect(error?.sqlstate == "55P03")
    #expect(error?.message.contains("0002_second.sql") == true)
    #expect(error?.hint?.contains("process \(reader.backendProcessID) of ") == true)

    let migrating = DispatchGroup()
    migrating.runOnOwnThread {
      _ = try? Migrations.apply(Connection(url, applicationName: "schema tests"), two)
    }
    try other.blockUntilSessionsWait()
    try other.script("SET lock_timeout = '30s'")
    #expect(try other.query("SELECT FROM a").count == 1)
    try reader.script("COMMIT")
    migrating.wait()
    try Migrations.check(other, two)
  }

  @Test("a failing file is rolled back, and the files before it stay applied")
  func failingFile() throws {
    let connection = try connect(TestDatabase.empty())
    let broken = Migration(2, "broken", Array("CREATE TABLE b (x int); SELECT 1/0;".utf8))
    let error = #expect(throws: PostgresError.self) {
      try Migrations.apply(connection, [two[0], broken])
    }
    #expect(error?.sqlstate == "22012")
    #expect(error?.message.contains("0002_broken.sql") == true)
    #expect(try connection.query("SELECT to_regclass('b')").only.isNull(0))
    #expect(try connection.query("SELECT version FROM schema_migrations").only.int(0) == 1)
  }

  @Test("a file that contains a COMMIT is rejected")
  func committingFile() throws {
    let connection = try connect(TestDatabase.empty())
    let committing = Migration(1, "committing", Array("CREATE TABLE c (x int); COMMIT;".utf8))
    let error = #expect(throws: SchemaError.self) {
      try Migrations.apply(connection, [committing])
    }
    #expect(error?.message.contains("COMMIT") == true)
  }
}
