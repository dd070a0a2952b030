import EmbeddedStack
import Foundation
import Postgres
import TestSupport
import Testing

@Suite struct PrivateClusterTests {
  private func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.path + "/magpie-test-\(UUID().uuidString.prefix(8))"
  }

  @Test("data survives a stop and a start on the same directory, and nobody else can connect")
  func keepsData() throws {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let first = try PrivateCluster.start(directory: path, durable: true)
    #expect(first.directory == path)
    try first.createDatabase("mag\"pie")
    try first.createDatabase("mag\"pie")
    let connection = try Connection(first.url(database: "mag\"pie"), applicationName: "test")
    try connection.script("CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
    for (setting, value) in [
      ("fsync", "on"), ("synchronous_commit", "on"), ("listen_addresses", ""),
      ("max_connections", "200"), ("server_encoding", "UTF8"),
    ] {
      #expect(try connection.query("SHOW \(setting)").only.text(0) == value)
    }
    first.stop()
    first.stop()
    #expect(first.processID == nil)
    let second = try PrivateCluster.start(directory: path, durable: true)
    defer { second.stop() }
    let again = try Connection(second.url(database: "mag\"pie"), applicationName: "test")
    #expect(try again.query("SELECT x FROM t").only.int(0) == 1)
  }

  @Test("committed data survives an immediate stop and a stale lock file")
  func recovers() throws {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let cluster = try PrivateCluster.start(directory: path, durable: true)
    defer { cluster.stop() }
    let connection = try Connection(cluster.url(), applicationName: "test")
    try connection.script("CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
    cluster.immediateStop()
    // The ID of a live process that is not this server, as after a container restart.
    let lock = cluster.directory + "/data/postmaster.pid"
    try "\(getpid())\n\(cluster.directory)/data\n".write(
      toFile: lock, atomically: false, encoding: .utf8)
    try cluster.restart()
    let again = try Connection(cluster.url(), applicationName: "test")
    #expect(try again.query("SELECT x FROM t").only.int(0) == 1)
  }

  @Test("a replica has its server's rows, those of later while replay is not paused")
  func replica() throws {
    let paths = [temporaryPath(), temporaryPath()]
    defer { for path in paths { try? FileManager.default.removeItem(atPath: path) } }
    let cluster = try PrivateCluster.start(directory: paths[0], durable: true)
    defer { cluster.stop() }
    let connection = try Connection(cluster.url(), applicationName: "test")
    try connection.script("CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
    let replica = try cluster.startReplica(directory: paths[1])
    defer { replica.stop() }
    let reader = try Connection(replica.url(), applicationName: "test")
    func count() throws -> Int { try reader.query("SELECT count(*) FROM t").only.int(0) }
    try block(until: "the first row comes") { try count() == 1 }
    try reader.script("SELECT pg_wal_replay_pause()")
    try block(until: "replay is paused") {
      try reader.query("SELECT pg_get_wal_replay_pause_state() = 'paused'").only.bool(0)
    }
    try connection.script("INSERT INTO t VALUES (2)")
    #expect(try count() == 1)
    try reader.script("SELECT pg_wal_replay_resume()")
    try block(until: "the second row comes") { try count() == 2 }
  }

  @Test(
    "files where the cluster would be are kept, and the error says so; an empty directory is used")
  func filesOfOthers() throws {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    try FileManager.default.createDirectory(
      atPath: path + "/data", withIntermediateDirectories: true)
    // The server may run as another account.
    chmod(path, 0o777)
    let notes = path + "/data/notes"
    try "kept".write(toFile: notes, atomically: false, encoding: .utf8)
    let error = #expect(throws: StackError.self) {
      _ = try PrivateCluster.start(directory: path, durable: false)
    }
    #expect(error?.isUsage == true)
    #expect(error?.message.hasPrefix("\(path)/data is not a PostgreSQL cluster") == true)
    #expect(try String(contentsOfFile: notes, encoding: .utf8) == "kept")
    try FileManager.default.removeItem(atPath: notes)
    try PrivateCluster.start(directory: path, durable: false).stop()
    let left = try FileManager.default.contentsOfDirectory(atPath: path)
    #expect(left.contains("data") && !left.contains { $0.hasPrefix("initdb") }, "\(left)")
  }

  @Test("non-ASCII letters are letters")
  func unicodeLetters() throws {
    let connection = try TestDatabase.connection()
    let row = try connection.query("SELECT lower('ÄÉ') = 'äé', '까치' ~ '^\\w+$', 'a' < 'B'").only
    #expect(try row.bool(0))
    #expect(try row.bool(1))
  }

  @Test("test databases are isolated and have the schema")
  func testDatabases() throws {
    let (one, two) = try (TestDatabase.connection(), TestDatabase.connection())
    try one.script("CREATE TABLE only_here (x int)")
    #expect(try two.query("SELECT to_regclass('only_here')").only.isNull(0))
    #expect(try two.query("SELECT count(*) FROM schema_migrations").only.int(0) > 0)
  }

  @Test("a directory may have commas, spaces, percent signs and letters beyond ASCII in its path")
  func punctuatedDirectory() throws {
    let path = temporaryPath() + ", %41 까치"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let cluster = try PrivateCluster.start(directory: path, durable: false)
    defer { cluster.stop() }
    #expect(cluster.directory == path)
    _ = try Connection(cluster.url(), applicationName: "test").query("SELECT 1")
    let socket = try #require(try ConnectionInfo(cluster.url())["host"])
    #expect(!socket.contains(","))
    try FileManager.default.removeItem(atPath: socket)
  }

  @Test(
    "a directory with a path too long for a socket, or inaccessible to the server's account, works too"
  )
  func awkwardDirectories() throws {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    // As root, the server runs as another account, which cannot enter a directory private to root.
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let cluster = try PrivateCluster.start(
      directory: path + "/" + String(repeating: "deep/", count: 20) + "data", durable: false)
    defer {
      cluster.stop()
      try? FileManager.default.removeItem(atPath: cluster.directory)
    }
    _ = try Connection(cluster.url(), applicationName: "test").query("SELECT 1")
    let socket = try #require(try ConnectionInfo(cluster.url())["host"])
    #expect(socket.utf8.count < 90)
    if socket != cluster.directory { try? FileManager.default.removeItem(atPath: socket) }
  }
}
