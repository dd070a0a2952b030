public import EmbeddedStack
import Foundation
public import Postgres
import Schema
import Synchronization

/// Databases for tests: each test gets its own, with all migrations applied.
///
/// They are in one private cluster per test process, or on the server at `MAGPIE_TEST_DATABASE_URL`
/// (whose user must be allowed to create databases and roles). All are removed when the process
/// ends.
public enum TestDatabase {
  /// This test process's private cluster; throws if it cannot be started.
  public static var cluster: PrivateCluster {
    get throws { try sharedCluster.get() }
  }

  /// Whether `MAGPIE_TEST_DATABASE_URL` names an external server.
  public static var isExternal: Bool {
    ProcessInfo.processInfo.environment["MAGPIE_TEST_DATABASE_URL"] != nil
  }

  /// Creates a database with the schema; returns its URL.
  public static func fresh() throws -> String { try create(from: template.get()) }

  /// Creates an empty database; returns its URL.
  ///
  /// - Parameter characters: its `LC_CTYPE`; nil is the server's.
  public static func empty(characters: String? = nil) throws -> String {
    try create(from: "template0", characters.map { "LC_CTYPE '\($0)'" } ?? "")
  }

  /// A connection to a new database with the schema.
  public static func connection() throws -> Connection {
    try Connection(fresh(), applicationName: "test")
  }

  private static let sharedCluster = Result { try PrivateCluster.temporary() }

  /// The server's URL, as a user that may create databases.
  private static let server = Result<String, any Error> {
    if let url = ProcessInfo.processInfo.environment["MAGPIE_TEST_DATABASE_URL"] {
      atexit { TestDatabase.dropAll() }
      return url
    }
    return try sharedCluster.get().url()
  }

  /// The database with the schema from which the others are copied.
  private static let template = Result<String, any Error> {
    let url = try create(from: "template0")
    let connection = try Connection(url, applicationName: "test template")
    try Migrations.apply(connection)
    return try ConnectionInfo(url)["dbname"] ?? ""
  }

  /// Distinguishes this process's databases from those of others on a shared server.
  private static let token = "\(getpid())_\(UUID().uuidString.prefix(8).lowercased())"
  private static let names = Mutex<[String]>([])

  private static func create(from template: String, _ options: String = "") throws -> String {
    let url = try server.get()
    let name = names.withLock { names in
      let name = "magpie_test_\(token)_\(names.count)"
      names.append(name)
      return name
    }
    let connection = try Connection(url, applicationName: "test")
    // Copying files is twice as fast as logging pages; PostgreSQL has the option since version 15.
    let newer = try connection.query(
      "SELECT current_setting('server_version_num')::int >= 150000"
    ).only.bool(0)
    try connection.script(
      "CREATE DATABASE \(name) TEMPLATE \(template) \(options)"
        + (newer ? " STRATEGY file_copy" : ""))
    return try ConnectionInfo(url).replacing(database: name).connectionString
  }

  private static func dropAll() {
    guard let url = try? server.get(),
      let connection = try? Connection(url, applicationName: "test")
    else { return }
    for name in names.withLock({ $0 }) {
      try? connection.script("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
    }
  }
}

extension Connection {
  /// Blocks the thread until at least so many sessions of this database wait for locks. A superuser sees all of them.
  ///
  /// - Throws: `TimedOut`, or `PostgresError`.
  public func blockUntilSessionsWait(_ count: Int = 1) throws {
    try block(until: "\(count) sessions wait for locks") {
      try query(
        """
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
        """
      ).count >= count
    }
  }

  /// The number of blocks that the query touches, cached ones included, once its plans are made.
  public func blocksTouched(by query: String) throws -> Int {
    struct Explained: Decodable {
      struct Plan: Decodable {
        var hits: Int
        var reads: Int
        enum CodingKeys: String, CodingKey {
          case hits = "Shared Hit Blocks"
          case reads = "Shared Read Blocks"
        }
      }
      var plan: Plan
      enum CodingKeys: String, CodingKey { case plan = "Plan" }
    }
    _ = try self.query(query)
    let json = try self.query("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) \(query)").only.text(0)
    let explained = try JSONDecoder().decode([Explained].self, from: Data(json.utf8))
    return explained[0].plan.hits + explained[0].plan.reads
  }
}
